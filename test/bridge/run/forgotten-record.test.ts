// SPDX-License-Identifier: Apache-2.0
// The record of an edge that left while the cluster took no writes.
import t from 'tap'
import { GoneRecords } from '../../../bridge/run/recorder/gone-records.js'
import { Recorder } from '../../../bridge/run/recorder/recorder.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { MemoryDisk } from './memory-stage.js'

const E1 = 'e1' as NodeName
const HOUR = 3_600_000
const POD = { type: 'pod', namespace: 'till', name: 'web', version: '1', print: '' } as const
const { signal } = new AbortController()

const answer = (status: number, reason: string): KubeStatusError =>
  new KubeStatusError('GET node', {
    ...{ status, reason, message: '', isFromApi: true },
    ...{ details: undefined, retryAfterMs: undefined },
  })

/** A recorder whose writes to the cluster end as the test says. */
const bed = () => {
  const clock = new FakeClock()
  const log = recordingLog()
  const disk = new MemoryDisk()
  const inCluster = new Map<NodeName, { readonly text: string; readonly writer: string }>()
  const world = {
    clock,
    log,
    disk,
    inCluster,
    loads: 0,
    write: (): Promise<void> => Promise.resolve(),
  }
  const maps = {
    read: (node: NodeName) => {
      world.loads++
      return Promise.resolve(inCluster.get(node))
    },
    remove: (node: NodeName) => Promise.resolve(void inCluster.delete(node)),
    write: async (node: NodeName, record: { readonly text: string; readonly writer: string }) => {
      await world.write()
      inCluster.set(node, record)
    },
  }
  const syncs = { read: () => Promise.resolve(new Map()), write: () => Promise.resolve() }
  const recorder = new Recorder(
    { adoptsObjectSyncs: false, writesObjectSyncs: false },
    { ...{ clock, log, maps, syncs, disk }, random: seededRandom(1), fresh: 'aaaaaaaa' },
  )
  return Object.assign(world, { recorder })
}

t.test('a record that is stored after its edge left is deleted a day after the Node', async t => {
  const world = bed()
  const { clock, log, disk, inCluster, recorder } = world
  const record = await recorder.open(E1, signal)
  record.stored('uid-1', POD)
  await clock.advance(10_000)
  world.write = () => Promise.reject(answer(429, 'TooManyRequests'))
  record.stored('uid-2', POD)
  await clock.advance(10_000)
  recorder.forget(E1)
  const end = new AbortController()
  const running = new GoneRecords({
    ...{ clock, log, random: seededRandom(2) },
    client: { get: () => Promise.reject(answer(404, 'NotFound')) },
    recorded: () => [...inCluster.keys()],
    isKnown: () => false,
    drop: (...all) => recorder.drop(...all),
  }).run(end.signal)
  const removals = () => log.lines.filter(({ message }) => message.includes('is removed'))
  await clock.advance(26 * HOUR)
  t.ok(inCluster.has(E1), 'what is not stored is not deleted')
  t.strictSame(removals(), [], 'nor said to be')
  world.write = () => Promise.resolve()
  await clock.advance(HOUR)
  t.strictSame([inCluster.has(E1), disk.files.has(E1)], [false, false])
  t.match(removals(), [{ fields: { node: E1 } }])
  await clock.advance(72 * HOUR)
  t.equal(removals().length, 1)
  end.abort()
  await running
  await recorder.stop(signal)
})

t.test('a record is forgotten when it is stored, not while that may still fail', async t => {
  const world = bed()
  const { clock, inCluster, recorder } = world
  let fail: (error: Error) => void = () => t.fail('nothing is being written')
  world.write = () => new Promise((_, reject) => (fail = reject))
  const record = await recorder.open(E1, signal)
  record.stored('uid-1', POD)
  await clock.advance(3_000)
  recorder.forget(E1)
  world.write = () => Promise.resolve()
  fail(answer(500, 'InternalError'))
  await clock.advance(60_000)
  t.match(inCluster.get(E1)?.text, / web /)
  t.equal(world.loads, 1)
  await recorder.open(E1, signal)
  t.equal(world.loads, 2, 'it has left the memory')
  await recorder.stop(signal)
})

t.test('whoever is back before that has the record as it was, and keeps it', async t => {
  const world = bed()
  const { clock, inCluster, recorder } = world
  world.write = () => Promise.reject(answer(429, 'TooManyRequests'))
  const record = await recorder.open(E1, signal)
  record.stored('uid-1', POD)
  await clock.advance(3_000)
  recorder.forget(E1)
  t.equal(await recorder.open(E1, signal), record)
  world.write = () => Promise.resolve()
  await clock.advance(120_000)
  t.equal(await recorder.open(E1, signal), record)
  t.notOk(await recorder.drop(E1, signal))
  t.ok(inCluster.has(E1))
  recorder.forget(E1)
  t.ok(await recorder.drop(E1, signal))
  t.notOk(inCluster.has(E1))
  await recorder.stop(signal)
})

t.test('nor is it forgotten before the last change is on disk', async t => {
  const world = bed()
  const { clock, disk, recorder } = world
  const record = await recorder.open(E1, signal)
  record.stored('uid-1', POD)
  await clock.advance(2_400)
  record.stored('uid-2', { ...POD, name: 'last' })
  await clock.advance(200)
  t.match(world.inCluster.get(E1)?.text, / last /)
  t.notMatch(disk.files.get(E1), / last /, 'the cluster has it before the disk')
  recorder.forget(E1)
  t.equal(await recorder.open(E1, signal), record)
  recorder.forget(E1)
  await clock.advance(10_000)
  t.match(disk.files.get(E1), / last /)
  t.equal((await recorder.open(E1, signal)).held.size, 2)
  t.equal(world.loads, 2)
  await recorder.stop(signal)
})

t.test('nor while a write to a slow disk waits', async t => {
  const world = bed()
  const { clock, disk, recorder } = world
  const record = await recorder.open(E1, signal)
  let end: (isWritten: boolean) => void = () => t.fail('nothing is being written')
  disk.write = () => new Promise(resolve => (end = resolve))
  void record.sending([['uid-1', POD]])
  await settle()
  void record.sending([['uid-2', { ...POD, name: 'last' }]])
  await clock.advance(3_000)
  t.match(world.inCluster.get(E1)?.text, / last /)
  recorder.forget(E1)
  t.equal(await recorder.open(E1, signal), record)
  recorder.forget(E1)
  end(true)
  await settle()
  end(true)
  await settle()
  t.not(await recorder.open(E1, signal), record, 'it has left the memory')
  disk.write = () => Promise.resolve(true)
  await recorder.stop(signal)
})
