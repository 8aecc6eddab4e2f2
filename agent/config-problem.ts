// SPDX-License-Identifier: Apache-2.0
import type { ConfigProblem } from './results.js'

const SO: Readonly<Record<ConfigProblem['inForce'], string>> = {
  'last-good': 'not used, the last good one stays',
  nothing: 'not used, and there was no good one before',
  itself: 'faulty, and used as it is',
}

/** What came of something faulty, behind its name and `is`. */
export const soText = ({ inForce }: ConfigProblem): string => SO[inForce]
