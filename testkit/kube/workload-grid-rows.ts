// SPDX-License-Identifier: Apache-2.0
import { deploymentGrid, statefulSetGrid, template } from './grid-objects.js'
import { FOREIGN, isKept, KEPT, letGo, type GridRow } from './grid-row.js'
import { at, until, type Raw } from './raw-objects.js'
import type { GridStage } from './grid-stage.js'

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
    ours: "a dry run of each of the first three children; condition Refused with the apiserver's words",
    play: async stage => {
      await stage.node('n1', 'north')
      await stage.node('n2', 'south')
      await stage.make(statefulSetGrid('db', { template: template('db:1', { serviceName: 'a' }) }))
      await stage.start()
      await stage.written()
      await stage.change('StatefulSetGrid', 'db', { spec: { template: { serviceName: 'b' } } })
      await stage.conditionBecomes('StatefulSetGrid', 'db', 'Ready', 'False Refused')
      stage.same('writes', await stage.written(), [
        'dry-run apply statefulsets db-north',
        'dry-run apply statefulsets db-south',
      ])
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

/** Rows that depend on defaults and rules which the embedded API does not have. */
export const apiserverRows: readonly GridRow[] = [
  {
    done: 'rolling updates become another strategy',
    superedge: 'not played',
    ours: "refused, since nobody owns the apiserver's default; works once the grid has had a rollingUpdate",
    play: async stage => {
      await openWeb(stage)
      const change = (strategy: object) =>
        stage.change('DeploymentGrid', 'web', { spec: { template: { strategy } } })
      await change({ type: 'Recreate' })
      await until('it is refused', async () => {
        return (await stage.condition('DeploymentGrid', 'web')) === 'False Refused'
      })
      await stage.written()
      await change({ type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } })
      await stage.written()
      await change({ type: 'Recreate', rollingUpdate: null })
      await stage.written()
      const north = await stage.get('Deployment', 'web-north')
      stage.same('strategy', at(north, 'spec.strategy'), { type: 'Recreate' })
    },
  },
]
