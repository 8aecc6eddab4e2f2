// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import { UNHEALTHY_ANNOTATION } from '../../../core/marks.js'
import type { NodeView } from '../../../core/node.js'
import type { Random } from '../../../core/random.js'
import type { DesiredMarks } from '../../../plan/node-plan.js'
import { VERDICT } from '../../../vote/quorum.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { ZoneState } from '../../results.js'
import type { ResultStore } from '../../store.js'
import { Attention } from './attention.js'
import { differs } from './desired-marks.js'
import type { NodeWork } from './node-work.js'
import { UnknownNodes } from './unknown-nodes.js'
import type { WriteAuthority } from './write-authority.js'

/** How many ranks follow a Node that is not plainly healthy; in zones small enough to be watched, all do. */
const FOLLOWING_RANKS = 2

/** What a Node should look like, and what it looks like; undefined when nobody looked. */
interface Wanted {
  readonly desired: DesiredMarks
  readonly node: NodeView | undefined
}

interface KnownNodesSeams {
  readonly kube: Pick<KubeApi, 'watchNode'>
  readonly clock: Clock
  readonly random: Random
  readonly store: Pick<ResultStore, 'marked' | 'nodeList'>
  readonly authority: Pick<WriteAuthority, 'turn' | 'firstWriter' | 'desired'>
  readonly work: Pick<NodeWork, 'nodeOf' | 'names' | 'doubt' | 'running'>
  /** Called when a followed Node has changed. */
  readonly onNode: () => void
}

/** Which members' Nodes have to be read, and which are followed, since rows of lists do not show marks. */
export class KnownNodes {
  readonly #options: AgentOptions
  readonly #seams: KnownNodesSeams
  readonly #attention: Attention
  readonly #unknown: UnknownNodes

  constructor(options: AgentOptions, seams: KnownNodesSeams) {
    this.#options = options
    this.#seams = seams
    this.#attention = new Attention({ kube: seams.kube, onChange: seams.onNode })
    this.#unknown = new UnknownNodes(seams.random)
  }

  /** A new look at all members begins. */
  begin(state: ZoneState): void {
    this.#attention.begin()
    this.#beginLook(state)
  }

  /** This agent may not write now; what changes meanwhile has to be known when it may again. */
  noteOnly(state: ZoneState): void {
    const { authority, work } = this.#seams
    this.#beginLook(state)
    for (const [index, { name }] of state.roster.members.entries())
      if (this.#unknown.note(name, authority.desired(state, index))) work.doubt(name)
  }

  /** All members were looked at. @returns when to look again for what may still be written about them */
  end(state: ZoneState): number {
    this.#attention.end()
    this.#noteMarked(state)
    return this.#unknown.askAt()
  }

  /** Whether the last look at all members asked about every Node that was due. */
  get isCaughtUp(): boolean {
    return this.#unknown.isCaughtUp
  }

  /** A Node that is followed, as it is now. */
  seen(name: string): NodeView | undefined {
    return this.#attention.nodeOf(name)
  }

  /** The Node as last read, while that still counts; undefined when nobody looked. */
  nodeOf(name: string, desired: DesiredMarks): NodeView | undefined {
    const { work } = this.#seams
    const node = work.nodeOf(name)
    const isOver =
      this.#unknown.note(name, desired) ||
      (node !== undefined && !work.running.has(name) && this.#unknown.isOld(name, desired))
    if (!isOver) return node
    work.doubt(name)
    return work.nodeOf(name)
  }

  /** Whether the Node differs from what is wanted, or has to be read to know. */
  isDue(name: string, wanted: Wanted & { readonly isYoung: boolean }): boolean {
    const { desired, node, isYoung } = wanted
    if (node === undefined) return this.#unknown.mustLook(name, desired)
    if (!this.#seams.store.nodeList.current.isOfZone(node)) return false
    const isDifferent = differs(node, desired, isYoung, this.#options)
    if (!isDifferent && desired === 'healthy') this.#unknown.settled(name)
    return isDifferent
  }

  /** There was nothing to do about a healthy member whose Node nobody read. */
  rest(name: string): void {
    // What is followed has to be asked for in each look.
    if (!this.#attention.has(name)) this.#unknown.rest(name)
  }

  /** Whether there is still nothing to do about a member that is healthy now. */
  rests(name: string): boolean {
    return this.#unknown.rests(name)
  }

  /** Follow a Node in full that is not plainly healthy, to see what others do to its marks. */
  follow(state: ZoneState, index: number, { desired, node }: Wanted): void {
    const { name } = state.roster.members[index]!
    const isFollowed = this.#attention.has(name)
    const isPlain = node !== undefined && !differs(node, 'healthy', false, this.#options)
    const isWanted =
      desired === 'keep'
        ? isFollowed || this.#staysUndecided(state, index)
        : desired !== 'healthy' || (isFollowed && !isPlain)
    if (!isWanted) return
    const isSmall = state.table.size <= this.#options.zoneWatchUpTo
    const rank = isSmall ? 0 : (this.#seams.authority.turn(state, name)?.rank ?? Infinity)
    if (rank < FOLLOWING_RANKS) this.#attention.ask(name)
  }

  /** Forget nodes that left the zone. */
  keepOnly(isKept: (node: string) => boolean): void {
    this.#unknown.keepOnly(isKept)
  }

  stop(): Promise<void> {
    return this.#attention.stop()
  }

  #beginLook(state: ZoneState): void {
    const { clock, authority } = this.#seams
    this.#unknown.begin({
      now: clock.now(),
      size: state.table.size,
      isFirst: authority.firstWriter(state),
    })
  }

  /** Publish for the vote which Nodes, of those that were read, carry SuperEdge's mark. */
  #noteMarked({ roster }: ZoneState): void {
    const { store, work } = this.#seams
    const { marked } = store
    const names: string[] = []
    // Few of a large zone were read.
    for (const name of new Set([...this.#attention.names(), ...work.names()])) {
      const isMarked = work.nodeOf(name)?.annotations[UNHEALTHY_ANNOTATION] !== undefined
      if (isMarked && roster.indexOf(name) !== undefined) names.push(name)
    }
    const isSame =
      names.length === marked.current.size && names.every(name => marked.current.has(name))
    if (!isSame) marked.set(new Set(names))
  }

  /** A mark from before that nobody asks for counts for the brake. */
  #staysUndecided({ judgement: j, roster, table }: ZoneState, index: number): boolean {
    const { undecided } = VERDICT
    const isOpen = j.verdict[index] === undecided && j.pending[index] === undecided
    return this.#unknown.staysUndecided(roster.members[index]!.name, isOpen && index !== table.self)
  }
}
