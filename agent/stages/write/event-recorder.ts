// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { NodeView } from '../../../core/node.js'
import { keepOnly } from '../../keep-only.js'
import type { KubeApi, NodeEvent } from '../../ports/kube-api.js'
import { carriesCutMarks, type DesiredMarks } from '../../../plan/node-plan.js'
import { withLeftOut, vouchEndedEvent, type EventWords } from '../../../plan/events.js'
import type { VouchEnd } from '../../../vote/vouch.js'
import { resultOf, type WriteRecorder } from './node-writer.js'
import type { RequestBackoff } from './request-backoff.js'

interface EventRecorderSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly log: Logger
  readonly record: WriteRecorder
  readonly signal: AbortSignal
  readonly backoff: RequestBackoff
}

/** Sends Events: what was written, and why. */
export interface EventRecorder {
  /** Never rejects. @returns whether the apiserver has it, or it was left out as one of too many about this node */
  send(
    node: Pick<NodeView, 'name' | 'uid'>,
    event: EventWords & Pick<NodeEvent, 'id'>,
  ): Promise<boolean>
  /** Vouching for the node ended; the Event follows with the write that takes its marks off. */
  vouchEnded(node: string, why: VouchEnd): void
  /** To be called after a write that brought `node` to `desired`; `before` is what it looked like. */
  sendVouchEnd(node: NodeView, before: NodeView, desired: DesiredMarks): Promise<void>
  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void
}

/** This many Events about one node may be sent at once, and then one in this time. */
const AT_ONCE = 10
const ONE_EACH_MS = 300_000

/** Events about one node: how many may be sent at `at`, and how many were left out since the last one. */
interface Allowance {
  tokens: number
  at: number
  leftOut: number
}

/** The apiserver has it from an earlier try, whose answer was lost. */
const isSentBefore = ({ id }: Pick<NodeEvent, 'id'>, error: unknown): boolean =>
  id !== undefined && error instanceof KubeStatusError && error.status === 409

/**
 * Events are best effort: one that cannot be written is recorded, not retried, and none is sent to an apiserver that
 * asked us to wait. Events that are left out are counted, and the next one says how many.
 */
export const makeEventRecorder = (
  reportingInstance: string,
  seams: EventRecorderSeams,
): EventRecorder => {
  const { kube, clock, log, record, signal, backoff } = seams
  const ends = new Map<string, VouchEnd>()
  const allowances = new Map<string, Allowance>()

  const allowanceOf = (node: string): Allowance => {
    const now = clock.now()
    const last = allowances.get(node) ?? { tokens: AT_ONCE, at: now, leftOut: 0 }
    const tokens = Math.min(AT_ONCE, last.tokens + (now - last.at) / ONE_EACH_MS)
    const next = { tokens, at: now, leftOut: last.leftOut }
    allowances.set(node, next)
    return next
  }
  const send: EventRecorder['send'] = async ({ name, uid }, { note: words, ...event }) => {
    const { reason: what } = event
    const allowance = allowanceOf(name)
    log.info('Event', { member: name, reason: what, note: words })
    if (allowance.tokens < 1 || backoff.readyAt() > clock.now()) {
      allowance.leftOut++
      return allowance.tokens < 1
    }
    allowance.tokens--
    const note = withLeftOut(words, allowance.leftOut)
    allowance.leftOut = 0
    backoff.left()
    try {
      await kube.createEvent(
        { ...event, note, node: name, nodeUid: uid, reportingInstance },
        signal,
      )
      record({ node: name, kind: 'event', what, result: 'done', trouble: '' })
      return true
    } catch (error) {
      if (isSentBefore(event, error)) {
        record({ node: name, kind: 'event', what, result: 'done', trouble: '' })
        return true
      }
      allowanceOf(name).tokens++
      if (!signal.aborted) backoff.failed(error)
      record({ node: name, kind: 'event', what, result: resultOf(error), trouble: reasonOf(error) })
      return false
    }
  }
  return {
    send,
    vouchEnded: (node, why) => ends.set(node, why),
    sendVouchEnd: async (node, before, desired) => {
      const why = ends.get(node.name)
      if (desired === 'vouched' || why === undefined || !carriesCutMarks(before)) return
      ends.delete(node.name)
      await send(node, vouchEndedEvent(why))
    },
    keepOnly: isKept => {
      keepOnly(ends, isKept)
      keepOnly(allowances, isKept)
    },
  }
}
