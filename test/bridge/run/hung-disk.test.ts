// SPDX-License-Identifier: Apache-2.0
// A disk that does not fail but never answers.
import { execFileSync } from 'node:child_process'
import { closeSync, constants, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { RecordDisk } from '../../../bridge/run/recorder/record-disk.js'
import { WRITER_ANNOTATION } from '../../../bridge/run/recorder/record-map.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { MAPS, MemoryDisk, podBody, PODS, Stage } from './memory-stage.js'

const [E1, E2, E3] = ['e1', 'e2', 'e3'] as NodeName[] as [NodeName, NodeName, NodeName]

/** A disk whose writes end when the test lets them. */
const openDisk = (folder: string) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const writes: { readonly name: string; readonly end: () => void }[] = []
  const disk = new RecordDisk(folder, {
    ...{ clock, log },
    replace: (_folder, name) => new Promise(end => writes.push({ name, end })),
  })
  return { clock, log, writes, disk }
}

t.test(
  'a write that hangs counts as failed after a while, and the error is logged once',
  async t => {
    const { clock, log, writes, disk } = openDisk(t.testdir())
    const results: boolean[] = []
    for (const node of [E1, E2, E3]) void disk.write(node, 'one').then(is => results.push(is))
    await settle()
    t.equal(writes.length, 2, 'two threads at most are given to it')
    t.strictSame(results, [])
    await clock.advance(5_000)
    t.strictSame(results, [false, false, false], 'who waited for a turn need not wait again')
    t.ok(disk.isFailing)
    t.equal(await disk.write(E1, 'two'), false, 'at once')
    t.equal(await disk.read(E3), undefined)
    t.match(log.lines, [{ level: 'error', message: 'what edges hold cannot be kept on disk' }])
    t.equal(log.lines.length, 1)
  },
)

t.test(
  'a file whose write hangs is left alone; others go on, and all do when it is over',
  async t => {
    const { clock, writes, disk } = openDisk(t.testdir())
    const hung = disk.write(E1, 'one')
    await clock.advance(5_000)
    t.equal(await hung, false)
    t.equal(await disk.write(E1, 'two'), false, 'the one that hangs may still replace the file')
    const other = disk.write(E2, 'one')
    writes[1]!.end()
    t.equal(await other, true)
    writes[0]!.end()
    await settle()
    const again = disk.write(E1, 'three')
    writes[2]!.end()
    t.equal(await again, true)
    t.notOk(disk.isFailing)
    t.strictSame(
      writes.map(({ name }) => name),
      ['record-e1', 'record-e2', 'record-e1'],
    )
  },
)

t.test('two hung reads of one file are two', async t => {
  const folder = t.testdir()
  const fifo = join(folder, 'record-e1')
  execFileSync('mkfifo', [fifo])
  const held = openSync(fifo, constants.O_RDWR)
  const { clock, writes, disk } = openDisk(folder)
  const texts: (string | undefined)[] = []
  for (let i = 0; i < 2; i++) void disk.read(E1).then(text => texts.push(text))
  const waiting = disk.write(E2, 'one')
  await settle()
  await clock.advance(5_000)
  t.strictSame([texts, await waiting, writes.length], [[undefined, undefined], false, 0])
  t.ok(existsSync(fifo))
  // Those that wait for bytes get none, and one that has yet to open it finds nothing: all end, or the process would not.
  rmSync(fifo)
  closeSync(held)
})

t.test('an edge is sent its objects although the disk hangs', async t => {
  const stage = new Stage(t)
  const log = recordingLog()
  const disk = new RecordDisk(t.testdir(), {
    ...{ clock: stage.clock, log },
    replace: () => new Promise(() => undefined),
  })
  await stage.start({ disk })
  const edge = stage.edge('e1')
  stage.cluster.put(PODS, podBody('a', 'e1'))
  while (!Object.hasOwn(edge.view.pods, 'till/pod/a') && stage.clock.now() < 600_000) {
    await stage.clock.advance(1_000)
    // Reads of the disk are real ones.
    await new Promise(resolve => setTimeout(resolve, 1))
  }
  t.strictSame(Object.keys(edge.view.pods), ['till/pod/a'])
  t.match(stage.bridge!.downstream.status, { record: { isDiskFailing: true } })
})

t.test('what could not be written to the disk is not read from it after a restart', async t => {
  const stage = new Stage(t)
  const disk = new MemoryDisk()
  const first = await stage.start({ disk })
  const edge = stage.edge('e1')
  stage.cluster.put(PODS, podBody('a', 'e1'))
  await stage.clock.advance(10_000)
  disk.isFailing = true
  stage.cluster.put(PODS, podBody('b', 'e1'))
  await stage.clock.advance(10_000)
  const { metadata } = stage.cluster.get(MAPS, {
    namespace: 'edge-system',
    name: 'bridge-record-e1',
  })!
  const { annotations } = metadata as unknown as { annotations: JsonMap }
  t.not(annotations[WRITER_ANNOTATION], disk.files.get('writer'))
  await first.stop(false)
  stage.cluster.delete(PODS, { namespace: 'till', name: 'b' })
  await stage.start({ disk })
  await stage.clock.advance(60_000)
  t.strictSame(Object.keys(edge.view.pods), ['till/pod/a'], 'the edge is told that b is gone')
  disk.isFailing = false
  stage.cluster.put(PODS, podBody('c', 'e1'))
  await stage.clock.advance(10_000)
  t.match(stage.cluster.get(MAPS, { namespace: 'edge-system', name: 'bridge-record-e1' }), {
    metadata: { annotations: { [WRITER_ANNOTATION]: disk.files.get('writer') } },
  })
})
