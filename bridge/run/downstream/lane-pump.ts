// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { JsonMap } from '../../../core/json.js'
import type { NodeLink } from '../../hub/node-link.js'
import type { DownstreamLane, Sending } from '../../model/lane/downstream-lane.js'
import type { Notice } from '../../model/lane/notice-queues.js'
import type { Message, Stamp } from '../../model/message/message.js'
import { deleteMessage, updateMessage } from '../../model/route/downstream.js'
import type { NodeRecord } from '../recorder/node-record.js'
import type { ObjectMessage } from './expected-objects.js'
import type { MessageCounts } from './message-counts.js'

export interface LanePumpSeams {
  readonly clock: Clock
  readonly record: Pick<NodeRecord, 'sending'>
  readonly count: (what: keyof MessageCounts) => void
}

type Lane = Pick<DownstreamLane<ObjectMessage>, 'buffered' | 'left' | 'nextAt' | 'take'>

/** Sends what a node's lane releases over the node's connection. What the edge may hold from then on is on disk first. */
export class LanePump {
  readonly #lane: Lane
  readonly #seams: LanePumpSeams
  #link: NodeLink | undefined
  #isSending = false
  #cancelWake: (() => void) | undefined

  constructor(lane: Lane, seams: LanePumpSeams) {
    this.#lane = lane
    this.#seams = seams
  }

  /** The node's connection; undefined while it has none. */
  get link(): NodeLink | undefined {
    return this.#link
  }

  open(link: NodeLink): void {
    this.#link = link
  }

  close(): void {
    this.#link = undefined
    this.#cancelWake?.()
  }

  /** Send what is due now, and call again when more is. Never rejects. */
  async send(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    const { clock, record } = this.#seams
    for (let link = this.#link; link !== undefined; link = this.#link) {
      const sendings = this.#lane.take(clock.now())
      if (sendings.length === 0) break
      await record.sending(
        sendings.flatMap(({ notice: { uid, value } }) =>
          value.kind === 'update' ? [[uid, value.held] as const] : [],
        ),
      )
      // If the connection ended meanwhile, the lane sends these again on the next one.
      if (link === this.#link) for (const sending of sendings) this.#leave(link, sending)
    }
    this.#isSending = false
    this.#wakeLater()
  }

  #leave(link: NodeLink, { id, notice, isResend }: Sending<ObjectMessage>): void {
    this.#seams.count(isResend ? 'resent' : 'sent')
    this.#lane.buffered(id)
    link.send(messageOf(link, notice, { id, at: this.#seams.clock.wall() }), () =>
      this.#left(link, id),
    )
  }

  #left(link: NodeLink, id: string): void {
    if (link !== this.#link) return
    this.#lane.left(id, this.#seams.clock.now())
    if (!this.#isSending) this.#wakeLater()
  }

  #wakeLater(): void {
    this.#cancelWake?.()
    const { nextAt } = this.#lane
    if (nextAt === Infinity) return
    const { clock } = this.#seams
    this.#cancelWake = clock.after(Math.max(1, nextAt - clock.now()), () => void this.send())
  }
}

const messageOf = (
  { node }: NodeLink,
  { uid, value }: Notice<ObjectMessage>,
  stamp: Stamp,
): Message =>
  value.kind === 'delete'
    ? deleteMessage({ node, ...value.of }, stamp, uid)
    : updateMessage({ node, ...value.held }, stamp, JSON.parse(value.text) as JsonMap)
