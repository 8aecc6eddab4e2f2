// SPDX-License-Identifier: Apache-2.0
import type { Roster } from '../../../core/roster.js'
import type { ConfigProblem } from '../../results.js'

/** Which addresses belong to more than one member, in words; undefined when none does. */
const sharedAddresses = (roster: Roster): string | undefined => {
  const words = roster.members.flatMap(({ name, address }, index) => {
    const others = roster.sharersOf(index)
    return others.length === 0 || others.some(other => other < name)
      ? []
      : [`${[name, ...others].join(', ')} all have the InternalIP ${address}`]
  })
  return words.length === 0 ? undefined : words.sort().join('; ')
}

/** Several Nodes with one address: an answer from there says nothing about any of them until one of them signs. */
export class SharedAddresses {
  readonly #onProblem: (problem: ConfigProblem) => void
  #reviewed: Roster | undefined
  #problem: ConfigProblem | undefined

  /** @param onProblem called once for each set of addresses that are shared */
  constructor(onProblem: (problem: ConfigProblem) => void) {
    this.#onProblem = onProblem
  }

  /** Those of the roster that was reviewed last; none or one. */
  get problems(): readonly ConfigProblem[] {
    return this.#problem === undefined ? [] : [this.#problem]
  }

  /** @param wall when the roster was listed */
  review(roster: Roster, wall: number): void {
    if (roster === this.#reviewed) return
    this.#reviewed = roster
    const problem = sharedAddresses(roster)
    if (problem === this.#problem?.problem) return
    this.#problem =
      problem === undefined
        ? undefined
        : { thing: 'Nodes of the zone', problem, inForce: 'itself', since: wall }
    if (this.#problem !== undefined) this.#onProblem(this.#problem)
  }
}
