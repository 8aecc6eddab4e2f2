// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../core/roster.js'

/** Members that left the roster, whose marks have to go. */
export class Departed {
  readonly #names = new Set<string>()
  #roster: Roster | undefined

  get names(): Iterable<string> {
    return this.#names
  }

  /** Look at the roster as it is now; returns who left it since the last look. */
  note(roster: Roster): readonly string[] {
    const last = this.#roster
    this.#roster = roster
    if (last === undefined || last === roster) return []
    const left = last.members
      .map(({ name }) => name)
      .filter(name => roster.indexOf(name) === undefined)
    for (const name of left) this.#names.add(name)
    for (const { name } of roster.members) this.#names.delete(name)
    return left
  }

  /** Its marks are gone, or are not ours to take off. */
  forget(name: string): void {
    this.#names.delete(name)
  }
}
