// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../core/errors.js'
import type { Definition, OptionSet } from './definition.js'
import { oneOf } from './kinds.js'
import {
  readConfig,
  readEnv,
  readFlags,
  type Given,
  type GivenByFlag,
  type OptionSources,
  type Origin,
} from './sources.js'

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

/** How an error names an option: as its source spells it. */
export const thingOf = (flag: string, origin: Origin): string => {
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

/** @throws InvalidInputError that names the option as its source spells it, the rule and the text. */
export const parseGiven = <T>({ flag, kind }: Definition<T>, { text, origin }: Given): T => {
  const thing = thingOf(flag, origin)
  const parsed = kind.parse(text.trim(), thing)
  if (parsed !== undefined) return parsed.value
  throw new InvalidInputError(thing, kind.rule, text)
}

const resolveProfile = (set: OptionSet, sources: readonly GivenByFlag[]): string => {
  for (const source of sources) {
    const given = source.get('profile')?.at(-1)
    if (given === undefined) continue
    const kind = oneOf(...Object.keys(set.profiles))
    const profile = kind.parse(given.text, 'profile')
    if (profile !== undefined) return profile.value
    throw new InvalidInputError(thingOf('profile', given.origin), kind.rule, given.text)
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
  profile: string,
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
  throw new InvalidInputError(`--${definition.flag}`, `must be given${also}`, undefined)
}

/** What the sources give, before any value is parsed. */
export interface OpenedSources {
  /** In order of precedence, the highest first. */
  readonly sources: readonly GivenByFlag[]
  readonly profile: string
  /** Options that were accepted but have no effect; for the log. */
  readonly notices: string[]
}

/**
 * Read all sources. The first that gives an option wins: flag, environment, config file, profile, default.
 * @throws InvalidInputError for an unknown name
 */
export const openSources = (set: OptionSet, given: OptionSources): OpenedSources => {
  const notices: string[] = []
  const sources = [readFlags(set, given.flags, notices), readEnv(set, given.env, notices)]
  if (given.config !== undefined) sources.push(readConfig(set, given.config))
  return { sources, profile: resolveProfile(set, sources), notices }
}

/** Definitions of options that hold one value each. */
export type SingleDefinitions<O> = { readonly [K in keyof O]-?: Definition<O[K]> }

/** Values, and the source of each. */
export interface Resolved<O> {
  readonly values: O
  readonly origin: Readonly<Record<keyof O, Origin>>
}

/** Resolve each option that holds one value. @throws InvalidInputError */
export const resolveSingles = <O>(
  definitions: SingleDefinitions<O>,
  { sources, profile }: OpenedSources,
): Resolved<O> => {
  const values: Partial<O> = {}
  const origin: Partial<Record<keyof O, Origin>> = {}
  for (const key of Object.keys(definitions) as (keyof O)[]) {
    const definition = definitions[key]
    const won = pick(definition, sources, profile)
    values[key] = parseGiven(definition, won)
    origin[key] = won.origin
  }
  // The compiler has checked the kind of each definition against O, and the loop has set each key.
  return { values: values as O, origin: origin as Record<keyof O, Origin> }
}

/** All options of a program, frozen, and the source of each. */
export interface ResolvedOptions<O> {
  readonly options: O
  readonly origin: Resolved<O>['origin']
  /** Options that were accepted but do nothing, or are unwise; for the log. */
  readonly notices: readonly string[]
}

/**
 * Resolve, check and freeze options that hold one value each. The first source that gives an option wins: flag,
 * environment, config file, default.
 * @param check returns warnings about unwise options; throws InvalidInputError when options contradict each other
 * @throws InvalidInputError that names the option (as its source spells it), the rule and the value.
 */
export const resolveOptions = <O>(
  { set, definitions }: { readonly set: OptionSet; readonly definitions: SingleDefinitions<O> },
  given: OptionSources,
  check: (resolved: Resolved<O>) => readonly string[] = () => [],
): ResolvedOptions<O> => {
  const opened = openSources(set, given)
  const resolved = resolveSingles<O>(definitions, opened)
  const notices = [...opened.notices, ...check(resolved)]
  return { options: Object.freeze(resolved.values), origin: resolved.origin, notices }
}

/** An option as text: a line of `--print-config`. */
export interface Described {
  readonly flag: string
  readonly texts: readonly string[]
  readonly origin: Origin
}

/** Options that hold one value each, as text, in the order of their definitions. */
export const describeSingles = <O>(
  definitions: SingleDefinitions<O>,
  { options, origin }: Pick<ResolvedOptions<O>, 'options' | 'origin'>,
): readonly Described[] =>
  (Object.keys(definitions) as (keyof O)[]).map(key => ({
    flag: definitions[key].flag,
    texts: [definitions[key].kind.format(options[key])],
    origin: origin[key],
  }))
