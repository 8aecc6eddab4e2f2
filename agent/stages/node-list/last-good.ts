// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../../core/errors.js'
import type { ConfigProblem } from '../../results.js'

/** A value from outside whose last good form stays in force when a new one is broken. */
export interface LastGood<T> {
  /** Undefined until there was a good one. */
  readonly value: T | undefined
  /** Why the newest one is not in force; undefined when it is. */
  readonly problem: ConfigProblem | undefined
  /**
   * Try a new one. The same `version` is not tried twice.
   * @param parse throws InvalidInputError for a broken one.
   * @returns true when the value in force is another one now.
   */
  offer(version: string, parse: () => T): boolean
}

/**
 * @param thing what it is, in messages.
 * @param first what was in force before the restart.
 * @param onProblem called once for each broken version.
 */
export const keepLastGood = <T>(
  thing: string,
  first: T | undefined,
  onProblem: (problem: ConfigProblem) => void,
  wall: () => number,
): LastGood<T> => {
  let value = first
  let problem: ConfigProblem | undefined
  let seen: string | undefined
  return {
    get value() {
      return value
    },
    get problem() {
      return problem
    },
    offer: (version, parse) => {
      if (version === seen) return false
      seen = version
      try {
        value = parse()
        problem = undefined
        return true
      } catch (error) {
        const inForce = value === undefined ? 'nothing' : 'last-good'
        problem = { thing, problem: reasonOf(error), inForce, since: wall() }
        onProblem(problem)
        return false
      }
    },
  }
}
