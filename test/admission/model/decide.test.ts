// SPDX-License-Identifier: Apache-2.0
// What becomes of writes about nodes that the control plane does not hear: one row, one claim.
import t from 'tap'
import type { JsonMap } from '../../../core/json.js'
import type { Known, ReviewPath } from '../../../admission/model/decide.js'
import type { KeepRules } from '../../../admission/model/standing.js'
import {
  after,
  decideOn,
  FOREIGN,
  knowing,
  makeAddress,
  makeEndpoint,
  makeEndpoints,
  makeNode,
  makePod,
  makeReview,
  makeSlice,
  NO_EXECUTE,
  NO_SCHEDULE,
  STAMP,
  SUPEREDGE,
  VOUCHED,
  type NodeOdds,
} from '../../../testkit/admission/reviews.js'

const MARKED: KeepRules = { ...SUPEREDGE, keepsMarked: true }
const outcome = (path: ReviewPath, review: JsonMap, known: Known): string => {
  const decision = decideOn(path, review, known)
  return decision.kind === 'unchanged' ? decision.why : decision.kind
}

t.test('the taint of a Node that the control plane does not hear from', t => {
  const rows: [claim: string, rules: KeepRules, node: NodeOdds, becomes: string][] = [
    ['vouched for 5 s ago', VOUCHED, {}, 'changed'],
    ['… 30 s ago, which is the limit', VOUCHED, { word: { agoMs: 30_000 } }, 'changed'],
    ['… 31 s ago', VOUCHED, { word: { agoMs: 31_000 } }, 'report-too-old'],
    ['… 2 s in the future, as clocks differ', VOUCHED, { word: { agoMs: -2_000 } }, 'changed'],
    ['… in the future', VOUCHED, { word: { agoMs: -3_000 } }, 'report-too-old'],
    ['the peers say nothing of it', VOUCHED, { word: { status: 'Unknown' } }, 'not-vouched'],
    ['… that they reach it', VOUCHED, { word: { reason: 'PeersReachNode' } }, 'not-vouched'],
    ['… that it is dead', VOUCHED, { isMarked: true }, 'marked'],
    ['its kubelet says that it is not ready', VOUCHED, { ready: 'False' }, 'heard'],
    ['it is heard again', VOUCHED, { ready: 'True' }, 'heard'],
    ['it never told a Ready', VOUCHED, { ready: '' }, 'heard'],
    ['no stamp tells the time', VOUCHED, { stamp: undefined }, 'no-time'],
    ['without the taint', VOUCHED, { taints: [FOREIGN, NO_SCHEDULE] }, 'harmless'],
    ['without any', VOUCHED, { taints: [] }, 'harmless'],
    ['taints that are no list', VOUCHED, { taints: 'none' }, 'harmless'],
    ['taints that are no taints', VOUCHED, { taints: [null, 1, 'x', []] }, 'harmless'],
    ["SuperEdge's way: nobody marked it", SUPEREDGE, { word: { status: 'False' } }, 'changed'],
    ['… and no time is needed', SUPEREDGE, { stamp: undefined }, 'changed'],
    ['… it is marked', SUPEREDGE, { isMarked: true }, 'marked'],
    ['… it is marked, and always reachable', MARKED, { isMarked: true }, 'changed'],
    ['… it is heard, and always reachable', MARKED, { ready: 'False' }, 'heard'],
  ]
  for (const [claim, rules, odds, becomes] of rows) {
    const review = makeReview('/node-taint', makeNode(odds))
    t.equal(outcome('/node-taint', review, knowing([], rules)), becomes, claim)
  }
  t.end()
})

t.test('the taint is removed wherever it is in the list, and all others stay in order', t => {
  const rows: [claim: string, before: readonly unknown[], left: readonly unknown[]][] = [
    ['in the middle', [FOREIGN, NO_EXECUTE, NO_SCHEDULE], [FOREIGN, NO_SCHEDULE]],
    ['alone', [NO_EXECUTE], []],
    ['twice', [NO_EXECUTE, FOREIGN, { ...NO_EXECUTE, value: 'x' }], [FOREIGN]],
    ['beside what is no taint', [null, NO_EXECUTE, 7], [null, 7]],
  ]
  for (const [claim, taints, left] of rows) {
    const node = makeNode({ taints })
    const decision = decideOn('/node-taint', makeReview('/node-taint', node), knowing([]))
    t.match(decision, { kind: 'changed', patch: [{ op: 'test' }, { op: 'replace' }] }, claim)
    const spec = { ...(node['spec'] as JsonMap), taints: left }
    t.strictSame(after(node, decision), { ...node, spec }, claim)
  }
  t.end()
})

t.test('the clock is the later one of the stamp and the last answer', t => {
  const review = makeReview('/node-taint', makeNode())
  const at = (serverTime: number) => knowing([], VOUCHED, { serverTime })
  t.equal(outcome('/node-taint', review, at(STAMP - 3_600_000)), 'changed')
  t.equal(outcome('/node-taint', review, at(STAMP + 26_000)), 'report-too-old')
  const undated = makeReview('/node-taint', makeNode({ stamp: undefined }))
  t.equal(outcome('/node-taint', undated, at(STAMP)), 'changed')
  t.end()
})

const cut = (...names: readonly string[]): readonly NodeOdds[] => names.map(name => ({ name }))

t.test('whose writes, of what, where', t => {
  const node = makeNode()
  const manager = { userInfo: { username: 'system:kube-controller-manager' } }
  const by = (name: string) => ({
    userInfo: { username: `system:serviceaccount:kube-system:${name}` },
  })
  const pods = [makePod('n1', 'False'), makePod('n1', 'True')] as const
  const rows: [claim: string, path: ReviewPath, review: JsonMap, becomes: string][] = [
    ['without accounts of their own', '/node-taint', makeReview('/node-taint', node, node, manager), 'changed'],
    ['a person', '/node-taint', makeReview('/node-taint', node, node, { userInfo: { username: 'admin' } }), 'other-writer'],
    ['nobody', '/node-taint', makeReview('/node-taint', node, node, { userInfo: null }), 'other-writer'],
    ['its kubelet', '/pod-status', makeReview('/pod-status', ...pods, { userInfo: { username: 'system:node:n1' } }), 'other-writer'],
    ['the wrong controller', '/pod-status', makeReview('/pod-status', ...pods, by('endpoint-controller')), 'other-writer'],
    ['one of another namespace', '/node-taint', makeReview('/node-taint', node, node, { userInfo: { username: 'system:serviceaccount:shop:node-controller' } }), 'other-writer'],
    ['a new Node', '/node-taint', makeReview('/node-taint', node, null, { operation: 'CREATE' }), 'not-ours'],
    ['a Node that goes', '/node-taint', makeReview('/node-taint', null, node, { operation: 'DELETE' }), 'not-ours'],
    ["a Node's status", '/node-taint', makeReview('/node-taint', node, node, { subResource: 'status' }), 'not-ours'],
    ['nodes of another group', '/node-taint', makeReview('/node-taint', node, node, { resource: { group: 'example.com', version: 'v1', resource: 'nodes' } }), 'not-ours'],
    ['nodes of another version', '/node-taint', makeReview('/node-taint', node, node, { resource: { group: '', version: 'v2', resource: 'nodes' } }), 'not-ours'],
    ['a review that went astray', '/endpoint', makeReview('/node-taint', node), 'not-ours'],
    ['a Pod of a user', '/pod-status', makeReview('/pod-status', ...pods), 'refused'],
    ['a Pod of the system', '/pod-status', makeReview('/pod-status', ...pods, { namespace: 'kube-system' }), 'not-ours'],
    ['a Pod of ours', '/pod-status', makeReview('/pod-status', ...pods, { namespace: 'edge-system' }), 'not-ours'],
  ] // prettier-ignore
  for (const [claim, path, review, becomes] of rows)
    t.equal(outcome(path, review, knowing(cut('n1'))), becomes, claim)
  t.end()
})

t.test('"this Pod is not ready" is refused while its node is kept', t => {
  const rows: [
    claim: string,
    nodes: readonly NodeOdds[],
    node: string | undefined,
    from: string,
    to: string,
    becomes: string,
  ][] = [
    ['on a kept node', cut('n1'), 'n1', 'True', 'False', 'refused'],
    ['that was not ready before', cut('n1'), 'n1', 'False', 'False', 'harmless'],
    ['that becomes ready', cut('n1'), 'n1', 'False', 'True', 'harmless'],
    ['that never told', cut('n1'), 'n1', '', 'False', 'harmless'],
    ['whose readiness is not known any more', cut('n1'), 'n1', 'True', 'Unknown', 'harmless'],
    ['without a node', cut('n1'), undefined, 'True', 'False', 'node-not-known'],
    ['on a node that is gone', cut('n1'), 'n2', 'True', 'False', 'node-not-known'],
    ['on a dead node', [{ isMarked: true }], 'n1', 'True', 'False', 'marked'],
    ['whose peers fell silent', [{ word: { agoMs: 31_000 } }], 'n1', 'True', 'False', 'report-too-old'],
    ['on a node that is heard', [{ ready: 'True' }], 'n1', 'True', 'False', 'heard'],
    ['whose kubelet is sick', [{ ready: 'False' }], 'n1', 'True', 'False', 'heard'],
  ] // prettier-ignore
  for (const [claim, nodes, node, from, to, becomes] of rows) {
    const review = makeReview('/pod-status', makePod(node, to), makePod(node, from))
    t.equal(outcome('/pod-status', review, knowing(nodes)), becomes, claim)
  }
  const known = { ...knowing(cut('n1')), find: () => ({ kind: 'table-not-ready' }) as const }
  const review = makeReview('/pod-status', makePod('n1', 'False'), makePod('n1', 'True'))
  t.equal(outcome('/pod-status', review, known), 'table-not-ready', 'before the Nodes are listed')
  t.end()
})

const a = makeAddress
type Split = readonly [ready: readonly unknown[], unready: readonly unknown[]]

t.test("core Endpoints: what broke SuperEdge's webhook, and what must not become ready", t => {
  const n1 = (pod: number) => a(pod, 'n1')
  const other = (pod: number) => a(pod, 'n2')
  const nobody = a(1, undefined)
  const bare = { ip: '10.0.0.1', nodeName: 'n1' }
  const service = { ...n1(1), targetRef: { kind: 'Service', uid: 'uid-1' } }
  const rows: [claim: string, before: Split, now: Split, becomes: string, then: Split][] = [
    ['all backends on the lost node', [[n1(1)], []], [[], [n1(1)]], 'changed', [[n1(1)], []]],
    ['two of it', [[n1(1), n1(2)], []], [[], [n1(1), n1(2)]], 'changed', [[n1(1), n1(2)], []]],
    ['beside others', [[other(1), n1(2), n1(3)], []], [[other(1)], [n1(2), n1(3)]], 'changed', [[other(1), n1(2), n1(3)], []]],
    ['without nodeName', [[nobody], []], [[], [nobody]], 'harmless', [[], [nobody]]],
    ['without nodeName, beside a kept one', [[nobody, n1(2)], []], [[], [nobody, n1(2)]], 'changed', [[n1(2)], [nobody]]],
    ['without targetRef', [[bare], []], [[], [bare]], 'harmless', [[], [bare]]],
    ["a Service's", [[service], []], [[], [service]], 'harmless', [[], [service]]],
    ['never ready before', [[], [n1(1)]], [[], [n1(1)]], 'harmless', [[], [n1(1)]]],
    ['a new Pod at an old address', [[n1(1)], []], [[], [{ ...n1(1), targetRef: { kind: 'Pod', uid: 'uid-9' } }]], 'harmless', [[], [{ ...n1(1), targetRef: { kind: 'Pod', uid: 'uid-9' } }]]],
    ['on a node that is not kept', [[other(1)], []], [[], [other(1)]], 'marked', [[], [other(1)]]],
    ['no addresses that are addresses', [[n1(1)], []], [[], [null, 7, 'x', []]], 'harmless', [[], [null, 7, 'x', []]]],
  ] // prettier-ignore
  const known = knowing([{ name: 'n1' }, { name: 'n2', isMarked: true }])
  for (const [claim, before, now, becomes, then] of rows) {
    const object = makeEndpoints(...now)
    const review = makeReview('/endpoint', object, makeEndpoints(...before))
    t.equal(outcome('/endpoint', review, known), becomes, claim)
    const patched = after(object, decideOn('/endpoint', review, known))
    t.strictSame(patched, makeEndpoints(...then), claim)
  }
  const first = makeReview('/endpoint', makeEndpoints([], [n1(1)]), null)
  t.equal(outcome('/endpoint', first, known), 'harmless', 'nothing is stored yet')
  const odd = makeReview('/endpoint', { subsets: ['x', null] }, { subsets: 7 })
  t.equal(outcome('/endpoint', odd, known), 'harmless', 'subsets that are none')
  t.equal(outcome('/endpoint', makeReview('/endpoint', {}, {}), known), 'harmless', 'none at all')
  t.end()
})

t.test('EndpointSlices: ready stays ready, and serving with it', t => {
  const ready = { ready: true, serving: true, terminating: false }
  const not = { ready: false, serving: false, terminating: false }
  const e = makeEndpoint
  const rows: [claim: string, before: JsonMap, now: JsonMap, becomes: string, then: JsonMap][] = [
    ['on a kept node', e(1, 'n1', ready), e(1, 'n1', not), 'changed', e(1, 'n1', ready)],
    ['ready for want of a word', e(1, 'n1', {}), e(1, 'n1', not), 'changed', e(1, 'n1', ready)],
    ['never ready before', e(1, 'n1', not), e(1, 'n1', not), 'harmless', e(1, 'n1', not)],
    ['still ready', e(1, 'n1', ready), e(1, 'n1', ready), 'harmless', e(1, 'n1', ready)],
    ['that ends', e(1, 'n1', ready), e(1, 'n1', { ...not, terminating: true }), 'harmless', e(1, 'n1', { ...not, terminating: true })],
    ['on another node', e(1, 'n2', ready), e(1, 'n2', not), 'marked', e(1, 'n2', not)],
    ['without nodeName', e(1, undefined, ready), e(1, undefined, not), 'harmless', e(1, undefined, not)],
    ['of another Pod', e(2, 'n1', ready), e(1, 'n1', not), 'harmless', e(1, 'n1', not)],
  ] // prettier-ignore
  const known = knowing([{ name: 'n1' }, { name: 'n2', isMarked: true }])
  for (const [claim, before, now, becomes, then] of rows) {
    const others = [e(7, 'n9', ready), e(8, 'n9', not)]
    const slice = (endpoint: JsonMap) => makeSlice([...others, endpoint])
    const review = makeReview('/endpointslice', slice(now), slice(before))
    t.equal(outcome('/endpointslice', review, known), becomes, claim)
    t.strictSame(after(slice(now), decideOn('/endpointslice', review, known)), slice(then), claim)
  }
  const odd = makeReview('/endpointslice', { endpoints: [null, 7] }, { endpoints: 'x' })
  t.equal(outcome('/endpointslice', odd, known), 'harmless', 'endpoints that are none')
  t.equal(outcome('/endpointslice', makeReview('/endpointslice', {}), known), 'harmless')
  t.end()
})
