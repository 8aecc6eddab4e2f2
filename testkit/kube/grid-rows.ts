// SPDX-License-Identifier: Apache-2.0
// What was done to SuperEdge's controller on Kubernetes 1.36, what came of it, and what comes of it here: each row is played
// on the embedded API and on a real one.
import { GRID_LABEL } from '../../grids/model/marks.js'
import { deploymentGrid, serviceGrid, statefulSetGrid, template } from './grid-objects.js'
import { at, until, type GridStage, type Raw } from './grid-stage.js'

export interface GridRow {
  readonly done: string
  readonly superedge: string
  readonly ours: string
  readonly play: (stage: GridStage) => Promise<void>
}

const ports = (...numbers: readonly number[]) =>
  numbers.map(port => ({ name: `p${port}`, port, protocol: 'TCP' }))

/** What others add to an object, and what must be left of it. */
const FOREIGN = {
  metadata: {
    annotations: { 'example.com/note': 'kept' },
    labels: { team: 'shop' },
    finalizers: ['example.com/wait'],
  },
}
const isKept = ({ metadata }: Raw): unknown => [
  metadata.annotations?.['example.com/note'],
  metadata.labels?.['team'],
  metadata.finalizers,
]
const KEPT = ['kept', 'shop', ['example.com/wait']]
const letGo = (stage: GridStage, kind: 'Service' | 'Deployment', name: string) =>
  stage.change(kind, name, { metadata: { finalizers: null } })

const openService = async (stage: GridStage, spec = {}): Promise<Raw> => {
  await stage.make(serviceGrid('web', spec))
  await stage.start()
  await stage.written()
  return stage.get('Service', 'web-svc')
}

const userService = (name: string, labels = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels },
  spec: { selector: { app: 'theirs' }, ports: ports(90) },
})

/** Rows of ServiceGrids. */
export const serviceRows: readonly GridRow[] = [
  {
    done: 'created',
    superedge: 'POST, GET, PATCH: un-owned for a moment; last-applied-configuration is copied',
    ours: 'one apply, owned from the first moment; nothing of kubectl is copied',
    play: async stage => {
      const annotations = {
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'example.com/a': '1',
      }
      const grid = await stage.make(serviceGrid('web', {}, { annotations }))
      await stage.start()
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const { metadata } = await stage.get('Service', 'web-svc')
      stage.same('owner', metadata.ownerReferences?.[0]?.uid, grid.metadata.uid)
      stage.same('annotations', metadata.annotations, {
        'example.com/a': '1',
        topologyKeys: `["${stage.key}"]`,
      })
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'True Applied')
    },
  },
  {
    done: 'port number changed',
    superedge: 'foreign annotations, labels and finalizers wiped',
    ours: 'one apply; what others set stays, clusterIP too',
    play: async stage => {
      const before = await openService(stage)
      await stage.change('Service', 'web-svc', FOREIGN)
      await stage.written()
      const template = { selector: { app: 'web' }, ports: [{ port: 81, protocol: 'TCP' }] }
      await stage.change('ServiceGrid', 'web', { spec: { template } })
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const after = await stage.get('Service', 'web-svc')
      stage.same('foreign', isKept(after), KEPT)
      const port = { ...(at(before, 'spec.ports.0') as object), port: 81, targetPort: 81 }
      stage.same('ports', at(after, 'spec.ports'), [port])
      stage.same('clusterIP', at(after, 'spec.clusterIP'), at(before, 'spec.clusterIP'))
      await letGo(stage, 'Service', 'web-svc')
    },
  },
  {
    done: 'one of two ports removed; selector key removed; label or annotation of the grid changed',
    superedge: 'no request at all',
    ours: 'each is one apply',
    play: async stage => {
      const template = (ports: unknown, selector: object) => ({
        spec: { template: { ports, selector } },
      })
      await openService(stage, {
        template: { ports: ports(80, 81), selector: { app: 'web', tier: 'front' } },
      })
      const one = ['apply services web-svc']
      await stage.change('ServiceGrid', 'web', template(ports(80), {}))
      stage.same('port removed', await stage.written(), one)
      stage.same('ports', at(await stage.get('Service', 'web-svc'), 'spec.ports.length'), 1)
      await stage.change('ServiceGrid', 'web', template(ports(80), { tier: null }))
      stage.same('selector key removed', await stage.written(), one)
      stage.same('selector', at(await stage.get('Service', 'web-svc'), 'spec.selector'), {
        app: 'web',
      })
      const metadata = { labels: { a: '1' }, annotations: { b: '2' } }
      await stage.change('ServiceGrid', 'web', { metadata })
      stage.same('label and annotation', await stage.written(), one)
      const { labels, annotations } = (await stage.get('Service', 'web-svc')).metadata
      stage.same('copied', [labels?.['a'], annotations?.['b']], ['1', '2'])
    },
  },
  {
    done: 'clusterIP: None in the template',
    superedge: 'PUT 422 ten times in 5 s; status never written',
    ours: "one request; condition Refused with the apiserver's words",
    play: async stage => {
      await openService(stage)
      const template = { clusterIP: 'None' }
      await stage.change('ServiceGrid', 'web', { spec: { template } })
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'False Refused')
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const message = String(at(await stage.get('ServiceGrid', 'web'), 'status.failures.0.message'))
      stage.same('message', /may not change once set|field is immutable/.test(message), true)
      stage.same('Event', stage.events.at(-1)?.reason, 'Refused')
      await stage.change('ServiceGrid', 'web', { spec: { template: { clusterIP: null } } })
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'True Applied')
    },
  },
  {
    done: 'type NodePort without nodePort',
    superedge: 'kept, by the apiserver',
    ours: 'kept: we do not own it',
    play: async stage => {
      const template = (port: number) => ({
        ...{ type: 'NodePort', selector: { app: 'web' } },
        ports: [{ name: 'http', port, protocol: 'TCP' }],
      })
      const before = await openService(stage, { template: template(80) })
      await stage.change('ServiceGrid', 'web', { metadata: { labels: { a: '1' } } })
      await stage.written()
      const after = await stage.get('Service', 'web-svc')
      stage.same(
        'nodePort',
        at(after, 'spec.ports.0.nodePort'),
        at(before, 'spec.ports.0.nodePort'),
      )
    },
  },
  {
    done: 'Service edited: port added, selector replaced, topologyKeys removed',
    superedge:
      'the port stays; the selector is put back; topologyKeys never: the whole cluster serves',
    ours: 'the port is theirs and stays; the selector and topologyKeys are put back',
    play: async stage => {
      const before = await openService(stage)
      const web = { ...(at(before, 'spec.ports.0') as object), name: 'web' }
      const more = [web, { name: 'more', port: 99, protocol: 'TCP' }]
      await stage.change('Service', 'web-svc', { spec: { ports: more } })
      await stage.written()
      await stage.change('Service', 'web-svc', { spec: { selector: { app: 'evil' } } })
      stage.same('selector', await stage.written(), ['apply services web-svc'])
      await stage.change('Service', 'web-svc', {
        metadata: { annotations: { topologyKeys: null } },
      })
      stage.same('topologyKeys', await stage.written(), ['apply services web-svc'])
      const after = await stage.get('Service', 'web-svc')
      stage.same('selector', at(after, 'spec.selector'), { app: 'web' })
      stage.same('topologyKeys', after.metadata.annotations?.['topologyKeys'], `["${stage.key}"]`)
      stage.same('ports', at(after, 'spec.ports.length'), 2)
    },
  },
  {
    done: 'grid-selector label removed from the Service',
    superedge: 'DELETED and made anew: another clusterIP',
    ours: 'put back: the same uid and clusterIP',
    play: async stage => {
      const before = await openService(stage)
      await stage.change('Service', 'web-svc', { metadata: { labels: { [GRID_LABEL]: null } } })
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const after = await stage.get('Service', 'web-svc')
      stage.same('label', after.metadata.labels?.[GRID_LABEL], 'web')
      stage.same(
        'uid, clusterIP',
        [after.metadata.uid, at(after, 'spec.clusterIP')],
        [before.metadata.uid, at(before, 'spec.clusterIP')],
      )
    },
  },
  {
    done: "a user's Service is labelled grid-selector=<grid>",
    superedge: 'adopted, then deleted, within a second',
    ours: 'never touched',
    play: async stage => {
      await openService(stage)
      const theirs = await stage.make(userService('theirs', { [GRID_LABEL]: 'web' }))
      stage.same('writes', await stage.written(), [])
      const after = await stage.get('Service', 'theirs')
      stage.same('version', after.metadata.resourceVersion, theirs.metadata.resourceVersion)
    },
  },
  {
    done: "name <grid>-svc taken by a user's Service",
    superedge: 'POST 409 swallowed: no Event, no status',
    ours: 'condition and Event NameTaken, never written; made when the name is free',
    play: async stage => {
      const theirs = await stage.make(userService('web-svc'))
      await stage.make(serviceGrid('web'))
      await stage.start()
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'False NameTaken')
      stage.same('writes', await stage.written(), [])
      stage.same('Event', stage.events.at(-1)?.reason, 'NameTaken')
      const after = await stage.get('Service', 'web-svc')
      stage.same('version', after.metadata.resourceVersion, theirs.metadata.resourceVersion)
      await stage.remove('Service', 'web-svc')
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'True Applied')
    },
  },
  {
    done: 'Service owned by grid A but labelled for B',
    superedge: 'A deletes it, B makes a new one',
    ours: "A's label is put back; nothing is deleted",
    play: async stage => {
      const before = await openService(stage)
      await stage.make(serviceGrid('other'))
      await stage.written()
      await stage.change('Service', 'web-svc', { metadata: { labels: { [GRID_LABEL]: 'other' } } })
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const after = await stage.get('Service', 'web-svc')
      stage.same('uid', after.metadata.uid, before.metadata.uid)
      stage.same('label', after.metadata.labels?.[GRID_LABEL], 'web')
    },
  },
  {
    done: 'gridUniqKey with a domain (topology.kubernetes.io/zone)',
    superedge: '422 for ever: the key is used as the value of a label',
    ours: 'works: it is an annotation',
    play: async stage => {
      const gridUniqKey = `topology.example.com/${stage.key}`
      await openService(stage, { gridUniqKey })
      const { annotations } = (await stage.get('Service', 'web-svc')).metadata
      stage.same('topologyKeys', annotations?.['topologyKeys'], `["${gridUniqKey}"]`)
      await stage.conditionBecomes('ServiceGrid', 'web', 'Ready', 'True Applied')
    },
  },
  {
    done: 'name of 59 characters, as long as the kind allows',
    superedge: '422 loop from 60 on',
    ours: 'made; longer ones are refused when the grid is made',
    play: async stage => {
      const name = 'n'.repeat(59)
      await stage.make(serviceGrid(name))
      await stage.start()
      await stage.written()
      stage.same('names', await stage.names('Service'), [`${name}-svc`])
    },
  },
  {
    done: 'grid deleted, its Service orphaned, a grid of the name made',
    superedge: 'the new grid adopts it',
    ours: 'the same: uid and clusterIP stay',
    play: async stage => {
      const before = await openService(stage)
      await stage.remove('ServiceGrid', 'web', 'Orphan')
      await until(
        'the garbage collector let it go',
        async () => (await stage.find('ServiceGrid', 'web')) === undefined,
      )
      stage.same('nothing is written for a grid that goes', await stage.written(), [])
      const next = await stage.make(serviceGrid('web'))
      stage.same('writes', await stage.written(), ['apply services web-svc'])
      const after = await stage.get('Service', 'web-svc')
      stage.same('owner', after.metadata.ownerReferences?.[0]?.uid, next.metadata.uid)
      stage.same(
        'uid, clusterIP',
        [after.metadata.uid, at(after, 'spec.clusterIP')],
        [before.metadata.uid, at(before, 'spec.clusterIP')],
      )
    },
  },
]

const openWeb = async (stage: GridStage, spec = {}, meta = {}): Promise<void> => {
  await stage.node('n1', 'north')
  await stage.node('n2', 'south')
  await stage.make(deploymentGrid('web', spec, meta))
  await stage.start()
  await stage.written()
}

const NORTH_AND_SOUTH = ['apply deployments web-north', 'apply deployments web-south']
const CHECKED = [...NORTH_AND_SOUTH, 'dry-run apply deployments web-north']

const image = (image: string) => {
  const { template: pods } = template(image) as { template: object }
  return { spec: { template: { template: pods } } }
}
const imageOf = (raw: Raw): unknown => at(raw, 'spec.template.spec.containers.0.image')

/** Rows of DeploymentGrids and StatefulSetGrids. */
export const workloadRows: readonly GridRow[] = [
  {
    done: 'created',
    superedge: 'writes into the grid; POSTs repeated from a stale cache; PUT /status 404 15 times',
    ours: 'one dry run, one apply for each unit; the grid is never written, its status is',
    play: async stage => {
      await stage.node('n1', 'north')
      await stage.node('n2', 'south')
      const before = await stage.make(deploymentGrid('web'))
      await stage.start()
      stage.same('writes', await stage.written(), CHECKED)
      const after = await stage.get('DeploymentGrid', 'web')
      stage.same('generation', after.metadata.generation, before.metadata.generation)
      stage.same('spec', after.spec, before.spec)
      stage.same('units', at(after, 'status.units.desired'), 2)
      const { observedGeneration } = (await stage.get('Deployment', 'web-north')).metadata as {
        observedGeneration?: number
      }
      stage.same('no status of ours', observedGeneration, undefined)
    },
  },
  {
    done: 'image changed',
    superedge: 'unconditional PUTs: foreign annotations wiped',
    ours: 'one dry run, one apply for each unit; what others set stays',
    play: async stage => {
      await openWeb(stage)
      await stage.change('Deployment', 'web-north', FOREIGN)
      await stage.written()
      await stage.change('DeploymentGrid', 'web', image('nginx:2'))
      stage.same('writes', await stage.written(), CHECKED)
      const north = await stage.get('Deployment', 'web-north')
      stage.same('image', imageOf(north), 'nginx:2')
      stage.same('foreign', isKept(north), KEPT)
      await letGo(stage, 'Deployment', 'web-north')
    },
  },
  {
    done: 'child scaled to 7 by an autoscaler',
    superedge: "back to the grid's number at once",
    ours: 'the same, unless the grid says edge-health/replicas: unmanaged: then 7 stays',
    play: async stage => {
      await openWeb(stage)
      await stage.scale('Deployment', 'web-north', 7)
      stage.same('managed', await stage.written(), ['apply deployments web-north'])
      stage.same('put back', at(await stage.get('Deployment', 'web-north'), 'spec.replicas'), 2)
      const annotations = { 'edge-health/replicas': 'unmanaged' }
      await stage.change('DeploymentGrid', 'web', { metadata: { annotations } })
      await stage.written()
      stage.same('kept', at(await stage.get('Deployment', 'web-north'), 'spec.replicas'), 2)
      await stage.scale('Deployment', 'web-north', 7)
      await stage.change('DeploymentGrid', 'web', image('nginx:2'))
      stage.same('image', await stage.written(), CHECKED)
      stage.same('left', at(await stage.get('Deployment', 'web-north'), 'spec.replicas'), 7)
    },
  },
  {
    done: 'image of a child edited; sidecar appended',
    superedge: 'put back; the sidecar stays until the next template change',
    ours: 'put back; the sidecar is theirs and stays',
    play: async stage => {
      await openWeb(stage)
      const north = await stage.get('Deployment', 'web-north')
      const web = at(north, 'spec.template.spec.containers.0') as object
      const containers = [
        { ...web, image: 'nginx:0' },
        { name: 'sidecar', image: 'side:1' },
      ]
      await stage.change('Deployment', 'web-north', {
        spec: { template: { spec: { containers } } },
      })
      stage.same('writes', await stage.written(), ['apply deployments web-north'])
      const after = await stage.get('Deployment', 'web-north')
      stage.same('image', imageOf(after), 'nginx:1')
      stage.same('containers', at(after, 'spec.template.spec.containers.length'), 2)
    },
  },
  {
    done: 'two nodes in one unit',
    superedge: 'every update twice',
    ours: 'once',
    play: async stage => {
      await stage.node('n3', 'north')
      await openWeb(stage)
      await stage.change('DeploymentGrid', 'web', image('nginx:2'))
      stage.same('writes', await stage.written(), CHECKED)
    },
  },
  {
    done: 'a node moves to another unit; its last label goes; its Node registers anew',
    superedge: 'made and deleted in the same second: no grace, no brake',
    ours: 'the new child at once; the old one is marked, and goes after the grace; nothing goes when it is back',
    play: async stage => {
      await openWeb(stage)
      for (const unit of ['a', 'b', 'c']) await stage.node(unit, unit)
      await stage.written()
      await stage.label('n2', 'west')
      const moved = ['apply deployments web-west', 'patch deployments web-south']
      stage.same('moved', await stage.written(), moved)
      stage.same('still there', (await stage.find('Deployment', 'web-south')) !== undefined, true)
      await stage.label('n2', 'south')
      const back = ['patch deployments web-south', 'patch deployments web-west']
      stage.same('back', await stage.written(), back)
      await stage.removeNode('n1')
      stage.same('Node deleted', await stage.written(), ['patch deployments web-north'])
      await stage.node('n1', 'north')
      stage.same('registered anew', await stage.written(), ['patch deployments web-north'])
      const { annotations = {} } = (await stage.get('Deployment', 'web-north')).metadata
      stage.same('no mark is left', 'edge-health/unit-gone-since' in annotations, false)
    },
  },
  {
    done: 'templatePool (canary)',
    superedge: 'cannot work: the shipped CRDs prune the labels of its templates',
    ours: 'works: one line in templates moves one unit',
    play: async stage => {
      await openWeb(stage, { templatePool: { next: template('nginx:2') } })
      await stage.change('DeploymentGrid', 'web', { spec: { templates: { south: 'next' } } })
      stage.same('writes', await stage.written(), ['apply deployments web-south'])
      stage.same('canary', imageOf(await stage.get('Deployment', 'web-south')), 'nginx:2')
      stage.same('the others', imageOf(await stage.get('Deployment', 'web-north')), 'nginx:1')
    },
  },
  {
    done: 'templates names a missing template',
    superedge: 'the whole grid stops, without an Event',
    ours: 'that unit alone: condition and Event TemplateMissing; the others follow',
    play: async stage => {
      await openWeb(stage)
      // The kind refuses it where its rules are checked; a grid that was stored before them may have it.
      try {
        await stage.change('DeploymentGrid', 'web', { spec: { templates: { south: 'gone' } } })
      } catch (error) {
        stage.same('refused', String(error).includes('templatePool'), true)
        return
      }
      await stage.conditionBecomes('DeploymentGrid', 'web', 'Ready', 'False TemplateMissing')
      stage.same('Event', stage.events.at(-1)?.reason, 'TemplateMissing')
      await stage.change('DeploymentGrid', 'web', image('nginx:2'))
      stage.same('the others', await stage.written(), ['apply deployments web-north'])
    },
  },
  {
    done: 'template with its own nodeSelector',
    superedge: "all units get the last unit's; written into the grid; 260 PUTs in 6 s",
    ours: "kept beside each unit's own; the grid is not written",
    play: async stage => {
      const own = template() as { template: { spec: object } }
      const spec = { ...own.template.spec, nodeSelector: { disk: 'ssd' } }
      const pods = { ...own.template, spec }
      await openWeb(stage, { template: { ...own, template: pods } })
      for (const unit of ['north', 'south']) {
        const child = await stage.get('Deployment', `web-${unit}`)
        const want = { disk: 'ssd', [stage.key]: unit }
        stage.same(unit, at(child, 'spec.template.spec.nodeSelector'), want)
      }
      stage.same('writes', await stage.written(), [])
      const { metadata } = await stage.get('DeploymentGrid', 'web')
      stage.same('generation', metadata.generation, 1)
    },
  },
  {
    done: 'template without replicas',
    superedge: 'nil dereference: the process dies, and all grids stop',
    ours: '1',
    play: async stage => {
      const without = Object.entries(template()).filter(([field]) => field !== 'replicas')
      await openWeb(stage, { template: Object.fromEntries(without) })
      stage.same('replicas', at(await stage.get('Deployment', 'web-north'), 'spec.replicas'), 1)
    },
  },
  {
    done: 'serviceName of a StatefulSetGrid changed',
    superedge: 'PUT 422 ten times for each child in 4 s',
    ours: "one dry run; condition Refused with the apiserver's words",
    play: async stage => {
      await stage.node('n1', 'north')
      await stage.node('n2', 'south')
      await stage.make(statefulSetGrid('db', { template: template('db:1', { serviceName: 'a' }) }))
      await stage.start()
      await stage.written()
      await stage.change('StatefulSetGrid', 'db', { spec: { template: { serviceName: 'b' } } })
      await stage.conditionBecomes('StatefulSetGrid', 'db', 'Ready', 'False Refused')
      stage.same('writes', await stage.written(), ['dry-run apply statefulsets db-north'])
    },
  },
  {
    done: 'unit Unit_A; grid a with unit b-c and grid a-b with unit c',
    superedge: '422 for ever; the second is never made, in silence',
    ours: 'names with a hash; each grid has its child',
    play: async stage => {
      await stage.node('n1', 'Unit_A')
      await stage.node('n2', 'b-c')
      await stage.node('n3', 'c')
      await stage.make(deploymentGrid('a'))
      await stage.make(deploymentGrid('a-b'))
      await stage.start()
      await stage.written()
      const names = await stage.names('Deployment')
      stage.same('children', names.length, 6)
      stage.same(
        'of Unit_A',
        names.filter(name => /^a(-b)?-unit-a-[0-9a-f]{8}$/.test(name)).length,
        2,
      )
      for (const grid of ['a', 'a-b'])
        stage.same(grid, at(await stage.get('DeploymentGrid', grid), 'status.units.failed'), 0)
    },
  },
  {
    done: 'all units gone',
    superedge: 'all workloads deleted at once; the status goes stale',
    ours: 'nothing is deleted; condition and Event Held; the word that it names lets them go',
    play: async stage => {
      await stage.node('n1', 'north')
      await stage.node('n2', 'south')
      await stage.make(deploymentGrid('web'))
      await stage.start({ graceMs: 0 })
      await stage.written()
      await stage.label('n1', null)
      await stage.label('n2', null)
      await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'True AllUnitsGone')
      await stage.quiet()
      stage.same('children', await stage.names('Deployment'), ['web-north', 'web-south'])
      const held = stage.events.findLast(({ reason }) => reason === 'Held')
      const token = /: "([0-9a-f]{8})"/.exec(held?.note ?? '')?.[1]
      const annotations = { 'edge-health/confirm-removal': token }
      await stage.change('DeploymentGrid', 'web', { metadata: { annotations } })
      await until('they are gone', async () => (await stage.names('Deployment')).length === 0)
      await stage.conditionBecomes('DeploymentGrid', 'web', 'Held', 'False NothingHeld')
    },
  },
  {
    done: 'fields of Kubernetes after 1.22 (hostUsers, minReadySeconds of StatefulSets)',
    superedge: 'pruned or refused by its CRDs',
    ours: 'reach the children',
    play: async stage => {
      const own = template('db:1', { serviceName: 'a', minReadySeconds: 7 }) as {
        template: { spec: object }
      }
      const pods = { ...own.template, spec: { ...own.template.spec, hostUsers: false } }
      await stage.node('n1', 'north')
      await stage.make(statefulSetGrid('db', { template: { ...own, template: pods } }))
      await stage.start()
      await stage.written()
      const child = await stage.get('StatefulSet', 'db-north')
      const fields = ['spec.minReadySeconds', 'spec.template.spec.hostUsers']
      stage.same(
        'fields',
        fields.map(field => at(child, field)),
        [7, false],
      )
    },
  },
]

/** Each row, by where it stands. */
export const gridRows: readonly (readonly [section: string, row: GridRow])[] = [
  ...serviceRows.map(row => ['ServiceGrid', row] as const),
  ...workloadRows.map(row => ['DeploymentGrid, StatefulSetGrid', row] as const),
]

/** Play one row on a server. @returns how it differs from what is claimed */
export const playGridRow = async (
  stage: GridStage,
  { play }: GridRow,
): Promise<readonly string[]> => {
  try {
    await stage.open()
    await play(stage)
  } catch (error) {
    stage.differences.push(`broke off: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    await stage.close()
  }
  return stage.differences
}
