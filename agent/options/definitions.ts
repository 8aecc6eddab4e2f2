// SPDX-License-Identifier: Apache-2.0
import { inGroups, type OptionSet } from '../../options/definition.js'
import { klogFlags } from '../../options/klog.js'
import type { AgentOptions } from './agent-options.js'
import { checkDefinitions } from './check-definitions.js'
import type { DefinitionsOf, OptionGroup } from './definition.js'
import { exchangeDefinitions } from './exchange-definitions.js'
import { nodeDefinitions } from './node-definitions.js'
import { pluginDefinitions } from './plugin-options.js'
import { PROFILES } from './profiles.js'
import { voteDefinitions } from './vote-definitions.js'

/** An option that holds one value; the plugins are a list and are defined separately. */
export type OptionKey = Exclude<keyof AgentOptions, 'plugins'>

/** Each option once: the only place that holds its name, unit, default and description. */
export const definitions: DefinitionsOf<Pick<AgentOptions, OptionKey>> = {
  ...nodeDefinitions,
  ...checkDefinitions,
  ...exchangeDefinitions,
  ...voteDefinitions,
}

/** In the order of help and reference. */
const groups: Readonly<Record<OptionGroup, string>> = {
  Node: 'Who we are',
  Listening: 'Where we listen',
  Kubernetes: 'How Kubernetes is reached',
  Check: 'How peers are probed',
  Exchange: 'How results travel',
  Vote: 'How the zone decides and what it writes',
  Vouching: 'How a node that is cut from the cloud is kept',
  Log: 'What is logged',
}

export const optionKeys = Object.keys(definitions) as readonly OptionKey[]

/** The agent's options, plugins too. */
export const agentOptionSet: OptionSet = {
  command: 'agent',
  example: definitions.checkPeriodMs.flag,
  groups,
  definitions: inGroups(groups, [...optionKeys.map(key => definitions[key]), ...pluginDefinitions]),
  profiles: PROFILES,
  ignored: klogFlags,
}
