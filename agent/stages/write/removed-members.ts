// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import { quorumOf } from '../../../vote/quorum.js'

/** A node that still has marks after this time is left as it is. */
const KEPT_MS = 3_600_000

interface Left {
  /** The last roster that had it. */
  readonly from: Roster
  readonly at: number
}

/**
 * Members that left our roster, whose marks have to go. Only the members that stay do this, and only while they are
 * most of the zone that had them: an agent that left the zone itself, is alone in it, or was given a list that lacks most
 * of it removes no marks.
 */
export class RemovedMembers {
  readonly #left = new Map<string, Left>()
  #roster: Roster | undefined

  get names(): Iterable<string> {
    return this.#left.keys()
  }

  has(name: string): boolean {
    return this.#left.has(name)
  }

  /** Look at the roster as it is now. @returns whether it changed since the last look. */
  note(roster: Roster, now: number): boolean {
    const last = this.#roster
    this.#roster = roster
    for (const [name, { at }] of this.#left) if (now >= at + KEPT_MS) this.#left.delete(name)
    if (last === undefined || last === roster) return false
    // This node moved to another zone: those who stay are in the old one.
    if (last.zone !== roster.zone) this.#left.clear()
    else for (const { name } of last.members) this.#left.set(name, { from: last, at: now })
    for (const { name } of roster.members) this.#left.delete(name)
    return true
  }

  /** Whether those who are in `roster` were most of the members that the zone had when the node was last one. */
  isOursToClean(name: string, roster: Roster): boolean {
    const { members = [] } = this.#left.get(name)?.from ?? {}
    const staying = members.filter(member => roster.indexOf(member.name) !== undefined)
    return members.length > 0 && staying.length >= quorumOf(members.length)
  }

  /** Its marks are gone, or are not ours to take off. */
  forget(name: string): void {
    this.#left.delete(name)
  }
}
