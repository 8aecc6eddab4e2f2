// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { CloudLinkState } from '../../results.js'

export interface CloudLink {
  readonly current: CloudLinkState
  stop(): Promise<void>
}

interface CloudLinkSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** One round trip; rejects when the apiserver does not answer. */
  readonly ping: (signal: AbortSignal) => Promise<void>
  readonly onChange: (state: CloudLinkState) => void
  /** What was known before a restart or a suspension. @default nothing */
  readonly before?: CloudLinkState | undefined
}

type CloudLinkOptions = Pick<
  AgentOptions,
  'cloudCheckPeriodMs' | 'cloudCheckTimeoutMs' | 'cloudCheckFailures'
>

/** The requests to the apiserver. Each rejects unless it got the expected answer. */
interface Questions {
  readonly clock: Clock
  /** The Lease is asked for, too, when `/livez` takes longer than this. */
  readonly slowMs: number
  readonly ping: (signal: AbortSignal) => Promise<void>
  /** Something that only an apiserver that serves the own node's Lease answers. */
  readonly askLease: (signal: AbortSignal) => Promise<void>
  /** The next question goes over a new connection. */
  readonly reconnect: () => void
}

const isFulfilled = (work: Promise<void>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  )

/**
 * Asks at each call. An apiserver that reports itself unwell, or is slow to answer, may still serve, and a proxy on the way
 * may not let `/livez` through. Then the node's own Lease decides, since the node's kubelet needs that. Neither earlier
 * answers nor those to other requests tell whether the Lease is served now. Rejects with the error of `/livez`.
 */
export const makeApiCheck =
  ({ clock, slowMs, ping, askLease, reconnect }: Questions) =>
  async (outer: AbortSignal): Promise<void> => {
    const over = new AbortController()
    const signal = AbortSignal.any([outer, over.signal])
    const ended = new AbortController()
    const pinged = ping(signal).finally(() => ended.abort())
    const served = async (): Promise<void> => {
      await sleep(clock, slowMs, ended.signal)
      const isWell = ended.signal.aborted && (await isFulfilled(pinged))
      if (!isWell) await askLease(signal)
    }
    try {
      await Promise.any([pinged, served()])
    } catch {
      // Behind a load balancer this connection may lead to the one apiserver that is unwell.
      reconnect()
      await pinged
    } finally {
      over.abort(new Error('the other question was answered'))
    }
  }

/**
 * Ask the apiserver for a sign of life again and again. One answer is enough for `up`; `cut` takes
 * `cloudCheckFailures` failures in a row, so that one lost packet starts no vouching. A link that was cut before counts as
 * cut until the first answer: whoever does not know yet must not say that it works.
 */
export const watchCloudLink = (options: CloudLinkOptions, seams: CloudLinkSeams): CloudLink => {
  const { clock, random, log, before } = seams
  const stopping = new AbortController()
  let current: CloudLinkState =
    before?.state === 'cut' ? before : { state: 'unknown', since: clock.now(), trouble: undefined }
  let failures = 0
  let failingSince = 0

  const turn = (next: CloudLinkState): void => {
    const isChange = next.state !== current.state
    current = next
    if (!isChange) return
    log[next.state === 'cut' ? 'warn' : 'info'](`cloud link is ${next.state}`, {
      trouble: next.trouble,
    })
    seams.onChange(next)
  }
  const answered = (): void => {
    failures = 0
    if (current.state !== 'up') turn({ state: 'up', since: clock.now(), trouble: undefined })
  }
  const failed = (startedAt: number, error: unknown): void => {
    if (failures++ === 0) failingSince = startedAt
    if (failures < options.cloudCheckFailures) return
    const since = current.state === 'cut' ? current.since : failingSince
    turn({ state: 'cut', since, trouble: reasonOf(error) })
  }
  const check = async (): Promise<void> => {
    const startedAt = clock.now()
    try {
      await withTimeout(clock, options.cloudCheckTimeoutMs, stopping.signal, seams.ping)
      if (!stopping.signal.aborted) answered()
    } catch (error) {
      if (!stopping.signal.aborted) failed(startedAt, error)
    }
  }
  const loop = async (): Promise<void> => {
    do await check()
    while (await sleep(clock, jitter(random, options.cloudCheckPeriodMs, 0.1), stopping.signal))
  }
  const done = loop()
  return {
    get current() {
      return current
    },
    stop: () => {
      stopping.abort()
      return done
    },
  }
}
