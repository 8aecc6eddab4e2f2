// SPDX-License-Identifier: Apache-2.0
// A slow answer to an edge's query may leave after a newer state was sent: the edge must end up with the newer one.
import t, { type Test } from 'tap'
import { objectReply } from '../../../bridge/model/message/reply.js'
import type { Message } from '../../../bridge/model/message/message.js'
import { parseResource } from '../../../bridge/model/resource/resource.js'
import { parseNodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { mapBody, MAPS, nodeBody, NODES, podBody, PODS, Stage } from './memory-stage.js'

const RESOURCE = 'till/configmap/prices'
const QUERY: Message = {
  ...{ id: 'q1', parentId: undefined, timestamp: 0, resourceVersion: undefined },
  ...{ source: 'edged', group: 'meta', operation: 'query', resource: RESOURCE, content: null },
}

/** An edge that holds a ConfigMap, and an answer of its state at that time that is still on its way. */
const openQuery = async (t: Test) => {
  const stage = new Stage(t)
  stage.cluster.put(NODES, nodeBody('e1'))
  stage.cluster.put(MAPS, mapBody('prices', '1'))
  stage.cluster.put(PODS, podBody('web', 'e1', { map: 'prices' }))
  const bridge = await stage.start()
  stage.edge('e1')
  await stage.clock.advance(30_000)
  // From now on the bridge knows what the edge has.
  bridge.cut('e1')
  await stage.clock.advance(60_000)
  const old = stage.cluster.get(MAPS, { namespace: 'till', name: 'prices' })!
  const answer = (): void => {
    bridge.downstream.answering(parseResource(RESOURCE, parseNodeName('e1')), old)
    bridge.links.get('e1')!.send(objectReply(QUERY, { id: 'r1', at: 0 }, old))
  }
  const value = (): unknown =>
    (stage.kept('e1', 'configmap').get('prices')?.['data'] as JsonMap | undefined)?.['key']
  const sent = (): number => stage.sentTo('e1', RESOURCE).length
  t.equal(value(), '1')
  return { stage, bridge, answer, value, sent }
}

t.test('an answer that is overtaken by a newer state does not stay', async t => {
  const { stage, bridge, answer, value } = await openQuery(t)
  stage.cluster.put(MAPS, mapBody('prices', '2'))
  await stage.clock.advance(10_000)
  t.equal(value(), '2')
  answer()
  bridge.cut('e1')
  await stage.clock.advance(60_000)
  t.equal(value(), '2', 'the edge is compared when it connects')
})

t.test('… nor when the newer state is still to be acknowledged', async t => {
  const { stage, bridge, answer, value } = await openQuery(t)
  let isAnswered = false
  bridge.isAckHeard = ({ resource }) => {
    if (resource === RESOURCE && !isAnswered) {
      isAnswered = true
      answer()
    }
    return true
  }
  stage.cluster.put(MAPS, mapBody('prices', '2'))
  await stage.clock.advance(10_000)
  t.ok(isAnswered)
  bridge.cut('e1')
  await stage.clock.advance(60_000)
  t.equal(value(), '2')
})

t.test('an answer with what the edge has is not sent again', async t => {
  const { stage, bridge, answer, sent } = await openQuery(t)
  answer()
  await stage.clock.advance(10_000)
  const before = sent()
  bridge.cut('e1')
  await stage.clock.advance(60_000)
  t.equal(sent(), before)
})
