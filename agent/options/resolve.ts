// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import type { PluginSpec } from '../../plugins/spec.js'
import type { AgentOptions } from './agent-options.js'
import type { Definition } from './definition.js'
import { definitions, optionKeys, type OptionKey } from './definitions.js'
import { pluginDefinitions } from './plugin-options.js'
import { profileNames, type ProfileName } from './profiles.js'
import { checkRules } from './rules.js'
import { oneOf } from './kinds.js'
import {
  readConfig,
  readEnv,
  readFlags,
  type Given,
  type GivenByFlag,
  type Origin,
  type OptionSources,
} from './sources.js'

/** The options, and which source won for each. */
export interface ResolvedAgentOptions {
  readonly options: AgentOptions
  readonly origin: Readonly<Record<keyof AgentOptions, Origin>>
  readonly profile: ProfileName
  /** What was accepted but does nothing, or is unwise; for the log. */
  readonly notices: readonly string[]
}

/** Where a value came from, in words. */
export const originText = (origin: Origin): string => {
  switch (origin.source) {
    case 'flag':
    case 'env':
      return origin.name
    case 'config':
      return origin.path
    case 'profile':
      return `profile ${origin.name}`
    case 'default':
      return 'default'
  }
}

const thingOf = (flag: string, origin: Origin): string => {
  switch (origin.source) {
    case 'flag':
    case 'env':
      return origin.name
    case 'config':
      return `${origin.path}: ${origin.name}`
    case 'profile':
    case 'default':
      return `--${flag} (${originText(origin)})`
  }
}

const parseGiven = <T>({ flag, kind }: Definition<T>, { text, origin }: Given): T => {
  const thing = thingOf(flag, origin)
  const parsed = kind.parse(text.trim(), thing)
  if (parsed !== undefined) return parsed.value
  throw new InvalidInputError(thing, kind.rule, text)
}

const profileKind = oneOf(...profileNames)

const resolveProfile = (sources: readonly GivenByFlag[]): ProfileName => {
  for (const source of sources) {
    const given = source.get('profile')?.at(-1)
    if (given === undefined) continue
    const profile = profileKind.parse(given.text, 'profile')
    if (profile !== undefined) return profile.value
    throw new InvalidInputError(thingOf('profile', given.origin), profileKind.rule, given.text)
  }
  return 'default'
}

/** The path of the config file, from flag or environment; undefined when none was given. */
export const configPathOf = (sources: Pick<OptionSources, 'flags' | 'env'>): string | undefined =>
  sources.flags.findLast(flag => flag.name === 'config')?.text ??
  (sources.env['EDGE_HEALTH_CONFIG'] === '' ? undefined : sources.env['EDGE_HEALTH_CONFIG'])

const pick = (
  definition: Definition<unknown>,
  sources: readonly GivenByFlag[],
  profile: ProfileName,
): Given => {
  for (const source of sources) {
    const given = source.get(definition.flag)?.at(-1)
    if (given !== undefined) return given
  }
  const ofProfile = definition.profiles?.[profile]
  if (ofProfile !== undefined)
    return { text: ofProfile, origin: { source: 'profile', name: profile } }
  if (definition.default !== undefined)
    return { text: definition.default, origin: { source: 'default' } }
  const also = definition.env === undefined ? '' : `, or ${definition.env} in the environment`
  throw new InvalidInputError(`--${definition.flag}`, `must be given${also}`, null)
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
        `${thingOf(definition.flag, one.origin)}: --attempt-spacing, --attempt-tail, --attempts-min and --attempts-max stand in for ${replaced.join(' and ')}`,
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

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

/**
 * Resolve, check and freeze. A flag wins over the environment, that over the config file, that over the profile,
 * that over the default; any plugin in a source makes that source's plugins the whole set.
 * @throws InvalidInputError that names option (as its source spells it), rule and value.
 */
export const resolveAgentOptions = (given: OptionSources): ResolvedAgentOptions => {
  const notices: string[] = []
  const sources: GivenByFlag[] = [readFlags(given.flags, notices), readEnv(given.env, notices)]
  if (given.config !== undefined) sources.push(readConfig(given.config.path, given.config.text))
  const profile = resolveProfile(sources)
  const values: Partial<Record<keyof AgentOptions, unknown>> = {}
  const origin: Partial<Record<keyof AgentOptions, Origin>> = {}
  for (const key of optionKeys) {
    const definition: Definition<unknown> = definitions[key]
    const won = pick(definition, sources, profile)
    values[key] = parseGiven(definition, won)
    origin[key] = won.origin
  }
  const set = resolvePlugins(sources, notices)
  values.plugins = Object.freeze(set.plugins)
  origin.plugins = set.origin
  // Each key was filled by a definition whose kind the compiler has checked against AgentOptions.
  const options = Object.freeze(values) as unknown as AgentOptions
  const origins = origin as Record<keyof AgentOptions, Origin>
  checkRules(options, (key: OptionKey) => thingOf(definitions[key].flag, origins[key]))
  if (!isLoopback(options.localAddress))
    notices.push(
      `--local-address ${options.localAddress} is not loopback: whoever reaches it reads /status and /metrics`,
    )
  return { options, origin: origins, profile, notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeOptions = ({
  options,
  origin,
}: ResolvedAgentOptions): readonly { flag: string; texts: readonly string[]; origin: Origin }[] => {
  const list = optionKeys.map(key => ({
    flag: definitions[key].flag,
    texts: [(definitions[key] as Definition<unknown>).kind.format(options[key])],
    origin: origin[key],
  }))
  const plugins = pluginDefinitions.map(({ plugin, flag, kind }) => ({
    flag,
    texts: options.plugins.filter(spec => spec.name === plugin).map(spec => kind.format(spec)),
    origin: origin.plugins,
  }))
  return [...list, ...plugins.filter(({ texts }) => texts.length > 0)]
}
