// SPDX-License-Identifier: Apache-2.0
import type { EventWords } from '../../../plan/events.js'
import { consequenceOf } from '../../config-problem.js'
import type { ConfigProblem } from '../../results.js'

/** The Event about a ConfigMap or Secret that is not used. */
export const configEvent = (config: ConfigProblem): EventWords => ({
  ...{ type: 'Warning', reason: 'ConfigRefused', action: 'Reload' },
  note: `${config.thing} is ${consequenceOf(config)}: ${config.problem}`,
})
