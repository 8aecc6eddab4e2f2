// SPDX-License-Identifier: Apache-2.0
import { memberOf } from '../../testkit/zone/core-agent.js'
import type { CoreZone } from '../../testkit/zone/core-zone.js'
import { bodyBytesOf, zoneOf, type Cell } from './cell.js'

/** What a zone costs in which nothing happens, and what it imagines. Per node. */
export interface Quiet {
  /** Sent, with HTTP, TCP and IP, without probes. */
  readonly wireBytesPerSecond: number
  /** The bodies alone, as encoded. */
  readonly bodyBytesPerSecond: number
  /** Attempts that went out on the wire. */
  readonly probesPerSecond: number
  readonly hours: number
  readonly falseDownsPerPairHour: number
  readonly falseVerdictsPerNodeHour: number
  /** Anything written at all. */
  readonly wrong: number
}

const WARM_MS = 60_000

const sentBy = (zone: CoreZone): { wire: number; body: number } => ({
  wire: zone.live.reduce((sum, n) => sum + zone.network.sentBy(memberOf(n).address).bytes, 0),
  body: bodyBytesOf(zone),
})

/** Watch a healthy zone for so long. */
export const measureQuiet = async (cell: Cell, minutes: number): Promise<Quiet> => {
  const zone = await zoneOf(cell, WARM_MS)
  const { size } = cell
  let falls = 0
  let verdicts = 0
  const before = sentBy(zone)
  const probesBefore = zone.network.probes
  zone.watcher = {
    vote: (_, { judgement: j }, changes) => {
      for (const index of changes.local) falls += 1 - j.localUp[index]!
      for (const index of changes.verdict) if (j.verdict[index] === 2) verdicts++
    },
  }
  await zone.clock.advance(minutes * 60_000)
  zone.watcher = {}
  const after = sentBy(zone)
  const seconds = minutes * 60
  const hours = minutes / 60
  await zone.stop()
  return {
    wireBytesPerSecond: (after.wire - before.wire) / seconds / size,
    bodyBytesPerSecond: (after.body - before.body) / seconds / size,
    probesPerSecond: (zone.network.probes - probesBefore) / seconds / size,
    hours,
    falseDownsPerPairHour: falls / hours / (size * (size - 1)),
    falseVerdictsPerNodeHour: verdicts / hours / size,
    wrong: zone.writes.length,
  }
}
