// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { RememberedWord, type OwnWord } from '../../../../agent/stages/check/own-word.js'
import type { StateName } from '../../../../agent/state-folder.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'

const TTL_MS = 60_000
const options = { recordTtlMs: TTL_MS, selfReportPeriodMs: 5_000 }

const nothing: OwnWord = {
  cloudLink: { state: 'unknown', since: 0, trouble: undefined },
  kubelet: 'unknown',
}
const up: OwnWord = { ...nothing, cloudLink: { state: 'up', since: 0, trouble: undefined } }
const cutAt = (since: number): OwnWord['cloudLink'] => ({ state: 'cut', since, trouble: 'no way' })

/** An agent that is started when both clocks show this. */
const start = (
  files: Map<StateName, string>,
  at: { now: number; wall: number },
  troubles?: ReadonlyMap<StateName, string>,
) => {
  const clock = new FakeClock(at.now, at.wall)
  const log = recordingLog()
  let writes = 0
  const folder = memoryFolder(files, troubles)
  const word = new RememberedWord(options, {
    ...{ clock, log },
    folder: {
      troubles: folder.troubles,
      read: name => folder.read(name),
      write: (name, text) => {
        writes++
        return folder.write(name, text)
      },
    },
  })
  return { word, log, clock, writes: () => writes }
}

t.test('what was told last is remembered, since when too', async t => {
  const files = new Map<StateName, string>()
  const first = start(files, { now: 50_000, wall: 1_000_000 })
  first.word.keep({ cloudLink: cutAt(40_000), kubelet: 'bad' })
  t.equal(files.size, 0, 'nothing replaces what has not been read yet')
  t.strictSame(await first.word.recall(nothing), nothing, 'there is nothing')
  first.word.keep(nothing)
  first.word.keep(up)
  t.equal(first.writes(), 0, 'a link that works is nothing to remember')
  first.word.keep({ cloudLink: cutAt(40_000), kubelet: 'bad' })
  first.word.keep({ cloudLink: cutAt(45_000), kubelet: 'bad' })
  t.equal(first.writes(), 1, 'written when it changes')
  first.word.keep({ cloudLink: cutAt(40_000), kubelet: 'well' })
  const again = start(files, { now: 7_000, wall: 1_020_000 })
  const word = await again.word.recall(nothing)
  t.match(word, { kubelet: 'well', cloudLink: { state: 'cut', since: 7_000 - 30_000 } })
  t.match(again.log.lines, [{ level: 'info', fields: { state: 'cut, kubelet well' } }])
  t.equal(again.writes(), 1, 'that it was told again')
  again.word.keep(word)
  t.equal(again.writes(), 1, 'it is on disk already')
  again.word.keep({ ...word, kubelet: 'unknown' })
  again.word.keep({ ...up, kubelet: 'well' })
  t.equal(again.writes(), 3)
  const third = start(files, { now: 0, wall: 1_030_000 })
  t.strictSame(await third.word.recall(nothing), { ...nothing, kubelet: 'well' })
})

t.test('no cut began in the future, or before 1970', async t => {
  const files = new Map<StateName, string>()
  const first = start(files, { now: 90_000, wall: 5_000 })
  await first.word.recall(nothing)
  first.word.keep({ cloudLink: cutAt(1_000), kubelet: 'well' })
  t.strictSame(JSON.parse(files.get('own-node.json')!), {
    ...{ version: 1, cutAt: 0, kubelet: 'well', starts: 0, badAt: 0, badWall: 0 },
  })
  files.set('own-node.json', '{"version":1,"cutAt":9000000,"kubelet":"well"}')
  const { cloudLink } = await start(files, { now: 500, wall: 1_000 }).word.recall(nothing)
  t.match(cloudLink, { state: 'cut', since: 500 })
})

t.test('what is broken is not used, and replaced by the next change', async t => {
  const rows = [
    '',
    'cut',
    'null',
    '{"version":2,"cutAt":null,"kubelet":"bad"}',
    '{"version":1,"kubelet":"bad"}',
    '{"version":1,"cutAt":"1","kubelet":"bad"}',
    '{"version":1,"cutAt":-1,"kubelet":"bad"}',
    '{"version":1,"cutAt":1e300,"kubelet":"bad"}',
    '{"version":1,"cutAt":null,"kubelet":"ill"}',
    '{"version":1,"cutAt":null,"kubelet":"bad","more":1}',
    '{"version":1,"cutAt":null,"kubelet":"bad","starts":-1}',
    '{"version":1,"cutAt":null,"kubelet":"bad","starts":0.5}',
  ]
  for (const text of rows) {
    const files = new Map<StateName, string>([['own-node.json', text]])
    const { word, log } = start(files, { now: 0, wall: 0 })
    t.strictSame(await word.recall(nothing), nothing, text)
    t.match(log.lines, [
      { level: 'warn', message: 'the last reported state of this node cannot be read from disk' },
    ])
    word.keep({ ...up, kubelet: 'well' })
    t.match(files.get('own-node.json'), /"well"/)
  }
})

const told: OwnWord = { cloudLink: cutAt(0), kubelet: 'well' }
const at = { now: 0, wall: 1_000 }

t.test('"well" is forgotten after two starts that did not see it, the cut is not', async t => {
  const files = new Map<StateName, string>()
  const first = start(files, at)
  await first.word.recall(nothing)
  first.word.keep(told)
  const kubelets: string[] = []
  for (let again = 0; again < 4; again++) {
    const word = await start(files, at).word.recall(nothing)
    kubelets.push(word.kubelet)
    t.equal(word.cloudLink.state, 'cut')
  }
  t.strictSame(kubelets, ['well', 'well', 'unknown', 'unknown'])
})

t.test('a start that saw it is not counted, nor those before', async t => {
  const files = new Map<StateName, string>([
    ['own-node.json', '{"version":1,"cutAt":null,"kubelet":"well","starts":1}'],
  ])
  const { word } = start(files, at)
  const told = await word.recall(nothing)
  t.equal(told.kubelet, 'well')
  word.saw('well')
  word.keep(told)
  for (const kubelet of ['well', 'well', 'unknown'])
    t.equal((await start(files, at).word.recall(nothing)).kubelet, kubelet)
})

t.test('suspensions count as starts do', async t => {
  const files = new Map<StateName, string>()
  const { word } = start(files, at)
  await word.recall(nothing)
  word.keep(told)
  t.strictSame(
    [told, told, told].map(was => word.beginAgain(was).kubelet),
    ['well', 'well', 'unknown'],
  )
  t.strictSame(word.beginAgain(nothing), nothing, 'there is nothing to forget')
  word.saw('well')
  t.strictSame(word.beginAgain(told), told)
  word.keep(told)
  const again = start(files, at).word
  t.equal((await again.recall(nothing)).kubelet, 'well')
  t.equal(again.beginAgain(told).kubelet, 'unknown', 'over a restart, too')
})

t.test(
  '"bad" is forgotten when nobody believes the last record, or when the machine was started',
  async t => {
    const files = new Map<StateName, string>()
    const bad: OwnWord = { ...up, kubelet: 'bad' }
    const first = start(files, { now: 500_000, wall: 1_000 })
    await first.word.recall(nothing)
    first.word.saw('bad')
    first.word.keep(bad)
    for (let seconds = 0; seconds < 61; seconds++) {
      await first.clock.advance(1_000)
      first.word.saw('bad')
      first.word.keep(bad)
    }
    t.equal(first.writes(), 3, 'it is written twice in that time while it lasts')
    for (const [seenAgo, kubelet] of [
      [0, 'bad'],
      [TTL_MS - 1, 'bad'],
      [TTL_MS, 'unknown'],
      [3_600_000, 'unknown'],
      [-1, 'unknown'],
      [-600_000, 'unknown'],
    ] as const) {
      // The time of day may have been set.
      const { word } = start(files, { now: 560_000 + seenAgo, wall: 30_000 })
      const starts = [await word.recall(nothing), word.beginAgain(bad), word.beginAgain(bad)]
      t.strictSame(
        starts.map(word => word.kubelet),
        [kubelet, kubelet, kubelet],
        `${seenAgo} ms ago`,
      )
    }
    const nextBoot = start(files, { now: 560_000, wall: 3_600_000 }).word
    t.equal((await nextBoot.recall(nothing)).kubelet, 'unknown', 'at the same time of a later boot')
    t.equal(first.word.beginAgain(bad).kubelet, 'bad')
    await first.clock.advance(TTL_MS)
    t.equal(first.word.beginAgain(bad).kubelet, 'unknown', 'after a long suspension')
  },
)

t.test(
  'a disk that does not count has "well" told of nobody, and a slow one does not hold up',
  async t => {
    const text = (kubelet: string) => JSON.stringify({ version: 1, cutAt: 500, kubelet, badAt: 0 })
    const troubles = new Map<StateName, string>([['own-node.json', 'the disk takes no more']])
    for (const [kubelet, is] of [
      ['well', 'unknown'],
      ['bad', 'bad'],
    ] as const) {
      const files = new Map<StateName, string>([['own-node.json', text(kubelet)]])
      const told = await start(files, at, troubles).word.recall(nothing)
      t.match(told, { kubelet: is, cloudLink: { state: 'cut' } })
    }
    const clock = new FakeClock(0)
    const never = new Promise<void>(() => undefined)
    const word = new RememberedWord(options, {
      ...{ clock, log: recordingLog() },
      folder: { troubles: new Map(), read: async () => text('well'), write: () => never },
    })
    const told = word.recall(nothing)
    await clock.advance(500)
    t.match(await told, { kubelet: 'unknown', cloudLink: { state: 'cut' } })
    t.equal(clock.waiting, 0)
  },
)

t.test('"bad" is told from one question to the next, however seldom they are', async t => {
  const clock = new FakeClock(0)
  const files = new Map<StateName, string>()
  const word = new RememberedWord(
    { recordTtlMs: 10_000, selfReportPeriodMs: 60_000 },
    { clock, log: recordingLog(), folder: memoryFolder(files) },
  )
  await word.recall(nothing)
  word.saw('bad')
  await clock.advance(119_999)
  t.equal(word.beginAgain({ ...up, kubelet: 'bad' }).kubelet, 'bad')
  await clock.advance(1)
  t.equal(word.beginAgain({ ...up, kubelet: 'bad' }).kubelet, 'unknown')
})
