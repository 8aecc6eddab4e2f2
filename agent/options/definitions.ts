// SPDX-License-Identifier: Apache-2.0
import type { AgentOptions } from './agent-options.js'
import { checkDefinitions } from './check-definitions.js'
import type { Definition, DefinitionsOf, OptionGroup } from './definition.js'
import { exchangeDefinitions } from './exchange-definitions.js'
import { nodeDefinitions } from './node-definitions.js'
import { pluginDefinitions } from './plugin-options.js'
import { voteDefinitions } from './vote-definitions.js'

/** An option that holds one value; the plugins are a list and apart. */
export type OptionKey = Exclude<keyof AgentOptions, 'plugins'>

/** Each option once: the only place that knows names, units, defaults and what they are for. */
export const definitions: DefinitionsOf<Pick<AgentOptions, OptionKey>> = {
  ...nodeDefinitions,
  ...checkDefinitions,
  ...exchangeDefinitions,
  ...voteDefinitions,
}

/** In the order of help and reference. */
export const groups: Readonly<Record<OptionGroup, string>> = {
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

/** Every definition, plugins too, group by group. */
export const allDefinitions: readonly Definition<unknown>[] = Object.keys(groups).flatMap(group =>
  [...optionKeys.map((key): Definition<unknown> => definitions[key]), ...pluginDefinitions].filter(
    definition => definition.group === group,
  ),
)

/** Flags of SuperEdge's agent that are accepted and do nothing: klog's, and where logs go. */
export const ignoredFlags: readonly string[] = [
  'alsologtostderr',
  'logtostderr',
  'stderrthreshold',
  'vmodule',
  'log-dir',
  'log-file',
  'log-file-max-size',
  'log-backtrace-at',
  'log-flush-frequency',
  'add-dir-header',
  'skip-headers',
  'skip-log-headers',
  'one-output',
]
