// SPDX-License-Identifier: Apache-2.0
import type { Agent } from '../../../agent/agent.js'
import type { Machine } from '../../../testkit/zone/machine.js'
import type { FactBook, Facts } from './facts.js'
import { Follower } from './follower.js'
import type { Note } from './words.js'

const VIEW_MS = 9_000
/** A watch has told of a changed Node. */
const TOLD_MS = 2_000
/** Longer than an agent waits before it asks an apiserver again that refused it. */
const WAITS_MS = 70_000
/** For so long after a cut an agent's own vote is looked at. */
const VOTE_MS = 15_000
/** A watch has told of it, and `Date` has whole seconds. */
const SHOWN_MS = 1_000

/** What agents show: their local views, the stream of changes, and what status says of nodes. */
export class ViewGuards {
  readonly #facts: FactBook
  readonly #note: Note
  readonly #followers = new Map<string, Follower>()
  /** When its Node named its own address, last. */
  readonly #atHomeAt = new Map<string, number>()
  /** When the apiserver refused, last. */
  #refusedAt = -Infinity
  /** By viewer and node: which return was looked at. */
  readonly #returns = new Map<string, number>()

  constructor(facts: FactBook, note: Note) {
    this.#facts = facts
    this.#note = note
  }

  look(): void {
    if (this.#facts.zone.refusing !== undefined) this.#refusedAt = this.#facts.now
    for (const machine of this.#facts.zone.world.machines) {
      this.#reviewView(machine)
      this.#reviewMemory(machine)
      this.#reviewListener(machine)
      this.#follow(machine)
    }
  }

  stop(): void {
    for (const follower of this.#followers.values()) follower.stop()
  }

  #reviewView({ name: viewer, agent, isMember }: Machine): void {
    const { now, zone } = this.#facts
    const facts = this.#facts.of(viewer)
    if (agent === undefined || !isMember) return
    if (now - Math.max(facts.blindAt, facts.unsoundAt) < VIEW_MS) return
    // What answers at an address of two tells of neither.
    if (zone.moved.size > 0) return
    for (const { name, isUp } of agent.views.localView().nodes) {
      const target = this.#facts.find(name)
      // Who was in trouble before may be held down a while: it flaps.
      if (target === undefined || target.wasInTrouble) continue
      if (this.#isDoubtful(viewer, target, name)) continue
      this.#note('view', isUp ? undefined : `${viewer} calls ${name} down`)
      this.#reviewVote(viewer, agent, name)
    }
  }

  /**
   * The link is, or was, broken; or this agent has the word of others alone, one of which is cut off, or blind: it began or joined
   * just now, or packets get lost, so that a round of its own may fail.
   */
  #isDoubtful(viewer: string, target: Facts, name: string): boolean {
    const { cutAt, begunAt, returned } = this.#facts.of(viewer)
    const isRecent = (at = -Infinity): boolean => this.#facts.now - at < VIEW_MS
    if (isRecent(cutAt.get(name))) return true
    const isMisled = (): boolean =>
      [...target.cutAt.values()].some(isRecent) ||
      this.#facts.members.some(
        other => other.name !== viewer && isRecent(this.#facts.of(other.name).blindAt),
      )
    const isAlone =
      this.#facts.zone.world.network.loss > 0 || isRecent(Math.max(begunAt, returned.at))
    return isAlone && isMisled()
  }

  /** Of one that was cut off from all others together, and from nobody alone, in a zone where most of them can fall. */
  #reviewVote(viewer: string, agent: Agent, name: string): void {
    const { partlyCutAt, begunAt, cutAt } = this.#facts.of(viewer)
    const healedMs = this.#facts.now - (cutAt.get(name) ?? -Infinity)
    if (this.#facts.zone.size < 4 || healedMs > VOTE_MS || partlyCutAt >= begunAt) return
    const node = agent.views.node(name)
    const own = node?.voters.find(voter => voter.name === viewer)
    const isAgainst = own?.says === 'down' || (node?.probe?.heldSeconds ?? 0) > 0
    const found = `${viewer} votes against ${name}, or holds it back, ${healedMs} ms after it was cut off itself`
    this.#note('forgiven', isAgainst ? found : undefined)
  }

  /**
   * Its Node may name an address that it does not have; who is cut from the cloud cannot know that. Nor can who was refused
   * ever since it began: it goes by its disk, or knows no zone and opens no listener.
   */
  #reviewListener(machine: Machine): void {
    const { name, agent, isMember } = machine
    const { linkCutAt, begunAt } = this.#facts.of(name)
    if (!this.#facts.isMoved(machine)) this.#atHomeAt.set(name, this.#facts.now)
    const sinceAt = Math.max(linkCutAt, begunAt, this.#atHomeAt.get(name) ?? -Infinity)
    if (agent === undefined || machine.isFrozen || !isMember) return
    if (this.#facts.now < sinceAt + TOLD_MS) return
    const { peerListener, roster } = agent.views.zone()
    if (roster.source !== 'api' && this.#facts.now < this.#refusedAt + WAITS_MS) return
    const [wanted] = this.#facts.zone.world.cluster.node(name).internalIPs
    const found = `${name} says nothing, and its Node says ${wanted}`
    this.#note('found', peerListener.trouble === null ? found : undefined)
  }

  /**
   * Who came back is a new member: what this agent wrote about it before is not shown. Looked at once for each return. Who
   * was cut from the cloud when it came back may never have been told that it left.
   */
  #reviewMemory({ name: viewer, agent, wall }: Machine): void {
    if (agent === undefined) return
    for (const { name } of this.#facts.members) {
      const { at, wall: returnedAt } = this.#facts.of(name).returned
      const pair = `${viewer} ${name}`
      if (name === viewer || this.#returns.get(pair) === at || this.#facts.now < at + SHOWN_MS)
        continue
      this.#returns.set(pair, at)
      if (this.#facts.of(viewer).linkCutAt > at - TOLD_MS) continue
      const write = agent.views.node(name)?.lastWrite ?? undefined
      // By the clock of its own machine.
      const isOld =
        write !== undefined && Date.parse(write.at) < returnedAt + wall.offsetMs - SHOWN_MS
      const found = `${viewer} shows what it wrote about ${name} before that left: ${write?.what}`
      this.#note('forgets', isOld ? found : undefined)
    }
  }

  #follow({ name, agent, isFrozen }: Machine): void {
    const known = this.#followers.get(name)
    if (agent === undefined || known?.agent !== agent) {
      known?.stop()
      this.#followers.delete(name)
      if (agent !== undefined)
        this.#followers.set(name, new Follower(agent, this.#facts.zone.world.clock))
      return
    }
    if (isFrozen) return
    const difference = known.difference()
    this.#note('stream', difference === undefined ? undefined : `${name}: ${difference}`)
  }
}
