// SPDX-License-Identifier: Apache-2.0
import type { CoreZone } from '../../testkit/zone/core-zone.js'
import { until, zoneOf, type Cell } from './cell.js'

/** A tenth of a zone dies at once. */
export interface Burst {
  readonly dead: number
  /** Bodies of messages that one live node sends in a second: before, and in the 20 seconds from the deaths on. */
  readonly quietBytesPerSecond: number
  readonly bodyBytesPerSecond: number
  /** Milliseconds from the deaths until every live agent's local view shows all of them; undefined: not within the limit. */
  readonly seen: number | undefined
  /** The same until all of them are written. */
  readonly written: number | undefined
  /** Writes about a node that was not down. */
  readonly wrong: number
}

const WARM_MS = 60_000
const WINDOW_MS = 20_000
const NOTICE_MS = 40_000
const DEAD_SHARE = 0.1

const bodiesOf = (zone: CoreZone, nodes: readonly number[]): number =>
  nodes.reduce((sum, n) => sum + zone.agents[n]!.exchange.report!.bytesSent, 0)

/** Kill so many at one moment, spread over the zone. */
export const measureBurst = async (cell: Cell): Promise<Burst> => {
  const { size } = cell
  const zone = await zoneOf(cell, WARM_MS)
  const { clock } = zone
  const count = Math.max(1, Math.floor(DEAD_SHARE * size))
  const first = zone.makeRandom().below(size)
  const dead = Array.from({ length: count }, (_, i) => (first + Math.floor((i * size) / count)) % size) // prettier-ignore
  const living = zone.live.filter(n => !dead.includes(n))
  const perSecond = (bytes: number): number => bytes / (WINDOW_MS / 1_000) / living.length

  const start = bodiesOf(zone, living)
  await clock.advance(WINDOW_MS)
  const diedAt = clock.now()
  const atDeath = bodiesOf(zone, living)
  let wrong = 0
  let written: number | undefined
  const marked = new Set<number>()
  zone.watcher = {
    wrote: ({ node, isDead }) => {
      if (!isDead) return
      if (!dead.includes(node)) wrong++
      else if (marked.add(node).size === count) written ??= clock.now() - diedAt
    },
  }
  for (const n of dead) zone.crash(n)
  const isSeen = (): boolean => living.every(by => dead.every(n => zone.isDownFrom(by, n)))
  const isInTime = await until(zone, isSeen, WINDOW_MS)
  const seen = isInTime ? clock.now() - diedAt : undefined
  await clock.advance(diedAt + WINDOW_MS - clock.now())
  const bytes = bodiesOf(zone, living) - atDeath
  await until(zone, () => written !== undefined, NOTICE_MS - WINDOW_MS)
  await zone.stop()
  return {
    ...{ dead: count, seen, written, wrong },
    quietBytesPerSecond: perSecond(atDeath - start),
    bodyBytesPerSecond: perSecond(bytes),
  }
}
