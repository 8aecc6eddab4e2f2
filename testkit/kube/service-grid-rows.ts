// SPDX-License-Identifier: Apache-2.0
import { GRID_LABEL } from '../../grids/model/marks.js'
import { serviceGrid } from './grid-objects.js'
import { FOREIGN, isKept, KEPT, letGo, type GridRow } from './grid-row.js'
import { at, until, type Raw } from './raw-objects.js'
import type { GridStage } from './grid-stage.js'

const ports = (...numbers: readonly number[]) =>
  numbers.map(port => ({ name: `p${port}`, port, protocol: 'TCP' }))

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
