// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { NodeView } from '../../core/node.js'
import type { KubeApi } from '../../kube/api.js'
import { PEER_HEALTH, type Wish } from '../../vote/plan.js'
import { vouchEndedEvent, type EventWords } from '../../vote/reason.js'
import type { VouchEnd } from '../../vote/vouch.js'
import { resultOf, type Record } from './node-writer.js'

interface TellerSeams {
  readonly kube: KubeApi
  readonly log: Logger
  readonly record: Record
  readonly signal: AbortSignal
}

/** Tells the cluster in words what was written and why. */
export interface EventTeller {
  tell(node: Pick<NodeView, 'name' | 'uid'>, event: EventWords): Promise<void>
  /** Vouching for the node ended; the Event follows with the write that takes its marks off. */
  vouchEnded(node: string, why: VouchEnd): void
  /** To be called after a write that brought `node` to `wish`; `before` is what it looked like. */
  tellVouchEnd(node: NodeView, before: NodeView, wish: Wish): Promise<void>
}

/** An Event is a courtesy: one that cannot be written is recorded, not repeated. */
export const makeEventTeller = (reportingInstance: string, seams: TellerSeams): EventTeller => {
  const { kube, log, record, signal } = seams
  const ends = new Map<string, VouchEnd>()
  const tell: EventTeller['tell'] = async ({ name, uid }, event) => {
    const { reason: what } = event
    log.info('told the cluster', { node: name, reason: what, note: event.note })
    try {
      await kube.createEvent({ ...event, node: name, nodeUid: uid, reportingInstance }, signal)
      record({ node: name, kind: 'event', what, result: 'done', trouble: '' })
    } catch (error) {
      record({ node: name, kind: 'event', what, result: resultOf(error), trouble: reasonOf(error) })
    }
  }
  return {
    tell,
    vouchEnded: (node, why) => ends.set(node, why),
    tellVouchEnd: async (node, before, wish) => {
      const why = ends.get(node.name)
      const last = before.conditions.find(condition => condition.type === PEER_HEALTH)
      if (wish === 'vouched' || why === undefined || last?.reason !== 'CloudLinkCut') return
      ends.delete(node.name)
      await tell(node, vouchEndedEvent(why))
    },
  }
}
