// SPDX-License-Identifier: Apache-2.0
import type { ConfigProblem } from './results.js'

const CONSEQUENCES: Readonly<Record<ConfigProblem['inForce'], string>> = {
  'last-good': 'not used, the last good one stays',
  nothing: 'not used, and there was no good one before',
  itself: 'faulty, and used as it is',
}

/** The consequence of a faulty configuration: completes the sentence `NAME is …`. */
export const consequenceOf = ({ inForce }: ConfigProblem): string => CONSEQUENCES[inForce]
