// SPDX-License-Identifier: Apache-2.0
import type { Write } from '../../../testkit/zone/fake-cluster.js'
import type { Machine } from '../../../testkit/zone/machine.js'
import { quorumOf } from '../../../vote/quorum.js'
import { STEP_MS } from '../zone.js'
import type { FactBook, Facts } from './facts.js'
import type { Note } from './words.js'

const SOUND_MS = 6_000
const AWAY_MS = 6_000
const MARK_MAJORITY_MS = 14_000
const CLEAR_MAJORITY_MS = 8_000
/** A step, in which it may have left at any time, and a request's way. */
const LEFT_MS = STEP_MS + 200
/** As after the attack: it may have to prove itself for a while. */
const STAYS_MS = 45_000
const DEAD_MS = 6_000
const LINKED_MS = 15_000
const BRAKE_SHARE = 0.4
const MINUTE_MS = 60_000
/** Ten at once, and one in five minutes. */
const MOST_EVENTS = 11
const CUT_TAINT = 'edge-health/cloud-link-cut'

/** A write of a member's agent about a machine, and what is true of both. */
export interface Deed {
  readonly write: Write
  readonly actor: Facts
  readonly target: Facts
  /** In words. */
  readonly what: string
}

/** Who may write, and what may be written about Nodes: marks and taints. */
export class MarkGuards {
  readonly #facts: FactBook
  readonly #note: Note
  /** When marks could not be taken off, last. */
  #unableAt = -Infinity
  /** By node: when nobody heard it who could take its mark off. */
  readonly #unheardAt = new Map<string, number>()

  constructor(facts: FactBook, note: Note) {
    this.#facts = facts
    this.#note = note
  }

  look(): void {
    this.#noteAbility()
    const { zone } = this.#facts
    for (const machine of zone.world.machines) {
      this.#reviewStay(machine)
      if (!machine.isMember) this.#note('foreign', undefined)
      if (zone.pingBroken.has(machine.name)) this.#note('not-cut', undefined)
    }
  }

  /** Of any write, Leases too. */
  reviewWriter({ write: { by, node, at }, actor, what }: Deed): void {
    const isLeaver = at - actor.memberAt > LEFT_MS && !this.#facts.haveLeftTogether(by, node)
    this.#note('leaver', isLeaver ? what : undefined)
    const alone = at - actor.majorityAt
    const found = `${what}, ${alone} ms without a majority`
    this.#note('minority', alone > MARK_MAJORITY_MS ? found : undefined)
  }

  /** Of a write about a Node. */
  review(deed: Deed): void {
    const { write, target } = deed
    const [before, after] = write.mark
    const isCut = write.tainted.includes(CUT_TAINT)
    if (after) target.markedAt = Math.min(target.markedAt, write.at)
    if ((!before && after) || isCut) this.#reviewZone(deed)
    if (!before && after) this.#reviewMarked(deed)
    if (before && !after) this.#reviewCleared(deed)
    if (isCut) this.#reviewCut(deed)
  }

  /** Marks can be taken off: most members talk, look, and have a link to an apiserver that serves. */
  #noteAbility(): void {
    const facts = this.#facts
    const { world, refusing, pingBroken, moved } = facts.zone
    const { members } = facts
    const able = members.filter(
      machine =>
        facts.isTalking(machine) &&
        !machine.isBlind &&
        !machine.isUnable &&
        !world.cluster.isCut(machine.name),
    )
    const isAble = able.length >= quorumOf(members.length) && members.length > 1
    if (!isAble || refusing !== undefined || pingBroken.size + moved.size > 0)
      this.#unableAt = facts.now
  }

  /**
   * It lost its keys, and all whom it reaches are cut from the cloud and do not know the new ones. They believe it by the zone's
   * key, and what they pass on of it counts for nobody who knows its keys.
   */
  #isHeardByCutAlone(machine: Machine): boolean {
    const facts = this.#facts
    const lostAt = facts.zone.lostKeysAt(machine)
    if (lostAt === undefined) return false
    return facts.members
      .filter(
        other => other !== machine && facts.isTalking(other) && facts.canReach(other, machine),
      )
      .every(
        other =>
          facts.zone.world.cluster.isCut(other.name) && !facts.haveSigned(machine, other, lostAt),
      )
  }

  #reviewStay(machine: Machine): void {
    const { zone, now } = this.#facts
    const { name, isMember } = machine
    if (!isMember || zone.world.cluster.node(name).annotations['nodeunhealth'] !== 'yes') return
    if (this.#isHeardByCutAlone(machine)) this.#unheardAt.set(name, now)
    const unheardAt = this.#unheardAt.get(name) ?? -Infinity
    const soundMs = now - Math.max(this.#facts.of(name).troubleAt, this.#unableAt, unheardAt)
    if (soundMs === 0) return
    const found = `${name} has been well for ${soundMs} ms and is still marked`
    this.#note('mark-stays', soundMs > STAYS_MS ? found : undefined)
  }

  #reviewZone({ write: { by, node, at }, target, what }: Deed): void {
    const leftMs = at - target.memberAt
    const found = `${what}: marks a node that left ${leftMs} ms before`
    const isForeign = leftMs > LEFT_MS && !this.#facts.haveLeftTogether(by, node)
    this.#note('foreign', isForeign ? found : undefined)
  }

  #reviewMarked({ write: { at }, target, what }: Deed): void {
    const soundMs = at - target.troubleAt
    const found = `${what}: marks a node that has been well for ${soundMs} ms`
    this.#note('sound-marked', soundMs > SOUND_MS ? found : undefined)
    this.#reviewBrake(what)
  }

  /** Marks on nodes that are truly away may not be more than the brake's share. */
  #reviewBrake(what: string): void {
    const { members, zone, now } = this.#facts
    const limit = Math.max(1, Math.floor(BRAKE_SHARE * zone.size))
    const marked = members.filter(
      ({ name }) =>
        zone.world.cluster.node(name).annotations['nodeunhealth'] === 'yes' &&
        now - this.#facts.of(name).presentAt > AWAY_MS,
    )
    const names = marked.map(({ name }) => name).join()
    const found = `${what}: ${names} are marked, ${limit} may be`
    this.#note('braked', marked.length > limit ? found : undefined)
  }

  #reviewCleared({ write: { node, at }, actor, target, what }: Deed): void {
    const isMember = this.#facts.members.some(({ name }) => name === node)
    const deadMs = at - target.aliveAt
    // One that was alive after it was marked may have died again while the mark was on its way off.
    const wasDead = target.aliveAt + STEP_MS < target.markedAt
    target.markedAt = Infinity
    const isDead = isMember && (wasDead || deadMs > DEAD_MS)
    const found = `${what}: takes the mark off a node dead for ${deadMs} ms`
    this.#note('dead-cleared', isDead ? found : undefined)
    const alone = at - actor.majorityAt
    const unconfirmed = `${what}: takes a mark off, ${alone} ms without a majority`
    this.#note('unconfirmed', alone > CLEAR_MAJORITY_MS ? unconfirmed : undefined)
  }

  #reviewCut(deed: Deed): void {
    const { write, target, what } = deed
    const linkedMs = write.at - Math.max(target.linkCutAt, target.unsoundAt)
    const found = `${what}: calls a node cut whose Lease is renewed by itself`
    this.#note('not-cut', linkedMs > LINKED_MS ? found : undefined)
    this.#reviewDamping(write)
  }

  /** What docs/operations.md promises: after the second cut the marks stay until the link was whole for a minute. */
  #reviewDamping({ node, by, at }: Write): void {
    const { writes, events } = this.#facts.zone.world.cluster
    const { forgotAt } = this.#facts
    const isRecent = (when: number): boolean => when > at - MINUTE_MS && when <= at
    const cuts = writes.filter(
      write => write.node === node && isRecent(write.at) && write.tainted.includes(CUT_TAINT),
    ).length
    const most = 2 + 2 * forgotAt.filter(isRecent).length
    const found = `${by} marks ${node} as cut for the ${cuts}th time in a minute`
    this.#note('damped', cuts > most ? found : undefined)
    const lives = 1 + forgotAt.length + this.#facts.of(by).turnedAt.length
    const count = events.filter(event => event.node === node && event.by === by).length
    const shown = `${by} told ${count} Events about ${node}`
    this.#note('damped', count > MOST_EVENTS * lives ? shown : undefined)
  }
}
