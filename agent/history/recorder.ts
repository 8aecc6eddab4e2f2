// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../core/roster.js'
import { describeVouchEnd } from '../../plan/messages.js'
import { CLASSES, type NodeClass, type Voice } from '../../vote/judgement.js'
import type { VoteOptions } from '../../vote/options.js'
import { brakeLimit } from '../../vote/verdicts.js'
import { isVouched } from '../../vote/vouch.js'
import { keepOnly } from '../keep-only.js'
import type { CloudLinkState, VoteOutcome, WriteRecord, ZoneState } from '../results.js'
import type { ResultStore } from '../store.js'
import type { HistoryEntry, NewEntry } from './ring.js'

/** Nodes that turned together, from one class to the same other one. */
interface Turn {
  readonly from: NodeClass
  readonly to: NodeClass
  readonly members: number[]
}

/** The last class of each node that has entries. */
const lastClasses = (entries: readonly HistoryEntry[]): Map<string, string> => {
  const classes = new Map<string, string>()
  for (const { kind, nodes, to } of entries)
    if (kind === 'class') for (const name of nodes) classes.set(name, to)
  return classes
}

/** Records what changes in the store, never what goes on as it was. */
export class HistoryRecorder {
  readonly #add: (entry: NewEntry) => void
  readonly #options: VoteOptions
  /** As decided in this run; a node about which nothing was decided yet is not in it. */
  readonly #classes = new Map<string, NodeClass>()
  /** As the previous run left it. */
  #before: ReadonlyMap<string, string> = new Map()
  readonly #vouched = new Set<string>()
  /** What was last written about a node, and how it ended. */
  readonly #writes = new Map<string, string>()
  #roster: Roster | undefined
  #voice: Voice = 'full'
  #hadVoice = false
  #isBraked = false
  #link: CloudLinkState['state'] = 'unknown'

  constructor(options: VoteOptions, store: ResultStore, add: (entry: NewEntry) => void) {
    this.#options = options
    this.#add = add
    store.vote.subscribe(outcome => this.#voted(outcome))
    store.endedVouch.subscribe(({ node, why }) => {
      if (this.#vouched.delete(node))
        add({ kind: 'vouch', nodes: [node], to: 'ended', note: describeVouchEnd(why) })
    })
    store.ownNode.subscribe(({ cloudLink }) => this.#linkIs(cloudLink))
    store.write.subscribe(write => this.#wrote(write))
    store.records.subscribe(records => {
      if (records !== undefined) this.#rosterIs(records.roster)
    })
  }

  /** What an earlier run recorded: nothing of it is recorded again. */
  continueFrom(entries: readonly HistoryEntry[]): void {
    this.#before = lastClasses(entries)
  }

  #voted({ state, changes, vouchMoved }: VoteOutcome): void {
    if (vouchMoved) this.#vouchMoved(state)
    if (!changes.state && changes.verdict.length === 0) return
    const { judgement, roster } = state
    this.#voiceIs(judgement.voice)
    if (judgement.brake !== this.#isBraked) {
      this.#isBraked = judgement.brake
      const limit = brakeLimit(roster.members.length, this.#options)
      this.#add({
        ...{ kind: 'brake', to: judgement.brake ? 'on' : 'off' },
        note: `${judgement.dead} of ${roster.members.length} nodes look dead, at most ${limit} may be condemned at one time`,
      })
    }
    for (const turn of this.#turns(state)) this.#turned(turn, state)
  }

  /** That an agent may not decide is news only after it could for the first time. */
  #voiceIs(voice: Voice): void {
    this.#hadVoice ||= voice === 'full'
    if (!this.#hadVoice || voice === this.#voice) return
    this.#add({ kind: 'voice', from: this.#voice, to: voice })
    this.#voice = voice
  }

  /** "Undecided" says something about a node only where this agent may decide, and did before. */
  #turns({ roster, judgement }: ZoneState): Iterable<Turn> {
    const turns = new Map<string, Turn>()
    roster.members.forEach(({ name }, index) => {
      const to = CLASSES[judgement.nodeClass[index]!]!
      const was = this.#classes.get(name)
      if (was === to) return
      if (to === 'undecided' && (was === undefined || judgement.voice !== 'full')) return
      this.#classes.set(name, to)
      const from = was ?? (this.#before.get(name) as NodeClass | undefined) ?? 'healthy'
      if (from === to) return
      const turn = turns.get(from + to) ?? { from, to, members: [] }
      turns.set(from + to, turn)
      turn.members.push(index)
    })
    return turns.values()
  }

  #turned({ from, to, members }: Turn, { roster, judgement }: ZoneState): void {
    const nodes = members.map(index => roster.members[index]!.name)
    const [index] = members
    const isOne = members.length === 1 && index !== undefined
    const note = isOne ? `${judgement.down[index]!} say down, ${judgement.up[index]!} up` : ''
    this.#add({ kind: 'class', nodes, from, to, note })
  }

  #vouchMoved({ roster, vouching }: ZoneState): void {
    roster.members.forEach(({ name }, index) => {
      if (!isVouched(vouching, index) || this.#vouched.has(name)) return
      this.#vouched.add(name)
      this.#add({ kind: 'vouch', nodes: [name], to: 'active' })
    })
  }

  #linkIs({ state, trouble = '' }: CloudLinkState): void {
    if (state === this.#link || state === 'unknown') return
    const from = this.#link
    this.#link = state
    if (from !== 'unknown' || state === 'cut')
      this.#add({ kind: 'cloud-link', from: from === 'unknown' ? null : from, to: state, note: trouble }) // prettier-ignore
  }

  /** A write that is tried again and again is recorded once. */
  #wrote({ node, kind, what, result, trouble }: WriteRecord): void {
    if (kind === 'event' || kind === 'lease') return
    const note = [`${kind}: ${what}`, trouble].filter(text => text !== '').join(': ')
    if (this.#writes.get(node) === `${result} ${note}`) return
    this.#writes.set(node, `${result} ${note}`)
    this.#add({ kind: 'write', nodes: [node], to: result, note })
  }

  #rosterIs(roster: Roster): void {
    const last = this.#roster
    this.#roster = roster
    const isMember = (name: string): boolean => roster.indexOf(name) !== undefined
    for (const names of [this.#classes, this.#vouched, this.#writes]) keepOnly(names, isMember)
    if (last === undefined || last.hash === roster.hash) return
    const names = ({ members }: Roster, other: Roster): string[] =>
      members.map(({ name }) => name).filter(name => other.indexOf(name) === undefined)
    const joined = names(roster, last)
    const left = names(last, roster)
    if (joined.length > 0) this.#add({ kind: 'members', nodes: joined, to: 'joined' })
    if (left.length > 0) this.#add({ kind: 'members', nodes: left, to: 'left' })
  }
}
