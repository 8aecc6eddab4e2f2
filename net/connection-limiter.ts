// SPDX-License-Identifier: Apache-2.0
import type { Random } from '../core/random.js'
import type { RemoteEnd, Sources } from './sources.js'

/** An open connection, as the limiter sees it. */
export interface Connection extends RemoteEnd {
  /** Requests that are being answered. */
  requests: number
  /** `Clock.now` when it connected, or when its last request began or ended. */
  activeAt: number
  /** Closes it at once. */
  readonly end: () => void
}

/** Limits of open connections. */
export interface ConnectionLimits {
  readonly total: number
  /** Share of the total for strangers; the rest is reserved for members. */
  readonly strangers: number
  readonly perStranger: number
  readonly perMember: number
}

interface Group {
  readonly isMember: boolean
  readonly connections: readonly Connection[]
}

/** The connections of the groups that have most. */
const largestOf = (groups: readonly Group[]): readonly Connection[] => {
  const most = Math.max(...groups.map(({ connections }) => connections.length))
  return groups
    .filter(({ connections }) => connections.length === most)
    .flatMap(group => group.connections)
}

/**
 * Limits open connections, in total and per source. A new connection is always accepted; if that exceeds a limit, another
 * one is closed: among the connections of the source that has most, the one idle for longest or, if none is idle, a random
 * one. So nobody can occupy all connections, a source within its share loses none to one that exceeds its own, and a
 * stranger never displaces a member.
 */
export class ConnectionLimiter {
  readonly #limits: ConnectionLimits
  readonly #sources: Sources
  readonly #random: Random
  readonly #unidentified = new Set<Connection>()
  readonly #byKey = new Map<string, Set<Connection>>()
  readonly #keys = new Map<Connection, string>()

  constructor(limits: ConnectionLimits, sources: Sources, random: Random) {
    this.#limits = limits
    this.#sources = sources
    this.#random = random
  }

  get size(): number {
    return this.#unidentified.size + this.#keys.size
  }

  /**
   * Accept a new connection. @returns the connection that was closed for it, possibly the new one itself; undefined if none
   * was
   */
  admit(newcomer: Connection): Connection | undefined {
    this.#unidentified.add(newcomer)
    const { strangers, perStranger, perMember } = this.#limits
    // Identifying sources may be expensive, so only do it when a limit may be exceeded.
    if (this.size <= Math.min(strangers, perStranger, perMember)) return undefined
    this.#identify()
    const connections = this.#candidates(newcomer)
    if (connections === undefined) return undefined
    const ended = this.#choose(connections, newcomer)
    this.remove(ended)
    ended.end()
    return ended
  }

  /** The connection has closed. May be called twice. */
  remove(connection: Connection): void {
    this.#unidentified.delete(connection)
    const key = this.#keys.get(connection)
    if (key === undefined) return
    this.#keys.delete(connection)
    const group = this.#byKey.get(key)!
    group.delete(connection)
    if (group.size === 0) this.#byKey.delete(key)
  }

  /** Whether it comes from a member; false where the source cannot be identified. */
  isMember(end: RemoteEnd): boolean {
    const key = this.#sources.keyOf(end)
    return key !== undefined && this.#sources.isMember(key)
  }

  #identify(): void {
    for (const connection of this.#unidentified) {
      const key = this.#sources.keyOf(connection)
      if (key === undefined) continue
      this.#unidentified.delete(connection)
      this.#keys.set(connection, key)
      const group = this.#byKey.get(key)
      if (group === undefined) this.#byKey.set(key, new Set([connection]))
      else group.add(connection)
    }
  }

  /** The connections of which one must be closed; undefined while no limit is exceeded. */
  #candidates(newcomer: Connection): readonly Connection[] | undefined {
    const { total, strangers, perStranger, perMember } = this.#limits
    const key = this.#keys.get(newcomer)
    const isMember = key !== undefined && this.#sources.isMember(key)
    const own = key === undefined ? this.#unidentified : this.#byKey.get(key)!
    if (own.size > (isMember ? perMember : perStranger)) return [...own]
    if (this.size <= strangers) return undefined
    const groups = this.#groups()
    const others = groups.filter(group => !group.isMember)
    const present = others.reduce((sum, { connections }) => sum + connections.length, 0)
    if (!isMember && present > strangers) return largestOf(others)
    if (this.size <= total) return undefined
    if (present > 0) return largestOf(others)
    const all = groups.flatMap(({ connections }) => connections)
    const idle = all.filter(connection => connection !== newcomer && connection.requests === 0)
    return idle.length > 0 ? idle : largestOf(groups)
  }

  #groups(): Group[] {
    const groups = [...this.#byKey].map(([key, connections]) => ({
      isMember: this.#sources.isMember(key),
      connections: [...connections],
    }))
    const unknown = [...this.#unidentified]
    return unknown.length === 0 ? groups : [...groups, { isMember: false, connections: unknown }]
  }

  #choose(connections: readonly Connection[], newcomer: Connection): Connection {
    const others = connections.filter(connection => connection !== newcomer)
    const [first] = others
    if (first === undefined) return newcomer
    const idle = others.filter(({ requests }) => requests === 0)
    if (idle.length === 0) return others[this.#random.below(others.length)]!
    return idle.reduce((oldest, next) => (next.activeAt < oldest.activeAt ? next : oldest))
  }
}
