// SPDX-License-Identifier: Apache-2.0
// The answer to a read of a pod arrives after the watch has brought a newer pod of that name.
import t, { type Test } from 'tap'
import { MemoryDisk, NODES, nodeBody, podBody, PODS, Stage } from './memory-stage.js'

const DB = { namespace: 'till', name: 'db-0' }

const uidOf = (object: unknown): string =>
  (object as { metadata: { uid: string } } | undefined)?.metadata.uid ?? 'none'

/** An edge whose pods are gone when it returns to a new bridge, which reads them before the edge is made to stop them. */
const play = async (t: Test, isThereAnother: boolean) => {
  const stage = new Stage(t)
  const { cluster, clock } = stage
  cluster.put(NODES, nodeBody('e1'))
  const disk = new MemoryDisk()
  const first = await stage.start({ disk })
  stage.edge('e1')
  await clock.advance(5_000)
  for (const name of ['db-0', 'db-1']) cluster.put(PODS, podBody(name, 'e1'))
  await clock.advance(10_000)
  await first.stop()
  for (const name of ['db-0', 'db-1']) cluster.delete(PODS, { ...DB, name })
  await stage.start({ disk })
  cluster.isHeldBack = true
  if (isThereAnother) cluster.put(PODS, podBody('db-0', 'e1'))
  const answers = new Map<string, () => void>()
  cluster.answering = async ({ name }) => {
    if (name.startsWith('db-')) await new Promise<void>(resolve => answers.set(name, resolve))
  }
  await clock.advance(60_000)
  t.strictSame([...answers.keys()], ['db-0', 'db-1'])
  cluster.delete(PODS, DB)
  const newest = cluster.put(PODS, podBody('db-0', 'e1'))
  cluster.isHeldBack = false
  cluster.deliver()
  await clock.advance(10_000)
  const held = (): string => uidOf(stage.kept('e1', 'pod').get('db-0'))
  t.equal(held(), uidOf(newest))
  cluster.answering = () => Promise.resolve()
  answers.get('db-0')!()
  t.teardown(() => answers.get('db-1')!())
  await clock.advance(10_000)
  t.equal(held(), uidOf(newest), 'the edge keeps the newer pod')
  const removed = stage
    .sentTo('e1', 'till/pod/db-0')
    .flatMap(({ operation, content }) => (operation === 'delete' ? [uidOf(content)] : []))
  t.ok(removed.length > 0, 'the pod that is gone is stopped')
  t.notOk(removed.includes(uidOf(newest)))
}

t.test('a late answer that there is no such pod stops no newer one', t => play(t, false))

t.test('a late answer with an older pod stops no newer one', t => play(t, true))
