// SPDX-License-Identifier: Apache-2.0
import { carriesCutMarks, type DesiredMarks } from '../../../plan/node-plan.js'
import { isVouched } from '../../../vote/vouch.js'
import type { ZoneState } from '../../results.js'
import { desiredMarksFor } from './desired-marks.js'
import type { DueTimes } from './due-times.js'
import type { KnownNodes } from './known-nodes.js'
import type { LinkFlaps } from './link-flaps.js'
import type { MemberWrites } from './member-writes.js'
import type { NodeWork } from './node-work.js'
import type { Vouching } from './vouching.js'
import type { WriteAuthority } from './write-authority.js'
import type { WriteSchedule } from './write-schedule.js'

interface MemberReviewSeams {
  readonly authority: Pick<WriteAuthority, 'desired' | 'noticedAt' | 'youngUntil'>
  readonly known: Pick<KnownNodes, 'follow' | 'isDue' | 'nodeOf'>
  readonly vouching: Pick<Vouching, 'review'>
  readonly flaps: Pick<LinkFlaps, 'cut' | 'cutBriefly' | 'restored'>
  readonly schedule: Pick<WriteSchedule, 'forget'>
  readonly dueTimes: Pick<DueTimes, 'dueAt'>
  readonly work: Pick<NodeWork, 'running'>
  readonly writes: Pick<MemberWrites, 'write'>
}

/** Compares one member with what is decided about it. */
export class MemberReview {
  readonly #seams: MemberReviewSeams

  constructor(seams: MemberReviewSeams) {
    this.#seams = seams
  }

  /** Start the write about one member if it is due. @returns when to review it again */
  review(state: ZoneState, index: number, now: number): number {
    const { authority, known, work } = this.#seams
    const { name } = state.roster.members[index]!
    const desired = authority.desired(state, index)
    const node = known.nodeOf(name, desired)
    const isVouchedFor =
      isVouched(state.vouching, index) && desiredMarksFor(state, index) === 'vouched'
    const youngUntil = desired === 'vouched' ? authority.youngUntil(state, index) : -Infinity
    const isYoung = now < youngUntil
    const leaseAt = isVouchedFor ? this.#seams.vouching.review(state, name, node) : Infinity
    const noticedAt = isVouchedFor ? authority.noticedAt(state, index) : -Infinity
    const vouchAt = now < noticedAt ? Math.min(leaseAt, noticedAt) : leaseAt
    const heldUntil = this.#noteLink(state, index, { link: desired, now })
    known.follow(state, index, { desired, node })
    if (work.running.has(name)) return vouchAt
    if (!known.isDue(name, { desired, node, isYoung })) {
      this.#seams.schedule.forget(name)
      return vouchAt
    }
    const notBefore = node === undefined || carriesCutMarks(node) ? heldUntil : -Infinity
    const dueAt = this.#seams.dueTimes.dueAt(state, name, { desired, notBefore, now })
    if (dueAt > now) return Math.min(vouchAt, dueAt)
    work.running.start(name, this.#seams.writes.write(name, desired))
    return vouchAt
  }

  /** Count cuts of the cloud link; every agent does, whoever writes. @returns until when the marks of a restored link stay */
  #noteLink(
    state: ZoneState,
    index: number,
    // A Lease that its own kubelet renews proves that the link works, whatever the node reports.
    { link, now }: { readonly link: DesiredMarks; readonly now: number },
  ): number {
    const { name } = state.roster.members[index]!
    const { authority, flaps } = this.#seams
    if (link === 'vouched') {
      if (now >= authority.noticedAt(state, index)) flaps.cut(name, now)
      else flaps.cutBriefly(name)
    }
    return link === 'healthy' ? flaps.restored(name, now) : -Infinity
  }
}
