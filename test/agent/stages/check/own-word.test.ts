// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { RememberedWord, type OwnWord } from '../../../../agent/stages/check/own-word.js'
import type { StateName } from '../../../../agent/state-folder.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { memoryFolder } from '../../../../testkit/zone/memory-folder.js'

const nothing: OwnWord = {
  cloudLink: { state: 'unknown', since: 0, trouble: undefined },
  kubelet: 'unknown',
}
const up: OwnWord = { ...nothing, cloudLink: { state: 'up', since: 0, trouble: undefined } }
const cutAt = (since: number): OwnWord['cloudLink'] => ({ state: 'cut', since, trouble: 'no way' })

/** An agent that is started when both clocks show this. */
const start = (files: Map<StateName, string>, at: { now: number; wall: number }) => {
  const clock = new FakeClock(at.now, at.wall)
  const log = recordingLog()
  let writes = 0
  const folder = memoryFolder(files)
  const word = new RememberedWord({
    ...{ clock, log },
    folder: {
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
  const again = start(files, { now: 7_000, wall: 1_020_000 })
  const word = await again.word.recall(nothing)
  t.match(word, { kubelet: 'bad', cloudLink: { state: 'cut', since: 7_000 - 30_000 } })
  t.match(again.log.lines, [{ level: 'info', fields: { state: 'cut, kubelet bad' } }])
  again.word.keep(word)
  t.equal(again.writes(), 0, 'it is on disk already')
  again.word.keep({ ...word, kubelet: 'well' })
  again.word.keep({ ...up, kubelet: 'well' })
  t.equal(again.writes(), 2)
  const third = start(files, { now: 0, wall: 1_030_000 })
  t.strictSame(await third.word.recall(nothing), { ...nothing, kubelet: 'well' })
})

t.test('no cut began in the future, or before 1970', async t => {
  const files = new Map<StateName, string>()
  const first = start(files, { now: 90_000, wall: 5_000 })
  await first.word.recall(nothing)
  first.word.keep({ cloudLink: cutAt(1_000), kubelet: 'well' })
  t.strictSame(JSON.parse(files.get('own-node.json')!), { version: 1, cutAt: 0, kubelet: 'well' })
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
