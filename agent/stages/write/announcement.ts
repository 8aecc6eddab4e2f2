// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Random } from '../../../core/random.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { CloudLinkState } from '../../results.js'

interface AnnouncementSeams {
  readonly clock: Clock
  readonly random: Pick<Random, 'bits64'>
  readonly cloudLink: () => CloudLinkState
  /** When the next Event may be sent. */
  readonly readyAt: () => number
  /** Judge anew, and review this then. */
  readonly judge: () => void
}

/** What all agents of the zone know, and one of them is to say. */
export interface News {
  readonly isSo: boolean
  /** The node whose agent is to say it; undefined: none that reaches the apiserver is known. */
  readonly speaker: string | undefined
  /**
   * The id is the same for each try. Undefined where nothing is said of this.
   * @returns whether it is said; never rejects
   */
  readonly say: ((id: bigint) => Promise<boolean>) | undefined
}

interface Options extends Pick<
  AgentOptions,
  'exchangePeriodMs' | 'cloudCheckPeriodMs' | 'cloudCheckTimeoutMs' | 'cloudCheckFailures'
> {
  readonly nodeName: string
}

/** After so many exchanges nearly all members have heard what a record says. */
const EXCHANGES = 3

/**
 * Something that becomes true or false for a zone, told once by one agent, the speaker. Agents learn at different moments who
 * that is, so it tells it only when it has been the speaker for a while. Only the speaker knows whether the apiserver took it,
 * so the others stay ready to take over until they would have heard that the speaker's link is cut.
 */
export class Announcement {
  readonly #self: string
  readonly #seams: AnnouncementSeams
  /** After these times all agents agree who is heard; whose links work after a cut; and that the speaker's link was not cut. */
  readonly #heardMs: number
  readonly #linksMs: number
  readonly #saidMs: number
  /** What was said last, by anybody. */
  #said = false
  #lastSpeaker: string | undefined
  #speaker: string | undefined
  /** Since when it has been this speaker. */
  #since = -Infinity
  #isWaiting = false
  #id = 0n
  #isSaying = false
  #cancel: () => void = () => undefined

  constructor(options: Options, seams: AnnouncementSeams) {
    this.#self = options.nodeName
    this.#seams = seams
    const { exchangePeriodMs, cloudCheckPeriodMs, cloudCheckTimeoutMs, cloudCheckFailures } =
      options
    this.#heardMs = EXCHANGES * exchangePeriodMs
    this.#linksMs = 2 * cloudCheckPeriodMs + this.#heardMs
    const noticedMs = (cloudCheckFailures + 1) * (1.1 * cloudCheckPeriodMs + cloudCheckTimeoutMs)
    this.#saidMs = this.#linksMs + noticedMs
  }

  /** Who, as far as is known, said that it is so: says the end, too, since an agent that started since does not know of it. */
  get lastSpeaker(): string | undefined {
    return this.#said ? this.#lastSpeaker : undefined
  }

  /** Nothing is to be said, as far as is known. */
  isSettled(isSo: boolean): boolean {
    return isSo === this.#said && !this.#isWaiting
  }

  review(news: News): void {
    const now = this.#seams.clock.now()
    this.#cancel()
    if (news.isSo === this.#said) {
      this.#isWaiting = false
      return
    }
    if (!this.#isWaiting) this.#id = this.#seams.random.bits64()
    if (!this.#isWaiting || news.speaker !== this.#speaker) this.#since = now
    this.#isWaiting = true
    this.#speaker = news.speaker
    if (news.say === undefined) this.#said = news.isSo
    else if (!this.#isSaying) this.#decide(news, news.say)
  }

  /** What was known is not true any more: nobody can be told to be the speaker. */
  forget(): void {
    this.#cancel()
    this.#isWaiting = false
  }

  #decide({ isSo, speaker }: News, say: NonNullable<News['say']>): void {
    if (speaker === undefined) return
    const { clock } = this.#seams
    const isOurs = speaker === this.#self
    const dueAt = isOurs ? this.#turnAt() : this.#since + this.#saidMs
    const wait = dueAt - clock.now()
    if (wait > 0) {
      if (wait < Infinity) this.#cancel = clock.after(wait, this.#seams.judge)
    } else if (isOurs) void this.#say(isSo, say)
    else this.#wasSaid(isSo, speaker)
  }

  #wasSaid(isSo: boolean, by: string): void {
    this.#said = isSo
    this.#lastSpeaker = by
  }

  /** +Infinity: our link does not work; what changes that has us judge anew. */
  #turnAt(): number {
    const { state, since } = this.#seams.cloudLink()
    if (state !== 'up') return Infinity
    return Math.max(this.#since + this.#heardMs, since + this.#linksMs, this.#seams.readyAt())
  }

  async #say(isSo: boolean, say: NonNullable<News['say']>): Promise<void> {
    this.#isSaying = true
    const isSaid = await say(this.#id)
    this.#isSaying = false
    if (isSaid) this.#wasSaid(isSo, this.#self)
    else this.#since = this.#seams.clock.now() + this.#linksMs
    this.#seams.judge()
  }
}
