// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { numberOf } from '../../testkit/properties.js'
import { shareOf } from '../../testkit/share.js'
import { describe, playSeeds, shrink } from './run.js'
import { tableOf, tooFew } from './table.js'

/** `.ci/run` plays these and those that follow. */
const SEQUENCES = 60
const FEW = 6
/** In fewer the rarest acts and guards may not come at all. */
const VARIED = 150

/** `FC_SEED` is the first sequence's seed and `FC_RUNS` how many follow: with 1, a printed one is played again. */
const first = numberOf('FC_SEED') ?? 1
const count = numberOf('FC_RUNS') ?? shareOf(t, SEQUENCES, FEW, 'attacks')

/** A minute of computing: a busy machine takes long for it. */
const PATIENCE_MS = 1_800_000
t.setTimeout(PATIENCE_MS)

t.test(
  `${count} attacks from seed ${first}: what must never happen does not, what must does`,
  { timeout: PATIENCE_MS },
  async t => {
    const report = await playSeeds(Array.from({ length: count }, (_, place) => first + place))
    const smallest: string[] = []
    for (const failure of report.failures) smallest.push(describe(await shrink(...failure)))
    t.comment(tableOf(report))
    t.strictSame(smallest, [])
    if (count >= VARIED)
      t.strictSame(tooFew(report), [], 'every act and every guard came often enough')
  },
)
