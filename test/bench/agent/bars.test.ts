// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { barRows, isFailed, type Judged } from '../../../bench/agent/bars.js'
import type { Identity } from '../../../bench/agent/belief.js'
import type { LinkTraffic } from '../../../bench/agent/link.js'
import { drawTable } from '../../../bench/wrapper/table.js'

const DAY_S = 86_400
/** A run that is long enough for all bars. */
const LONG = { profile: 'default', identity: 'prefer', minutes: 12 } as const

const linkOf = (zoneBytesPerSecond: number, cloudMegabytes: number): LinkTraffic => {
  const sent = { direction: 'sent', kind: 'request', packets: 1 } as const
  const bytes = (zoneBytesPerSecond * DAY_S) / 2
  return {
    seconds: DAY_S,
    entries: [
      { ...sent, end: 'peers', bytes },
      { ...sent, end: 'kubelets', bytes },
      { ...sent, end: 'apiserver', direction: 'received', bytes: cloudMegabytes * 1e6 },
    ],
  }
}

/** A run in which each figure is just so. */
const run = (
  nodes: number,
  [zone, cloud, cpuMsPerSecond, rssMiB, bodyBytesPerSecond]: readonly number[],
): Judged => ({
  ...{ nodes, cpuMsPerSecond: cpuMsPerSecond!, rssMiB: rssMiB! },
  ...{ bodyBytesPerSecond: bodyBytesPerSecond!, link: linkOf(zone!, cloud!) },
})

/** The bars: sent to the zone in B/s, cloud link in MB a day, CPU in ms/s, RSS in MiB, and bodies in B/s. */
const signed: [nodes: number, bars: readonly number[]][] = [
  [10, [900, 8, 5.5, 70, 120]],
  [100, [1_500, 14, 6.5, 70, 500]],
  [1_000, [4_500, 14, 9.5, 75, 2_900]],
]
const unsigned: [nodes: number, bars: readonly number[]][] = [
  [10, [900, 8, 5, 70]],
  [100, [1_500, 14, 6, 70]],
  [1_000, [4_500, 14, 8, 75]],
]
const WHAT = [/sent to peers and kubelets$/, /cloud link$/, /CPU$/, /RSS$/, /bodies of messages$/]
const isBytes = (figure: number): boolean => figure !== 2 && figure !== 3

const modes: [identity: Identity, table: typeof signed][] = [
  ['off', unsigned],
  ['prefer', signed],
  ['require', signed],
]
for (const [identity, table] of modes)
  for (const [nodes, bars] of table)
    t.test(`N=${nodes}, identity ${identity}: each bar alone`, async t => {
      const kept = barRows(run(nodes, bars), { ...LONG, identity })
      t.equal(kept.length, bars.length)
      t.ok(kept.every(({ isMet }) => isMet === true))
      t.notOk(isFailed(kept))
      bars.forEach((bar, figure) => {
        const values = bars.map((each, i) => (i === figure ? each * 1.001 : each))
        const rows = barRows(run(nodes, values), { ...LONG, identity })
        const missed = rows.filter(({ isMet }) => isMet === false)
        t.equal(missed.length, 1, `${bar}`)
        t.match(missed[0], { what: WHAT[figure] })
        t.equal(isFailed(rows), isBytes(figure), 'bytes alone make a run fail')
      })
    })

t.test('a figure stands beside its bar', async t => {
  const rows = barRows(run(10, [439.4, 9.64, 3.21, 70.04, 69.1]), LONG)
  t.strictSame(
    rows.map(({ what, bar, measured, isMet }) => [what, bar, measured, isMet]),
    [
      ['N=10, sent to peers and kubelets', '≤ 900 B/s', '439 B/s', true],
      ['N=10, cloud link', '≤ 8 MB a day', '9.6 MB a day', false],
      ['N=10, bodies of messages', '≤ 120 B/s', '69 B/s', true],
      ['N=10, CPU', '≤ 5.5 ms/s', '3.2 ms/s', true],
      ['N=10, RSS', '≤ 70 MiB', '70.0 MiB', false],
    ],
  )
})

t.test('other sizes and profiles have no bars', async t => {
  const much = [1e6, 1e6, 1e6, 1e6, 1e6]
  t.strictSame(barRows(run(300, much), LONG), [])
  t.strictSame(barRows(run(10, much), { ...LONG, profile: 'fast' }), [])
})

t.test('what was not counted at the interface is not judged', async t => {
  const rows = barRows({ ...run(10, [0, 0, 1, 1, 1]), link: undefined }, LONG)
  t.strictSame(
    rows.map(({ isMet }) => isMet),
    [undefined, undefined, true, true, true],
  )
  t.notOk(isFailed(rows))
})

t.test('the cloud link is not judged by a run of less than 12 minutes', async t => {
  const values = [900, 8.1, 5, 70, 120]
  const cloudOf = (minutes: number, more: Partial<Judged> = {}) => {
    const rows = barRows({ ...run(10, values), ...more }, { ...LONG, minutes })
    const line = drawTable(rows)
      .split('\n')
      .find(text => text.includes('cloud link'))
    const cells = line?.split('|').map(cell => cell.trim())
    return { isFailed: isFailed(rows), says: cells?.slice(3, 5) }
  }
  t.strictSame(cloudOf(12), { isFailed: true, says: ['8.1 MB a day', 'MISSED'] })
  const start = ['8.1 MB a day', 'start: 12 min wanted']
  t.strictSame(cloudOf(11.9), { isFailed: false, says: start })
  t.strictSame(cloudOf(5), { isFailed: false, says: start })
  t.strictSame(cloudOf(5, { link: undefined }), { isFailed: false, says: ['-', 'not measured'] })
  const zone = barRows(run(10, [901, ...values.slice(1)]), { ...LONG, minutes: 5 })
  t.ok(isFailed(zone), 'the other bars of bytes hold at any length')
})
