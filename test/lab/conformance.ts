// SPDX-License-Identifier: Apache-2.0
// The conformance rows on a real apiserver and on the embedded one, side by side.
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { startApi } from '../../sandbox/api/server.js'
import { rows } from '../sandbox/conformance-rows.js'
import { runRow, type Judged } from '../support/conformance.js'
import type { ControlPlane } from './control-plane/control-plane.js'

/** Rows that the two servers answer differently for a reason: row → why. */
const reasons: Readonly<Record<string, string>> = {}

interface RowResult {
  readonly row: string
  readonly real: readonly string[]
  readonly embedded: readonly string[]
}

const isEqual = ({ real, embedded }: RowResult): boolean => real.length + embedded.length === 0

const runAll = async (judged: Omit<Judged, 'id'>, signal: AbortSignal): Promise<string[][]> => {
  const run = Date.now().toString(36)
  const results: string[][] = []
  for (const [index, row] of rows.entries()) {
    signal.throwIfAborted()
    results.push([...(await runRow({ ...judged, id: `t${run}${index}` }, row))])
  }
  return results
}

const versionOf = async (plane: ControlPlane, signal: AbortSignal): Promise<string> =>
  String((await plane.admin.get('/version', signal))['gitVersion'])

/**
 * Run every row against both.
 * @returns whether all rows hold on both, or differ for a reason that stands above.
 */
export const runConformance = async (
  plane: ControlPlane,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<boolean> => {
  const api = await startApi({ host: '127.0.0.1', port: 0, clock: systemClock, log: silentLog })
  try {
    const real = await runAll({ url: plane.url, token: plane.adminToken }, signal)
    const embedded = await runAll({ url: api.url, token: api.addClient('tester') }, signal)
    const results = rows.map(([row], i) => ({ row, real: real[i]!, embedded: embedded[i]! }))
    const different = results.filter(result => !isEqual(result))
    const unreasoned = different.filter(({ row }) => reasons[row] === undefined)
    for (const { row, ...servers } of different) {
      say(`${reasons[row] === undefined ? 'not ok' : 'differs'} ${row}`)
      if (reasons[row] !== undefined) say(`    because ${reasons[row]}`)
      for (const [name, list] of Object.entries(servers))
        for (const difference of list) say(`    ${name}: ${difference}`)
    }
    const stale = Object.keys(reasons).filter(row => !different.some(each => each.row === row))
    for (const row of stale) say(`not ok ${row}: a reason is given, and there is no difference`)
    const reasoned = different.length - unreasoned.length
    say(
      `${await versionOf(plane, signal)}: ${rows.length} rows, ${rows.length - different.length} equal, ` +
        `${reasoned} with a reasoned difference, ${unreasoned.length} without a reason`,
    )
    return unreasoned.length + stale.length === 0
  } finally {
    await api.stop()
  }
}
