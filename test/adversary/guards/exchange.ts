// SPDX-License-Identifier: Apache-2.0
import type { Machine } from '../../../testkit/zone/machine.js'
import type { FactBook } from './facts.js'
import type { Note } from './words.js'

const HEARD_MS = 12_000
const REQUESTS = 3
/** Twice the time limit of an exchange, and what a packet needs. */
const LATE_MS = 2_500
/** Requests that are held back at one time are fewer. */
const MOST_ANSWERS = 50

/** One member's requests to another that were not taken in, since one was, or since there was a reason for it. */
interface Refused {
  readonly sinceAt: number
  readonly count: number
}

/** Whether members take in what members say: looks at the answers on the wire. */
export class ExchangeGuards {
  readonly #facts: FactBook
  readonly #note: Note
  /** By the addresses of who asks and who answers. */
  readonly #refused = new Map<string, Refused>()
  /** When each was answered: with each answer it gets a number, which its next request shows. */
  readonly #answers = new Map<string, number[]>()
  /** When the newest of those was sent that was taken in. */
  readonly #takenAt = new Map<string, number>()

  constructor(facts: FactBook, note: Note) {
    this.#facts = facts
    this.#note = note
    const { network } = facts.zone.world
    const others = network.onWire
    network.onWire = (body, route, kind, link) => {
      others?.(body, route, kind, link)
      const { answer, from, to } = link
      if (kind !== 'answer' || answer === undefined) return
      const pair = `${to} ${from}`
      const isTaken = answer.status === 200 && this.#facts.isOwn(from)
      if (isTaken) this.#takenAt.set(pair, answer.askedAt)
      this.#answered(pair, isTaken)
      this.#reviewAge(pair, from, answer)
    }
  }

  look(): void {
    const { machines } = this.#facts.zone.world
    for (const asker of machines)
      for (const other of machines) if (asker !== other) this.#review(asker, other)
  }

  #answered(pair: string, isTaken: boolean): void {
    const { sinceAt, count } = this.#refused.get(pair) ?? { sinceAt: this.#facts.now, count: 0 }
    if (isTaken) this.#refused.delete(pair)
    else this.#refused.set(pair, { sinceAt, count: count + 1 })
  }

  /** Whoever stood still, and all its clocks, since it showed the number cannot know how long the request took. */
  #reviewAge(
    pair: string,
    answerer: string,
    { status, askedAt }: { status: number; askedAt: number },
  ): void {
    const { zone, now } = this.#facts
    const lateMs = now - askedAt
    const answers = this.#answers.get(pair) ?? []
    const shownAt = answers.findLast(at => at <= askedAt) ?? askedAt
    this.#answers.set(pair, [...answers, now].slice(-MOST_ANSWERS))
    const machine = zone.world.machines.find(({ address }) => address === answerer)
    if (lateMs <= LATE_MS || machine?.agent === undefined) return
    if (this.#facts.of(machine.name).unsoundAt > shownAt) return
    const found = `${machine.name} takes in what was under way for ${lateMs} ms`
    this.#note('late', status === 200 ? found : undefined)
  }

  /** Who is cut from the cloud may know the zone, or the key, of another time. */
  #isAble(machine: Machine, peer: Machine): boolean {
    const facts = this.#facts.of(machine.name)
    const { now } = this.#facts
    const isAsBefore = now > Math.max(facts.begunAt, facts.returned.at, facts.linkCutAt)
    return (
      machine.isMember &&
      isAsBefore &&
      !this.#isIgnorant(machine, peer) &&
      this.#facts.isTalking(machine) &&
      !this.#waitsForNewKeys(machine, peer) &&
      !this.#facts.isMoved(machine)
    )
  }

  /**
   * With `require` a member believes new keys after a time in which it heard nothing of the old ones. Who begins anew, or stood
   * still, before it believed them waits from then on.
   */
  #waitsForNewKeys(machine: Machine, peer: Machine): boolean {
    const newKeys = this.#facts.zone.newKeysOf(machine)
    if (newKeys === undefined) return false
    const { begunAt, silentAt } = this.#facts.of(peer.name)
    const hasBelieved = (this.#takenAt.get(`${machine.address} ${peer.address}`) ?? 0) > newKeys.at
    const sinceAt = Math.max(newKeys.at, begunAt, silentAt)
    return !hasBelieved && this.#facts.now <= sinceAt + newKeys.waitMs
  }

  /** It began or came back, and is not served its own Node, which alone says what zone it is in: it waits as it is asked to. */
  #isIgnorant({ name, agent }: Machine, peer: Machine): boolean {
    const { begunAt, returned } = this.#facts.of(name)
    if (!this.#facts.zone.waitsForOwnNode(name, Math.max(begunAt, returned.at))) return false
    return agent?.views.localView().nodes.every(node => node.name !== peer.name) === true
  }

  /** Both are able to, and what the one sends reaches the other: the outsider may keep it. */
  #mustBeHeard(asker: Machine, other: Machine): boolean {
    const facts = this.#facts
    return (
      this.#isAble(asker, other) &&
      this.#isAble(other, asker) &&
      facts.canReach(asker, other) &&
      !facts.zone.outsider.isHolding(asker.address, other.address)
    )
  }

  #review(asker: Machine, other: Machine): void {
    const facts = this.#facts
    const pair = `${asker.address} ${other.address}`
    if (!this.#mustBeHeard(asker, other)) this.#refused.delete(pair)
    const refused = this.#refused.get(pair)
    if (refused === undefined) return
    const { count } = refused
    const byOthersAt = this.#lacksKeys(asker, other) ? this.#toldAt(asker, other) : -Infinity
    const sinceAt = Math.max(refused.sinceAt, byOthersAt)
    this.#refused.set(pair, { sinceAt, count })
    const ms = facts.now - sinceAt
    const found = `${other.name} has taken in nothing of ${asker.name} for ${ms} ms`
    this.#note('heard', ms > HEARD_MS && count >= REQUESTS ? found : undefined)
  }

  /**
   * The asker was refused when it wanted to read the keys of who lost its own. It says by the zone's key what does not count
   * while others pass on what it signs.
   */
  #lacksKeys(asker: Machine, other: Machine): boolean {
    const { zone } = this.#facts
    const lostAt = zone.lostKeysAt(other)
    if (lostAt === undefined || !zone.isRefused(asker.name)) return false
    return !this.#facts.haveSigned(asker, other, lostAt)
  }

  /** When the asker said what the other shows of it, by whatever way that came. */
  #toldAt(asker: Machine, { agent }: Machine): number {
    const age = agent?.views.node(asker.name)?.recordAgeSeconds ?? Infinity
    return this.#facts.now - age * 1_000
  }
}
