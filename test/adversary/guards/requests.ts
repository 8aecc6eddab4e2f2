// SPDX-License-Identifier: Apache-2.0
import type { FactBook } from './facts.js'
import type { Note } from './words.js'

/** Of a Lease in this world. */
const LEASE_MS = 40_000
const ROUND_TRIP_MS = 200

/** How often somebody asks who is always refused, and who waits as long as he has to. */
const askedAtMost = (elapsedMs: number, retryAfterMs: number): number => {
  let count = 1
  let atMs = 0
  for (let waitMs = 500; ; waitMs = Math.min(30_000, 2 * waitMs)) {
    atMs += retryAfterMs + 0.7 * waitMs
    if (atMs > elapsedMs) return count
    count++
  }
}

/**
 * What docs/operations.md promises of an apiserver that refuses: each agent waits longer after each refusal, half a second
 * at first and half a minute in the end, a third less at the most, and never less than it is asked to; but the Lease of a
 * node that is vouched for is read once in good time, and then once in its duration. A new life, a link that turned, and
 * a clock that stepped, which looks like a suspension, begin anew.
 */
export const reviewRequests = (facts: FactBook, note: Note): void => {
  const { refusing, world, size } = facts.zone
  if (refusing === undefined) return
  const { since, retryAfterMs = 0, asked } = refusing
  for (const { name } of world.machines) {
    const own = asked.filter(({ by }) => by === name)
    if (own.length === 0) continue
    // What leaves together with the first cannot know of its refusal.
    const late = own.filter(({ at }) => at > own[0]!.at + ROUND_TRIP_MS).length
    const elapsedMs = facts.now - own[0]!.at
    const begun = 1 + facts.of(name).turnedAt.filter(at => at > since).length
    const vouched = facts.all.filter(
      ({ linkBadAt }) => linkBadAt > Math.max(facts.beganAt, since - LEASE_MS),
    ).length
    const most =
      begun * askedAtMost(elapsedMs, retryAfterMs) -
      1 +
      (begun - 1) * size +
      vouched * (1 + Math.ceil(elapsedMs / LEASE_MS))
    const found = `${late} requests of ${name} while it refuses, at most ${most}`
    note('patient', late > most ? found : undefined)
  }
}
