// SPDX-License-Identifier: Apache-2.0
// What an edge, a disk or the apiserver can do again and again fills no log.
import t from 'tap'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import { frameOf } from '../../../bridge/model/message/frame.js'
import type { Message } from '../../../bridge/model/message/message.js'
import { routeUpstream } from '../../../bridge/model/route/upstream.js'
import { Sender, type SenderSeams } from '../../../bridge/run/downstream/sender.js'
import { RecordDisk } from '../../../bridge/run/recorder/record-disk.js'
import { Recorder } from '../../../bridge/run/recorder/recorder.js'
import { UpstreamCounters } from '../../../bridge/run/upstream/counters.js'
import { Upstream } from '../../../bridge/run/upstream/upstream.js'
import type { NodeName } from '../../../core/ids.js'
import { limitBugs } from '../../../core/rare-log.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { MemoryDisk } from './memory-stage.js'
import { said } from './upstream/upstream-stage.js'

const E1 = 'e1' as NodeName

const linkOf = (sent: Message[] = []): NodeLink => ({
  ...{ node: E1, remote: '10.0.0.1', since: 0, isBehind: false, isHeld: false },
  hold: () => undefined,
  release: () => undefined,
  send: message => sent.push(message) > 0,
})

t.test('a disk that fails on and off is logged once a minute', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  let isBroken = false
  const replace = () => (isBroken ? Promise.reject(new Error('EIO')) : Promise.resolve())
  const disk = new RecordDisk(t.testdir(), { clock, log, replace })
  const flap = async (times: number): Promise<void> => {
    for (let i = 0; i < times; i++)
      for (isBroken of [true, false]) t.not(await disk.write(E1, 'one'), isBroken)
  }
  await flap(50)
  t.equal(log.lines.length, 1)
  await clock.advance(60_000)
  await flap(1)
  t.match(log.lines, [{ level: 'error', fields: { error: 'EIO' } }, { fields: { suppressed: 49 } }])
  t.notOk(disk.isFailing, 'the status tells the present')
})

t.test(
  'requests that meet a bug are answered, and the program logs them once a minute',
  async t => {
    const clock = new FakeClock()
    const log = recordingLog()
    const executor = {
      execute: () => Promise.reject(new Error('a bug')),
      lateness: () => undefined,
      serverTime: () => undefined,
    }
    const limited = limitBugs(log, clock)
    const counters = new UpstreamCounters()
    const upstream = new Upstream({ clock, log: limited, executor, counters })
    const sent: Message[] = []
    const link = linkOf(sent)
    upstream.connected(link)
    const ask = async (): Promise<void> => {
      const message = said('query', 'shop/configmap/must')
      upstream.received(link, message, routeUpstream(message, E1), frameOf(message))
      await settle()
    }
    for (let i = 0; i < 10; i++) await ask()
    t.equal(sent.length, 10)
    t.equal(log.lines.length, 1)
    await clock.advance(60_000)
    await ask()
    t.match(log.lines[1], { message: 'bug: a request was not answered', fields: { suppressed: 9 } })
  },
)

t.test('a record that has no room is logged once a minute, however often it is stored', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const maps = {
    read: () => Promise.resolve(undefined),
    remove: () => Promise.resolve(),
    write: () => Promise.resolve(),
  }
  const syncs = { read: () => Promise.resolve(new Map()), write: () => Promise.resolve() }
  const disk = new MemoryDisk()
  disk.files.set(E1, 'no record')
  const recorder = new Recorder(
    { adoptsObjectSyncs: false, writesObjectSyncs: false },
    { ...{ clock, log, maps, syncs, disk }, random: seededRandom(1), fresh: 'aaaaaaaa' },
  )
  const { signal } = new AbortController()
  for (let i = 0; i < 10; i++) {
    await recorder.open(E1, signal)
    recorder.forget(E1)
  }
  t.match(log.lines, [{ message: 'a part of the record of an edge cannot be read' }])
  t.equal(log.lines.length, 1)
  const record = await recorder.open(E1, signal)
  for (let i = 0; i < 10; i++)
    await record.sending(
      Array.from({ length: 500 }, (_, j) => {
        const name = `${i}-${j}`.padEnd(250, 'x')
        return [
          `uid-${i}-${j}`,
          { type: 'configmap', namespace: 'shop', name, version: '7', print: '' },
        ]
      }),
    )
  t.match(log.lines.slice(1), [
    { message: 'an edge holds more objects than its record has room for' },
  ])
  t.equal(log.lines.length, 2)
  await recorder.stop(AbortSignal.abort())
})

t.test('records that cannot be read for an hour are logged once a minute', async t => {
  const clock = new FakeClock()
  const log = recordingLog()
  const term = new AbortController()
  const recorder = {
    open: () => Promise.reject(new Error('away')),
    forget: () => undefined,
    stop: () => Promise.resolve(),
  }
  const unused = {} as Pick<SenderSeams, 'client' | 'cluster'>
  const sender = new Sender(
    { ...unused, clock, log, random: seededRandom(1), recorder },
    term.signal,
  )
  sender.connected(linkOf())
  await clock.advance(3_600_000)
  t.ok(log.lines.length <= 61, `${log.lines.length} lines`)
  t.match(log.lines[1], { message: 'cannot read what an edge holds', fields: { error: 'away' } })
  term.abort()
})
