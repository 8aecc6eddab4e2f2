// SPDX-License-Identifier: Apache-2.0
import { marksOfVerdict } from '../../plan/node-plan.js'
import type { Explanation } from '../../vote/explanation.js'
import { topWriter, writerRank } from '../../vote/writer.js'
import type { NextWriteView } from '../http/status-view.js'
import type { AgentOptions } from '../options/agent-options.js'
import type { ZoneState } from '../results.js'
import { differs } from '../stages/write/desired-marks.js'
import type { NextWrite } from '../stages/write/write-schedule.js'
import type { Writer } from '../stages/write/writer.js'
import type { ResultStore } from '../store.js'
import type { Times } from './times.js'

/** What the view of a next write is made from, at one instant. */
interface WriteScene {
  readonly options: AgentOptions
  readonly state: ZoneState
  readonly store: Pick<ResultStore, 'ownNode'>
  readonly writer: Pick<Writer, 'nodeOf' | 'heldUntil'>
  readonly times: Times
}

/** A future write: what it is, and when the writer of rank 0 writes it; +Infinity while a guard holds it. */
interface Coming {
  readonly what: string
  readonly at: number
}

/** What will be written once the pending verdict is final; undefined when the Node already has those marks. */
const afterPending = (
  { options, state, store, writer }: WriteScene,
  explanation: Explanation,
): Coming | undefined => {
  const { index } = explanation
  const { name } = state.roster.members[index]!
  const desired = marksOfVerdict({ verdict: explanation.pending, class: explanation.class }, false)
  if (desired === 'keep') return undefined
  const node = writer.nodeOf(name)
  const isWritten =
    node === undefined
      ? explanation.pending === explanation.verdict
      : !differs(node, desired, false, options)
  if (isWritten) return undefined
  const hold = explanation.guards.length === 1 ? explanation.guards[0] : undefined
  const isLinkUp = store.ownNode.current.cloudLink.state === 'up'
  return {
    what: desired,
    at: isLinkUp && hold?.kind === 'hold' ? hold.until : Infinity,
  }
}

/** The next write about a member, due or expected; null when there is none. */
export const nextWriteOf = (
  scene: WriteScene,
  explanation: Explanation,
  due: NextWrite | undefined,
): NextWriteView | null => {
  const { state, times, writer } = scene
  const { judgement, table, roster, ranking } = state
  const coming: Coming | undefined =
    due === undefined
      ? afterPending(scene, explanation)
      : {
          what: due.desired,
          at: Math.max(due.since, writer.heldUntil(roster.members[explanation.index]!.name)),
        }
  if (coming === undefined) return null
  const { index } = explanation
  const target = { index, id: roster.members[index]!.id }
  const top = topWriter(judgement, table, target, ranking)
  // What is due may be nobody's turn, for other reasons than the order.
  const ownRank = due === undefined ? writerRank(judgement, table, target, ranking) : due.rank
  const inSeconds = times.until(coming.at)
  return {
    what: coming.what,
    by: top === undefined ? 'nobody' : roster.members[top]!.name,
    ownRank: ownRank ?? null,
    inSeconds: inSeconds === null ? null : Math.max(0, inSeconds),
  }
}
