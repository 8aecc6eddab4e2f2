// SPDX-License-Identifier: Apache-2.0
import { CoreZone } from '../../testkit/zone/core-zone.js'

export const IDENTITIES = ['off', 'prefer', 'require'] as const
export type Identity = (typeof IDENTITIES)[number]

/** One cell of a table: a zone of this size on links that lose so much. */
export interface Cell {
  readonly size: number
  /** Share of packets. */
  readonly loss: number
  readonly profile: 'default' | 'fast'
  readonly seed: number
  /** With `prefer` and `require` all nodes have keys of their own. */
  readonly identity: Identity
  readonly flags: readonly string[]
}

/** One way, so that a round trip takes 10 to 20 ms. */
const LATENCY_MS = 5
const JITTER_MS = 5

/** All agents boot within a moment and have time to find each other. */
export const zoneOf = async (cell: Cell, warmMs: number): Promise<CoreZone> => {
  const { size, identity, flags } = cell
  const zone = new CoreZone(size, {
    ...{ ...cell, latencyMs: LATENCY_MS, jitterMs: JITTER_MS },
    flags: [`--identity=${identity}`, ...flags],
    hasIdentities: identity !== 'off',
  })
  zone.bootAll()
  await zone.clock.advance(warmMs)
  return zone
}

/** The bodies of all messages that the live agents sent, as encoded. */
export const bodyBytesOf = (zone: CoreZone): number =>
  zone.live.reduce((sum, n) => sum + zone.agents[n]!.exchange.report!.bytesSent, 0)

/** Let time pass in steps until it is so. @returns whether it was within the limit. */
export const until = async (
  zone: CoreZone,
  isSo: () => boolean,
  limitMs: number,
): Promise<boolean> => {
  for (let ms = 0; ms < limitMs; ms += STEP_MS) {
    if (isSo()) return true
    await zone.clock.advance(STEP_MS)
  }
  return isSo()
}

const STEP_MS = 100
