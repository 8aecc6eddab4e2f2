// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { membersOnly, type ResultStore } from '../../store.js'
import type { TurnLoop } from '../../turn-loop.js'
import type { ShownStage } from '../stage.js'
import { configEvent } from './config-event.js'
import { makeEventRecorder, type EventRecorder } from './event-recorder.js'
import type { WriteRecorder } from './node-writer.js'
import { RequestBackoff } from './request-backoff.js'
import { statusOf } from './stage-status.js'
import { makeWriter, type Writer } from './writer.js'
import { ZoneEvents } from './zone-events.js'

interface WriteSeams {
  readonly kube: KubeApi
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly store: ResultStore
  readonly apiBackoff: ApiBackoff
  readonly turns: TurnLoop
}

/** The stage that brings the cluster to what the zone decided. */
export interface WriteStage
  extends
    ShownStage,
    Pick<
      Writer,
      'review' | 'isIdle' | 'nextWrite' | 'nodeOf' | 'taintBackoff' | 'heldUntil' | 'confinement'
    > {
  /** Several sites that are one zone by default, in words; undefined when nothing says so. */
  readonly zoneTrap: string | undefined
}

/** Each write is counted and logged, and the newest about each member is kept. */
const makeRecorder =
  ({ store, log, clock }: WriteSeams): WriteRecorder =>
  outcome => {
    const write = { ...outcome, at: clock.wall() }
    const { node, kind, what, result, trouble } = write
    store.write.emit(write)
    const level = result === 'done' ? 'info' : 'warn'
    if (kind !== 'lease' || result !== 'done')
      log[level]('write', { member: node, kind, what, result, trouble })
    if (kind === 'event') return
    const next = new Map(store.writes.current).set(node, write)
    store.writes.set(membersOnly(next, store.nodeList.current.roster))
  }

/** *Write*: verdicts → Nodes, Leases and Events of the API, where it is this agent's turn. */
export const makeWriteStage = (options: AgentOptions, seams: WriteSeams): WriteStage => {
  const { store, turns } = seams
  const writer = makeWriter(options, {
    ...seams,
    record: makeRecorder(seams),
    judge: () => turns.voteNow(),
    onNode: () => turns.ask('writes'),
  })
  const stopping = new AbortController()
  const { signal } = stopping
  const backoff = new RequestBackoff(seams)
  const record = makeRecorder(seams)
  // Two of them, so that a ConfigMap that is broken again and again leaves the brake its Events.
  const makeEvents = (): EventRecorder =>
    makeEventRecorder(options.nodeName, { ...seams, record, signal, backoff })
  const configEvents = makeEvents()
  const zoneEvents = new ZoneEvents(options, { ...seams, events: makeEvents(), backoff })
  store.configProblem.subscribe(problem => {
    const uid = store.nodeList.current.ownNode()?.uid ?? ''
    // It records the outcome and never rejects.
    void configEvents.send({ name: options.nodeName, uid }, configEvent(problem))
  })
  store.endedVouch.subscribe(({ node, why }) => writer.vouchEnded(node, why))
  store.records.subscribe(records =>
    store.writes.set(membersOnly(store.writes.current, records?.roster)),
  )
  return {
    get status() {
      return statusOf(writer.reviews, store, node => writer.isWanted(node))
    },
    start: () => Promise.resolve(),
    review: () => writer.review(),
    get isIdle() {
      return writer.isIdle
    },
    nextWrite: node => writer.nextWrite(node),
    nodeOf: node => writer.nodeOf(node),
    taintBackoff: node => writer.taintBackoff(node),
    heldUntil: node => writer.heldUntil(node),
    get zoneTrap() {
      return zoneEvents.trap
    },
    get confinement() {
      return writer.confinement
    },
    resumed: () => writer.resumed(),
    stop: () => {
      stopping.abort()
      zoneEvents.stop()
      return writer.stop()
    },
  }
}
