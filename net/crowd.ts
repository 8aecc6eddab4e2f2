// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../core/random.js'
import type { RemoteEnd, Sources } from './sources.js'

/** One connection. */
export interface Visitor extends RemoteEnd {
  /** How many of its requests are under way. */
  requests: number
  /** `Clock.now` of when it connected, or when a request of it began or ended. */
  activeAt: number
  /** Ends the connection at once. */
  readonly end: () => void
}

/** How many connections may be open at a time. */
export interface CrowdLimits {
  readonly total: number
  /** Of the total, how many strangers may have; the rest is the members' reserve. */
  readonly strangers: number
  readonly perStranger: number
  readonly perMember: number
}

interface Group {
  readonly isMember: boolean
  readonly visitors: readonly Visitor[]
}

const mostOf = (groups: readonly Group[]): readonly Visitor[] => {
  const most = Math.max(...groups.map(({ visitors }) => visitors.length))
  return groups.filter(({ visitors }) => visitors.length === most).flatMap(group => group.visitors)
}

/**
 * Who may be connected. A newcomer is let in; what is too much is ended for it: of the source that has most, the
 * connection that has done nothing for longest, else any. So nobody can hold what others need, and a source that is
 * within its share loses nothing to one that is not. Strangers never make a member leave.
 */
export class Crowd {
  readonly #limits: CrowdLimits
  readonly #sources: Sources
  readonly #random: Random
  readonly #unasked = new Set<Visitor>()
  readonly #byKey = new Map<string, Set<Visitor>>()
  readonly #keys = new Map<Visitor, string>()

  constructor(limits: CrowdLimits, sources: Sources, random: Random) {
    this.#limits = limits
    this.#sources = sources
    this.#random = random
  }

  get size(): number {
    return this.#unasked.size + this.#keys.size
  }

  /** Take in a newcomer. @returns who was ended for it, which may be the newcomer; undefined: nobody. */
  admit(newcomer: Visitor): Visitor | undefined {
    this.#unasked.add(newcomer)
    const { strangers, perStranger, perMember } = this.#limits
    // As long as no limit can be met nobody needs to know who they are, which may cost something.
    if (this.size <= Math.min(strangers, perStranger, perMember)) return undefined
    this.#ask()
    const visitors = this.#tooMany(newcomer)
    if (visitors === undefined) return undefined
    const ended = this.#choose(visitors, newcomer)
    this.leave(ended)
    ended.end()
    return ended
  }

  /** The connection is over. May be called twice. */
  leave(visitor: Visitor): void {
    this.#unasked.delete(visitor)
    const key = this.#keys.get(visitor)
    if (key === undefined) return
    this.#keys.delete(visitor)
    const group = this.#byKey.get(key)!
    group.delete(visitor)
    if (group.size === 0) this.#byKey.delete(key)
  }

  /** Whether it comes from a member, as far as that can be told. */
  isMember(end: RemoteEnd): boolean {
    const key = this.#sources.keyOf(end)
    return key !== undefined && this.#sources.isMember(key)
  }

  #ask(): void {
    for (const visitor of this.#unasked) {
      const key = this.#sources.keyOf(visitor)
      if (key === undefined) continue
      this.#unasked.delete(visitor)
      this.#keys.set(visitor, key)
      const group = this.#byKey.get(key)
      if (group === undefined) this.#byKey.set(key, new Set([visitor]))
      else group.add(visitor)
    }
  }

  /** Among whom somebody has to go; undefined when there is room. */
  #tooMany(newcomer: Visitor): readonly Visitor[] | undefined {
    const { total, strangers, perStranger, perMember } = this.#limits
    const key = this.#keys.get(newcomer)
    const isMember = key !== undefined && this.#sources.isMember(key)
    const own = key === undefined ? this.#unasked : this.#byKey.get(key)!
    if (own.size > (isMember ? perMember : perStranger)) return [...own]
    if (this.size <= strangers) return undefined
    const groups = this.#groups()
    const others = groups.filter(group => !group.isMember)
    const present = others.reduce((sum, { visitors }) => sum + visitors.length, 0)
    if (!isMember && present > strangers) return mostOf(others)
    if (this.size <= total) return undefined
    if (present > 0) return mostOf(others)
    const all = groups.flatMap(({ visitors }) => visitors)
    const idle = all.filter(visitor => visitor !== newcomer && visitor.requests === 0)
    return idle.length > 0 ? idle : mostOf(groups)
  }

  #groups(): Group[] {
    const groups = [...this.#byKey].map(([key, visitors]) => ({
      isMember: this.#sources.isMember(key),
      visitors: [...visitors],
    }))
    const unknown = [...this.#unasked]
    return unknown.length === 0 ? groups : [...groups, { isMember: false, visitors: unknown }]
  }

  #choose(visitors: readonly Visitor[], newcomer: Visitor): Visitor {
    const others = visitors.filter(visitor => visitor !== newcomer)
    const [first] = others
    if (first === undefined) return newcomer
    const idle = others.filter(({ requests }) => requests === 0)
    if (idle.length === 0) return others[this.#random.below(others.length)]!
    return idle.reduce((oldest, next) => (next.activeAt < oldest.activeAt ? next : oldest))
  }
}
