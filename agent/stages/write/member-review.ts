// SPDX-License-Identifier: Apache-2.0
import type { NodeView } from '../../../core/node.js'
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
  readonly known: Pick<KnownNodes, 'follow' | 'isDue' | 'nodeOf' | 'rest' | 'rests'>
  readonly vouching: Pick<Vouching, 'review'>
  readonly flaps: Pick<LinkFlaps, 'cut' | 'cutBriefly' | 'restored'>
  readonly schedule: Pick<WriteSchedule, 'forget'>
  readonly dueTimes: Pick<DueTimes, 'dueAt'>
  readonly work: Pick<NodeWork, 'running'>
  readonly writes: Pick<MemberWrites, 'write'>
}

/** A member's Node, as far as it is known, at this moment. */
interface Look {
  readonly node: NodeView | undefined
  readonly now: number
}

interface Wanted extends Look {
  readonly desired: DesiredMarks
}

/** Compares one member with what is decided about it. */
export class MemberReview {
  readonly #seams: MemberReviewSeams

  constructor(seams: MemberReviewSeams) {
    this.#seams = seams
  }

  /** Start the write about one member if it is due. @returns when to review it again */
  review(state: ZoneState, index: number, now: number): number {
    const { authority, known } = this.#seams
    const { name } = state.roster.members[index]!
    const desired = authority.desired(state, index)
    const isVouchedFor =
      isVouched(state.vouching, index) && desiredMarksFor(state, index) === 'vouched'
    const isPlain = desired === 'healthy' && !isVouchedFor
    // In a large zone that is nearly all members in nearly all reviews.
    if (isPlain && known.rests(name)) return Infinity
    const node = known.nodeOf(name, desired)
    const vouchAt = isVouchedFor ? this.#reviewVouching(state, index, { node, now }) : Infinity
    const marksAt = this.#reviewMarks(state, index, { desired, node, now })
    if (isPlain && marksAt === undefined && node === undefined) known.rest(name)
    return Math.min(vouchAt, marksAt ?? Infinity)
  }

  /** Renew the Lease of a member that is vouched for, if that is due. @returns when to review it again */
  #reviewVouching(state: ZoneState, index: number, { node, now }: Look): number {
    const { name } = state.roster.members[index]!
    const leaseAt = this.#seams.vouching.review(state, name, node)
    const noticedAt = this.#seams.authority.noticedAt(state, index)
    return now < noticedAt ? Math.min(leaseAt, noticedAt) : leaseAt
  }

  /** @returns when to review the marks again, +Infinity for never; undefined where they are as they should be */
  #reviewMarks(state: ZoneState, index: number, look: Wanted): number | undefined {
    const { authority, known, work, schedule } = this.#seams
    const { desired, node, now } = look
    const { name } = state.roster.members[index]!
    const isYoung = desired === 'vouched' && now < authority.youngUntil(state, index)
    const heldUntil = this.#noteLink(state, index, { link: desired, now })
    known.follow(state, index, look)
    if (work.running.has(name)) return Infinity
    if (!known.isDue(name, { desired, node, isYoung })) {
      schedule.forget(name)
      return undefined
    }
    const notBefore = node === undefined || carriesCutMarks(node) ? heldUntil : -Infinity
    const dueAt = this.#seams.dueTimes.dueAt(state, name, { desired, notBefore, now })
    if (dueAt > now) return dueAt
    work.running.start(name, this.#seams.writes.write(name, desired))
    return Infinity
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
