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
  /** How old what a node knows of the others is: milliseconds, rounded up to quarters of a second. */
  readonly age: { readonly p50: number; readonly p99: number; readonly max: number }
  /** Anything written at all. */
  readonly wrong: number
}

const WARM_MS = 60_000
/** How often ages are looked at. */
const LOOK_MS = 7_000
const STEP_MS = 250
/** All ages from there on count as this one. */
const STEPS = 480

/** Counts ages: a zone of a thousand has a million at each look. */
class AgeCounts {
  readonly #counts = new Float64Array(STEPS + 1)

  look(zone: CoreZone): void {
    const now = zone.clock.now()
    for (const n of zone.live) {
      const { producedAt, self } = zone.agents[n]!.state.table
      producedAt.forEach((at, index) => {
        const step = Math.min(STEPS, Math.ceil((now - at) / STEP_MS))
        if (index !== self) this.#counts[step]!++
      })
    }
  }

  /** The age that this share of them does not exceed; Infinity beyond what is counted. */
  atMost(share: number): number {
    const wanted = share * this.#counts.reduce((sum, count) => sum + count, 0)
    let sum = 0
    for (let step = 0; step < STEPS; step++) {
      sum += this.#counts[step]!
      if (sum >= wanted) return step * STEP_MS
    }
    return Infinity
  }
}

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
  const ages = new AgeCounts()
  const end = zone.clock.now() + minutes * 60_000
  while (zone.clock.now() < end) {
    await zone.clock.advance(Math.min(LOOK_MS, end - zone.clock.now()))
    ages.look(zone)
  }
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
    age: { p50: ages.atMost(0.5), p99: ages.atMost(0.99), max: ages.atMost(1) },
    wrong: zone.writes.length,
  }
}
