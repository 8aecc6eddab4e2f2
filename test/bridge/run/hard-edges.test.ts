// SPDX-License-Identifier: Apache-2.0
// Edges that do not keep to the rules, and what they cost, in virtual time.
import t from 'tap'
import type { NodeName } from '../../../core/ids.js'
import { valueAt } from '../../../core/json-at.js'
import { MAPS, mapBody, NODES, nodeBody, podBody, PODS, Stage } from './memory-stage.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const mapVolumes = (count: number): readonly object[] =>
  Array.from({ length: count }, (_, i) => ({ name: `v${i}`, configMap: { name: `m${i}` } }))

t.test('an edge that acknowledges nothing for hours costs little, and has everything once it does', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  stage.edge('e1')
  const other = stage.edge('e2')
  await stage.clock.advance(MINUTE)
  bridge.isAckHeard = () => false
  for (let i = 0; i < 20; i++) stage.cluster.put(MAPS, mapBody(`m${i}`, 'first'))
  stage.cluster.put(PODS, podBody('web', 'e1', { volumes: mapVolumes(20) }))
  const before = bridge.sent.length
  const unasked = () => bridge.sent.slice(before).filter(({ node, message }) => node === 'e1' && message.parentId === undefined)
  await stage.clock.advance(6 * HOUR)
  const sent = unasked().length
  // 21 objects, four times in each of some 20 rounds; each 50 s it would be 36 000.
  t.ok(sent >= 21 && sent <= 21 * 4 * 25, `${sent} messages`)
  stage.cluster.put(MAPS, mapBody('m0', 'second'))
  stage.cluster.put(PODS, podBody('other', 'e2'))
  await stage.clock.advance(MINUTE)
  t.equal(other.view.pods['till/pod/other']?.phase, 'Running', 'others go on')
  t.match(valueAt(unasked().findLast(({ message: { resource } }) => resource === 'till/configmap/m0')?.message.content, 'data'), { key: 'second' }, 'a change is told within the minute')
  bridge.isAckHeard = () => true
  await stage.clock.advance(HOUR)
  t.match(bridge.downstream.explain('e1' as NodeName), { sending: { waiting: 0, aside: [] }, holds: { configmap: 20, unsure: 0 } })
}) // prettier-ignore

t.test('acknowledgements of messages that were never sent change nothing', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  stage.edge('e1')
  await stage.clock.advance(MINUTE)
  const before = JSON.stringify(bridge.downstream.explain('e1' as NodeName))
  const link = bridge.links.get('e1')!
  for (let i = 0; i < 10_000; i++)
    bridge.downstream.acknowledged(link, {
      ...{ id: `x${i}`, parentId: `never-${i}`, timestamp: 0, resourceVersion: undefined },
      ...{ source: 'meta', group: 'resource', resource: 'till/pod/web', content: 'OK' },
      operation: i % 2 === 0 ? 'response' : 'error',
    })
  const after = bridge.downstream.explain('e1' as NodeName)
  t.match(after, { sending: { waiting: 0, unacknowledged: 0, aside: [], messages: { refused: Number } } })
  t.match(after, { holds: (JSON.parse(before) as { holds: object }).holds })
}) // prettier-ignore

t.test('labels that flip a hundred times are sent a few times in their latest state, and end no pod', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  const edge = stage.edge('e1')
  stage.cluster.put(NODES, nodeBody('e1'))
  await stage.clock.advance(MINUTE)
  stage.cluster.put(PODS, podBody('web', 'e1'))
  await stage.clock.advance(5_000)
  const before = bridge.sent.length
  const { labels } = nodeBody('e1').metadata
  bridge.isAckHeard = () => false
  for (let i = 0; i <= 100; i++) {
    const unit = i % 2 === 0 ? { 'edge-health/unit-a': 'yes' } : {}
    stage.cluster.put(NODES, nodeBody('e1', { metadata: { name: 'e1', labels: { ...(labels as object), ...unit } } }))
    await stage.clock.advance(1)
  }
  for (let i = 0; i < 100; i++)
    stage.cluster.put(NODES, nodeBody('e1', i % 2 === 0 ? { metadata: { name: 'e1', labels: {} } } : {}))
  bridge.isAckHeard = () => true
  await stage.clock.advance(MINUTE)
  const unasked = bridge.sent.slice(before).filter(({ message: { parentId } }) => parentId === undefined)
  t.ok(unasked.length <= 3, `${unasked.length} messages`)
  t.ok(unasked.every(({ message: { operation, resource } }) => operation === 'update' && resource === 'null/node/e1'))
  t.equal(edge.view.pods['till/pod/web']?.phase, 'Running')
  t.strictSame(valueAt(stage.kept('e1', 'node').get('e1'), 'metadata', 'labels'), labels)
}) // prettier-ignore

t.test('an edge with two thousand objects has them all, and a change of one is one message', async t => {
  const stage = new Stage(t)
  const bridge = await stage.start()
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  for (let i = 0; i < 2_000; i++) stage.cluster.put(MAPS, mapBody(`m${i}`, String(i)))
  for (let pod = 0; pod < 20; pod++) {
    const volumes = mapVolumes(2_000).slice(pod * 100, pod * 100 + 100)
    stage.cluster.put(PODS, podBody(`p${pod}`, 'e1', { volumes }))
  }
  await stage.clock.advance(5 * MINUTE)
  t.equal(stage.kept('e1', 'configmap').size, 2_000)
  t.equal(edge.view.dropped, 0)
  t.match(bridge.downstream.explain('e1' as NodeName), { sending: { waiting: 0, aside: [] }, holds: { configmap: 2_000, pod: 20, unsure: 0 } })
  const before = bridge.sent.length
  stage.cluster.put(MAPS, mapBody('m7', 'new'))
  await stage.clock.advance(5_000)
  const unasked = bridge.sent.slice(before).filter(({ message: { parentId } }) => parentId === undefined)
  t.strictSame(unasked.map(({ message: { resource } }) => resource), ['till/configmap/m7'])
}) // prettier-ignore
