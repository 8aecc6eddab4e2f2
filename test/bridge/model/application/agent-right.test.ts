// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  agentPodOf,
  agentRight,
  withoutAgent,
} from '../../../../bridge/model/application/agent-right.js'
import type { Application } from '../../../../bridge/model/application/application.js'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import type { NodeName } from '../../../../core/ids.js'

const NODE = 'e1' as NodeName
const ASKER = { node: NODE, namespace: 'edge-system' }

const target = (path: string): Application['target'] => {
  const [group = '', version = '', resource = '', namespace = '', name = ''] = path.split(' ')
  return { group: group === 'core' ? '' : group, version, resource, namespace: namespace === '-' ? '' : namespace, name } // prettier-ignore
}

const listing = { labelSelector: '', fieldSelector: '', resourceVersion: '', limit: 0, next: '' }
const get = { verb: 'get' } as const
const list = { verb: 'list', listing } as const
const watch = { verb: 'watch', listing } as const
const create = (body: object = {}): Application['ask'] => ({ verb: 'create', body: { ...body } })
const patch = (value: unknown, more: object = {}): Application['ask'] => ({
  ...{ verb: 'patch', type: 'merge', text: '', value, subresource: '', isDryRun: false },
  ...more,
})
const onStatus = (conditions: unknown, type = 'strategic-merge'): Application['ask'] =>
  patch({ status: { conditions } }, { type, subresource: 'status' })

const EVENT = {
  regarding: { kind: 'Node', name: 'e2' },
  reportingController: 'edge-health-agent',
  reportingInstance: 'e1',
}
const note = (key: string): object => ({ metadata: { annotations: { [key]: 'x' } } })
const label = (key: string): object => ({ metadata: { labels: { [key]: 'x' } } })
const taint = { type: 'json' }

t.test('what the agent of a node may ask', t => {
  const own = 'core v1 nodes - e1'
  const other = 'core v1 nodes - e2'
  const lease = 'coordination.k8s.io v1 leases kube-node-lease'
  const cloud = 'coordination.k8s.io v1 leases edge-system'
  const rows: [title: string, path: string, ask: Application['ask'], trouble?: RegExp][] = [
    ['the own Node', own, get],
    ['another Node', other, get],
    ['the Nodes of a zone', 'core v1 nodes', list],
    ['… as they change', 'core v1 nodes', watch],
    ['a Node in a namespace', 'core v1 nodes shop e2', get, /in no namespace/],
    ['… watched, which nobody could then', 'core v1 nodes shop', watch, /in no namespace/],
    ['a Node is not made', 'core v1 nodes', create(), /agents do not do this/],
    ['its own identity', own, patch(note('edge-health/identity'))],
    ['nothing, to see whether it may', own, patch({}, { isDryRun: true })],
    ['a mark of its own', own, patch(note('nodeunhealth')), /annotations\.nodeunhealth/],
    ['a label of its own', own, patch(label('edge-health/confinement-check')), /must not change/],
    ['its own status', own, onStatus([]), /only the edge itself reports the status of its own Node/],
    ['the mark of another', other, patch(note('nodeunhealth'))],
    ['why it is marked', other, patch(note('edge-health/reason'))],
    ['that it is vouched for', other, patch(label('edge-health/vouched'))],
    ['the identity of another', other, patch(note('edge-health/identity')), /identity/],
    ['a label of another', other, patch(label('zone')), /labels\.zone/],
    ['that another is cordoned', other, patch({ spec: { unschedulable: true } }), /unschedulable/],
    ['a taint', other, patch([{ op: 'add', path: '/spec/taints/-', value: {} }], taint)],
    ['what peers say', other, onStatus([{ type: 'PeerHealth' }, { type: 'Ready' }])],
    ['what a kubelet says', other, onStatus([{ type: 'DiskPressure' }]), /PeerHealth and Ready only/],
    ['a condition that is none', other, onStatus([7]), /PeerHealth and Ready only/],
    ['all conditions', other, onStatus([], 'merge'), /must be a strategic merge/],
    ['conditions that are none', other, onStatus('x'), /must be a strategic merge/],
    ['marks beside no condition', other, patch(note('nodeunhealth'), { type: 'strategic-merge', subresource: 'status' })],
    ['addresses', other, patch({ status: { addresses: [] } }, { type: 'strategic-merge', subresource: 'status' }), /status\.addresses/],
    ['another part of it', other, patch({}, { subresource: 'proxy' }), /agents do not do this/],
    ['the Lease of another', `${lease} e2`, get],
    ['… renewed', `${lease} e2`, patch({ metadata: { resourceVersion: '7' }, spec: { renewTime: 't' } })],
    ['… taken over', `${lease} e2`, patch({ spec: { holderIdentity: 'e1' } }), /spec\.holderIdentity/],
    ['a part of it', `${lease} e2`, patch({}, { subresource: 'status' }), /agents do not do this/],
    ['the own Lease', `${lease} e1`, patch({ spec: { renewTime: 't' } }), /only the edge itself/],
    ['the own Lease, read', `${lease} e1`, get],
    ['all Leases', lease, list, /agents do not do this/],
    ['a Lease of others', 'coordination.k8s.io v1 leases shop x', get, /agents do not do this/],
    ['the sign of the cloud', `${cloud} edge-health-e1`, patch({ spec: {} })],
    ['… made', cloud, create({ metadata: { name: 'edge-health-e1' } })],
    ['… a part of it', `${cloud} edge-health-e1`, patch({}, { subresource: 'proxy' }), /agents do not do this/],
    ['… of another', `${cloud} edge-health-e2`, patch({}), /not its own Lease/],
    ['… made for another', cloud, create({ metadata: { name: 'edge-health-e2' } }), /not its own Lease/],
    ['… made for nobody', cloud, create({}), /not its own Lease/],
    ['… read', `${cloud} edge-health-e1`, get, /not its own Lease/],
    ['zones', 'core v1 configmaps edge-system edge-health-zone-config', list],
    ['options', 'core v1 configmaps edge-system edge-health-config', watch],
    ['the key', 'core v1 secrets edge-system edge-health-keys', watch],
    ['another Secret', 'core v1 secrets edge-system other', watch, /others of this kind by name/],
    ['all Secrets', 'core v1 secrets edge-system', list, /others of this kind by name/],
    ['the key, elsewhere', 'core v1 secrets shop edge-health-keys', list, /agents do not do this/],
    ['a ConfigMap is not written', 'core v1 configmaps edge-system edge-health-config', patch({}), /agents do not do this/],
    ['an Event of its own', 'events.k8s.io v1 events default', create(EVENT)],
    ['an Event of another agent', 'events.k8s.io v1 events default', create({ ...EVENT, reportingInstance: 'e2' }), /its own agent/],
    ['an Event of another program', 'events.k8s.io v1 events default', create({ ...EVENT, reportingController: 'x' }), /its own agent/],
    ['an Event about a Pod', 'events.k8s.io v1 events default', create({ ...EVENT, regarding: { kind: 'Pod' } }), /about a Node/],
    ['an Event about nothing', 'events.k8s.io v1 events default', create({}), /about a Node/],
    ['an Event with a name of its own', 'events.k8s.io v1 events default', create({ ...EVENT, metadata: { name: 'e2.1', namespace: 'default' }, note: 'x' })],
    ['an Event that shows another writer', 'events.k8s.io v1 events default', create({ ...EVENT, deprecatedSource: { component: 'kubelet', host: 'e2' } }), /not set deprecatedSource in Events/],
    ['an Event that nobody can delete', 'events.k8s.io v1 events default', create({ ...EVENT, metadata: { name: 'x', finalizers: ['x'] } }), /not set finalizers in Events/],
    ['Events, read', 'events.k8s.io v1 events default', list, /agents do not do this/],
    ['Events elsewhere', 'events.k8s.io v1 events shop', create(EVENT), /agents do not do this/],
    ['Pods', 'core v1 pods shop', list, /agents do not do this/],
    ['another version', 'core v2 nodes', list, /agents do not do this/],
    ['what is no resource', 'core v1 __proto__', list, /agents do not do this/],
  ] // prettier-ignore
  for (const [title, path, ask, trouble] of rows) {
    const right = agentRight({ id: 'a', target: target(path), ask }, ASKER)
    if (trouble === undefined) t.strictSame(right, { ok: true }, title)
    else t.match(right, { ok: false, refusal: { status: 403, message: trouble } }, title)
  }
  const asked = { id: '', target: target(`${lease} e1`), ask: patch({ spec: { renewTime: 't' } }) }
  t.match(agentRight(asked, ASKER), {
    refusal: {
      reason: 'Forbidden',
      message:
        'leases.coordination.k8s.io "e1" is forbidden: an agent on node e1 may not patch it: only the edge itself renews the Lease of its own node',
      details: { name: 'e1', kind: 'leases.coordination.k8s.io' },
    },
  })
  t.end()
})

t.test('a long node name is truncated in Events', t => {
  const node = 'n'.repeat(200) as NodeName
  const body = { ...EVENT, reportingInstance: 'n'.repeat(128) }
  const asked = { id: '', target: target('events.k8s.io v1 events default'), ask: create(body) }
  t.ok(agentRight(asked, { ...ASKER, node }).ok)
  t.end()
})

t.test('an agent is on a node that has its Pod', t => {
  const locations = new LocationCache()
  const place = (name: string, namespace: string, account: string, node: string): void => {
    locations.setPod(
      {
        metadata: { uid: `${namespace}/${name}`, namespace, name },
        spec: { nodeName: node, serviceAccountName: account },
      },
      node as NodeName,
    )
  }
  t.equal(agentPodOf(locations, ASKER), undefined)
  place('a', 'shop', 'edge-health-agent', 'e1')
  place('b', 'edge-system', 'edge-health-wrapper', 'e1')
  place('c', 'edge-system', 'edge-health-agent', 'e2')
  t.equal(agentPodOf(locations, ASKER), undefined, 'none of these is one')
  place('d', 'edge-system', 'edge-health-agent', 'e1')
  place('e', 'edge-system', 'edge-health-agent', 'e1')
  t.equal(agentPodOf(locations, ASKER)?.name, 'e', 'of two, the one that came last')
  t.match(withoutAgent({ id: '', target: target('core v1 nodes'), ask: list }, ASKER), {
    status: 403,
    message: /no Pod of the ServiceAccount edge-health-agent in edge-system is on this node/,
  })
  t.end()
})
