// SPDX-License-Identifier: Apache-2.0
import { networkInterfaces } from 'node:os'
import { canonicalAddress } from '../../core/address.js'
import type { Clock } from '../../core/clock.js'
import { isLoopback } from '../../core/loopback.js'

/** What was read is used again for this long. */
const FRESH_MS = 10_000

/** A connection to these ends on the own machine, too. */
const UNSPECIFIED = ['0.0.0.0', '::']

/**
 * Whether a connection to this address would end on our own machine: loopback, and the addresses of all its interfaces,
 * those of bridges and dummies among them, which other machines may have as well.
 * @param interfaces for tests. @default the machine's
 */
export const makeOwnAddresses = (
  clock: Clock,
  interfaces: typeof networkInterfaces = networkInterfaces,
): ((address: string) => boolean) => {
  let known: ReadonlySet<string | undefined> = new Set()
  let readAt = -Infinity
  return address => {
    if (isLoopback(address) || UNSPECIFIED.includes(address)) return true
    if (clock.now() - readAt >= FRESH_MS) {
      readAt = clock.now()
      const all = Object.values(interfaces()).flatMap(each => each ?? [])
      known = new Set(all.map(each => canonicalAddress(each.address)))
    }
    return known.has(address)
  }
}
