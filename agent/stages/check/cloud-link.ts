// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../../../core/clock.js'
import { isAnsweredByCloud, KubeStatusError, reasonOf } from '../../../core/errors.js'
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
}

type CloudLinkOptions = Pick<
  AgentOptions,
  'cloudCheckPeriodMs' | 'cloudCheckTimeoutMs' | 'cloudCheckFailures'
>

/** What is asked of the apiserver. Each rejects unless it was answered as asked. */
interface Questions {
  readonly ping: (signal: AbortSignal) => Promise<void>
  /** Something that only a served Lease of the own node brings about. */
  readonly askLease: (signal: AbortSignal) => Promise<unknown>
}

/** Whether the apiserver serves the Lease, or refuses it by its own word. */
const isServed = async (askLease: Questions['askLease'], signal: AbortSignal): Promise<boolean> => {
  try {
    await askLease(signal)
    return true
  } catch (error) {
    return isAnsweredByCloud(error)
  }
}

/**
 * Makes one round trip at each call. An apiserver that says it is unwell may serve all the same, and what is on the way may
 * keep `/livez` to itself: then the node's own Lease decides, which is what the node's kubelet needs of it. It is asked for
 * at the check's own pace: neither earlier answers nor those to other requests say whether it is served now. Rejects with
 * what was said first.
 */
export const makeApiCheck =
  ({ ping, askLease }: Questions): ((signal: AbortSignal) => Promise<void>) =>
  async signal => {
    try {
      await ping(signal)
    } catch (error) {
      if (!(error instanceof KubeStatusError) || !(await isServed(askLease, signal))) throw error
    }
  }

/**
 * Ask the apiserver for a sign of life all the time. One answer is enough for `up`; `cut` takes
 * `cloudCheckFailures` failures in a row, so that one lost packet starts no vouching.
 */
export const watchCloudLink = (options: CloudLinkOptions, seams: CloudLinkSeams): CloudLink => {
  const { clock, random, log } = seams
  const stopping = new AbortController()
  let current: CloudLinkState = { state: 'unknown', since: clock.now(), trouble: undefined }
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
