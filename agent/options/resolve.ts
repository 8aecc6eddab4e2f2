// SPDX-License-Identifier: Apache-2.0
import { isLoopback } from '../../core/loopback.js'
import {
  describeSingles,
  openSources,
  parseGiven,
  resolveSingles,
  thingOf,
  type Described,
} from '../../options/resolve.js'
import type { GivenByFlag, OptionSources, Origin } from '../../options/sources.js'
import type { PluginSpec } from '../../plugins/spec.js'
import type { AgentOptions } from './agent-options.js'
import { agentOptionSet, definitions, type OptionKey } from './definitions.js'
import { pluginDefinitions } from './plugin-options.js'
import { checkRules } from './rules.js'

/** The options, and which source won for each. */
export interface ResolvedAgentOptions {
  readonly options: AgentOptions
  readonly origin: Readonly<Record<keyof AgentOptions, Origin>>
  readonly profile: string
  /** Options that were accepted but do nothing, or are unwise; for the log. */
  readonly notices: readonly string[]
}

const resolvePlugins = (
  sources: readonly GivenByFlag[],
  notices: string[],
): { readonly plugins: readonly PluginSpec[]; readonly origin: Origin } => {
  for (const source of sources) {
    const given = pluginDefinitions.flatMap(definition =>
      (source.get(definition.flag) ?? []).map(one => ({ definition, one })),
    )
    if (given.length === 0) continue
    const plugins = given.map(({ definition, one }) => parseGiven(definition, one))
    for (const [index, { replaced }] of plugins.entries()) {
      if (replaced === undefined) continue
      const { definition, one } = given[index]!
      notices.push(
        `${thingOf(definition.flag, one.origin)}: --attempt-spacing, --attempt-tail, --attempts-min and --attempts-max replace ${replaced.join(' and ')}`,
      )
    }
    return { plugins, origin: given[0]!.one.origin }
  }
  const origin: Origin = { source: 'default' }
  return {
    plugins: pluginDefinitions.flatMap(definition =>
      definition.default === undefined
        ? []
        : [parseGiven(definition, { text: definition.default, origin })],
    ),
    origin,
  }
}

/**
 * Resolve, check and freeze. The first source that gives an option wins: flag, environment, config file, profile,
 * default. The first source that names any plugin gives the whole set of plugins.
 * @throws InvalidInputError that names the option (as its source spells it), the rule and the value.
 */
export const resolveAgentOptions = (given: OptionSources): ResolvedAgentOptions => {
  const opened = openSources(agentOptionSet, given)
  const { sources, profile, notices } = opened
  const { values, origin } = resolveSingles<Pick<AgentOptions, OptionKey>>(definitions, opened)
  const set = resolvePlugins(sources, notices)
  const options: AgentOptions = Object.freeze({ ...values, plugins: Object.freeze(set.plugins) })
  checkRules(options, (key: OptionKey) => thingOf(definitions[key].flag, origin[key]))
  if (!isLoopback(options.localAddress))
    notices.push(
      `--local-address ${options.localAddress} is not loopback: anybody who reaches it can read /status and /metrics`,
    )
  return { options, origin: { ...origin, plugins: set.origin }, profile, notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeOptions = ({
  options,
  origin,
}: ResolvedAgentOptions): readonly Described[] => {
  const plugins = pluginDefinitions.map(({ plugin, flag, kind }) => ({
    flag,
    texts: options.plugins.filter(spec => spec.name === plugin).map(spec => kind.format(spec)),
    origin: origin.plugins,
  }))
  return [
    ...describeSingles<Pick<AgentOptions, OptionKey>>(definitions, { options, origin }),
    ...plugins.filter(({ texts }) => texts.length > 0),
  ]
}
