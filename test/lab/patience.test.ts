// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { waitFor } from './patience.js'
import { FairTime } from './slowness.js'

/** A machine on which all takes `factor` times as long; `states` are seen second by second, the last one for ever. */
const play = async (factor: number, states: readonly (string | undefined)[]) => {
  const left = [...states]
  let now = 0
  const time = new FairTime(() => ({ tookMs: 10 * factor, gotMs: 10 }))
  const look = async () => (left.length > 1 ? left.shift() : left[0])
  const pause = async (): Promise<void> => void (now += 1_000)
  const awaited = { what: 'all are well', limitMs: 10_000, look }
  const signal = new AbortController().signal
  await waitFor(awaited, signal, { now: () => now, time, pause })
  return now
}

t.test('it ends when it is so', async t => {
  t.equal(await play(1, [undefined]), 0)
  t.equal(await play(1, ['n1 is dead', 'n1 is dead', undefined]), 2_000)
})

t.test('in vain: for what, for how long, and what was seen last', async t => {
  await t.rejects(play(1, ['n1 is dead', 'n2 is dead']), {
    message: 'waited 11 s in vain for: all are well; seen last: n2 is dead',
  })
})

t.test('a busy machine is given longer, and that is shown', async t => {
  t.equal(await play(2, [...Array.from({ length: 18 }, () => 'n1 is dead'), undefined]), 18_000)
  await t.rejects(play(2, ['n1 is dead']), {
    message:
      /^waited 2\d s in vain for: .*; seen last: n1 is dead; a busy machine: .* up to 2\.0 times/,
  })
})

t.test('who is aborted stops', async t => {
  const awaited = { what: 'x', limitMs: 1_000, look: async () => 'no' }
  await t.rejects(waitFor(awaited, AbortSignal.abort(new Error('stopped'))), /stopped/)
})
