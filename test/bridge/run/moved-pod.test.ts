// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { NODES, nodeBody, podBody, PODS, Stage, MemoryDisk } from './memory-stage.js'

const MINUTE = 60_000

const play = async (t: Test, to: string, isEdge: boolean) => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  stage.cluster.put(NODES, nodeBody('e1'))
  stage.cluster.put(NODES, nodeBody(to, isEdge ? {} : { metadata: { name: to } }))
  const first = await stage.start({ disk })
  const edge = stage.edge('e1')
  await stage.clock.advance(5_000)
  stage.cluster.put(PODS, podBody('db-0', 'e1'))
  stage.cluster.put(PODS, podBody('gone', 'e1'))
  await stage.clock.advance(10_000)
  t.equal(edge.view.pods['till/pod/db-0']?.phase, 'Running')
  await first.stop()
  for (const name of ['db-0', 'gone']) stage.cluster.delete(PODS, { namespace: 'till', name })
  stage.cluster.put(PODS, podBody('db-0', to))
  await stage.start({ disk })
  await stage.clock.advance(60 * MINUTE)
  t.strictSame(Object.keys(edge.view.pods), [], 'the edge has stopped both an hour later')
}

t.test('a pod that moved to another edge while its edge was away is stopped there', t =>
  play(t, 'e2', true),
)
t.test('a pod that moved to a node of the cloud while its edge was away is stopped there', t =>
  play(t, 'cloud-1', false),
)
