// SPDX-License-Identifier: Apache-2.0
import type { CoreZone } from '../../testkit/zone/core-zone.js'
import { until, zoneOf, type Cell } from './cell.js'

/** One cut through the zone, and its end. Milliseconds; Infinity for what did not come. */
export interface PartitionRun {
  /** Until 99 % of all views across the cut are down, at the smaller and at the larger side. */
  readonly hidden: readonly [number, number]
  /** Until the majority's first write, and how much of the other side it wrote in the end. */
  readonly firstWrite: number
  readonly writtenShare: number
  /** Writes by a minority, or about a node of the writer's own side. */
  readonly wrong: number
  /** Views of nodes of the own side that were down, as a share of pairs and time. */
  readonly ownSideHidden: number
  /** After the cut ended: until all views are up. */
  readonly clean: number
}

const WARM_MS = 30_000
const CUT_MS = 45_000
const CLEAN_MS = 60_000
const ENOUGH = 0.99
const STEP_MS = 500

/** How many views of `from` upon `to` are down. */
const downViews = (zone: CoreZone, from: readonly number[], to: ReadonlySet<number>): number => {
  let count = 0
  for (const n of from) for (const node of zone.downFrom(n)) if (to.has(node)) count++
  return count
}

/** Cut off the first `share` of a shuffled zone. */
export const measurePartition = async (cell: Cell, share: number): Promise<PartitionRun> => {
  const zone = await zoneOf(cell, WARM_MS)
  const { size } = cell
  const few = Math.max(1, Math.round(share * size))
  const random = zone.makeRandom()
  const order = Array.from({ length: size }, (_, n) => n)
  for (let i = size - 1; i > 0; i--) {
    const j = random.below(i + 1)
    ;[order[i], order[j]] = [order[j]!, order[i]!]
  }
  const sides = [order.slice(0, few), order.slice(few)] as const
  const sets = sides.map(side => new Set(side)) as [Set<number>, Set<number>]
  await zone.clock.advance(random.below(10_000))
  const cutAt = zone.clock.now()
  let wrong = zone.writes.length
  let firstWrite = Infinity
  const written = new Set<number>()
  zone.watcher = {
    wrote: ({ by, node, isDead, at }) => {
      const side = sets[0].has(by) ? 0 : 1
      if (2 * sets[side].size <= size || (isDead && sets[side].has(node))) wrong++
      if (!isDead) return
      firstWrite = Math.min(firstWrite, at - cutAt)
      written.add(node)
    },
  }
  zone.partition(...sides)
  const hidden: [number, number] = [Infinity, Infinity]
  const pairs = few * (size - few)
  let own = 0
  for (let ms = STEP_MS; ms <= CUT_MS; ms += STEP_MS) {
    await zone.clock.advance(STEP_MS)
    for (const side of [0, 1] as const) {
      const isOpen = hidden[side] === Infinity
      if (isOpen && downViews(zone, sides[side], sets[1 - side]!) >= ENOUGH * pairs)
        hidden[side] = ms
      own += downViews(zone, sides[side], sets[side])
    }
  }
  zone.watcher = {
    wrote: ({ isDead }) => {
      if (isDead) wrong++
    },
  }
  zone.network.healAll()
  const healedAt = zone.clock.now()
  const isClean = (): boolean => zone.live.every(n => zone.downFrom(n).length === 0)
  const clean = (await until(zone, isClean, CLEAN_MS)) ? zone.clock.now() - healedAt : Infinity
  await zone.stop()
  const ownPairs = few * (few - 1) + (size - few) * (size - few - 1)
  const ownSideHidden = (own * STEP_MS) / CUT_MS / ownPairs
  return { hidden, firstWrite, writtenShare: written.size / few, wrong, ownSideHidden, clean }
}
