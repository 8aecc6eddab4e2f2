// SPDX-License-Identifier: Apache-2.0
import { systemClock, type Clock } from '../../core/clock.js'
import { silentLog, type Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import { listen, type Listener, type Listening, type ListenLimits } from '../../net/listen.js'
import type { Sources } from '../../net/sources.js'
import { seededRandom } from '../seeded-random.js'

/** Limits that a test does not meet unless it asks for smaller ones. */
export const LIMITS: ListenLimits = {
  total: 256,
  strangers: 256,
  perStranger: 256,
  perMember: 256,
  keepAliveForStrangers: true,
  headerBytes: 8 << 10,
  headerMs: 2_000,
  bodyMs: 10_000,
  bodyRule: 'whole',
  idleMs: 120_000,
  closeMs: 2_000,
}

/** Everybody is a stranger, told apart by address. */
export const ANYBODY: Sources = { keyOf: ({ address }) => address, isMember: () => false }

/** What a test may set of a listener's world. */
export interface OpenSeams {
  readonly clock?: Clock
  readonly log?: Logger
  readonly random?: Random
  readonly signal?: AbortSignal
  readonly onEvicted?: () => void
}

/** Open a listener on a free port of loopback, with limits that do not matter. */
export const openListener = (
  listening: Pick<Listening, 'handle'> &
    Partial<Omit<Listening, 'limits'>> & { readonly limits?: Partial<ListenLimits> },
  seams: OpenSeams = {},
): Promise<Listener> =>
  listen(
    {
      ...{ address: '127.0.0.1', port: 0, sources: ANYBODY },
      ...listening,
      limits: { ...LIMITS, ...listening.limits },
    },
    {
      clock: systemClock,
      random: seededRandom(1),
      log: silentLog,
      signal: new AbortController().signal,
      ...seams,
    },
  )
