// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../core/errors.js'
import type { ConfigFile } from './config-file.js'
import { envName, type OptionSet } from './definition.js'
import { suggestion } from './nearest.js'

/** Which source gave a value. */
export type Origin =
  | { readonly source: 'flag'; readonly name: string }
  | { readonly source: 'env'; readonly name: string }
  | { readonly source: 'config'; readonly path: string; readonly name: string }
  | { readonly source: 'profile'; readonly name: string }
  | { readonly source: 'default' }

/** The text of a value, and where it was given. */
export interface Given {
  readonly text: string
  readonly origin: Origin
}

/** What one source gives, by our own name of the flag, in order. */
export type GivenByFlag = ReadonlyMap<string, readonly Given[]>

/** Everything that may give options. */
export interface OptionSources {
  /** In the order of the command line; names without dashes, ours or SuperEdge's. */
  readonly flags: readonly { readonly name: string; readonly text: string }[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly config?: ConfigFile | undefined
}

/** Flags that belong to no program's option set: `--config` and `--profile`. */
const metaFlags = ({ profiles }: OptionSet): readonly string[] =>
  Object.keys(profiles).length === 0 ? ['config'] : ['profile', 'config']

const ownFlags = (set: OptionSet): ReadonlySet<string> =>
  new Set([...metaFlags(set), ...set.definitions.map(definition => definition.flag)])

interface Translation {
  readonly flag: string
  readonly seconds: boolean
}

/** SuperEdge's name → our flags; one name may set several. */
const aliasesOf = (set: OptionSet): ReadonlyMap<string, readonly Translation[]> => {
  const aliases = new Map<string, Translation[]>()
  for (const { flag, aliases: list = [] } of set.definitions) {
    for (const { name, seconds = false } of list) {
      aliases.set(name, [...(aliases.get(name) ?? []), { flag, seconds }])
    }
  }
  return aliases
}

/** Every accepted name that is not ours; the command line declares them but does not show them in the help. */
export const foreignFlags = (set: OptionSet): readonly string[] => [
  ...aliasesOf(set).keys(),
  'v',
  ...Object.keys(set.ignored),
]

const add = (into: Map<string, Given[]>, flag: string, given: Given): void => {
  const list = into.get(flag)
  if (list === undefined) into.set(flag, [given])
  else list.push(given)
}

/** The log level for klog's verbosity: 4 and above is `debug`. */
export const levelOfVerbosity = (verbosity: number): 'debug' | 'info' =>
  verbosity >= 4 ? 'debug' : 'info'

/** @throws InvalidInputError unless it is a whole number from 0 to 10. */
export const parseVerbosity = (thing: string, text: string): number => {
  if (!/^(\d|10)$/.test(text)) {
    throw new InvalidInputError(thing, 'must be a whole number from 0 to 10', text)
  }
  return Number(text)
}

type Flag = OptionSources['flags'][number]

const readForeignFlag = (
  { name, text }: Flag,
  translations: readonly Translation[],
  into: Map<string, Given[]>,
): boolean => {
  const origin: Origin = { source: 'flag', name: `--${name}` }
  if (name === 'v') {
    add(into, 'log-level', { text: levelOfVerbosity(parseVerbosity('--v', text)), origin })
    return true
  }
  for (const { flag, seconds } of translations) {
    add(into, flag, { text: seconds && /^\d+$/.test(text) ? `${text}s` : text, origin })
  }
  return translations.length > 0
}

/** Group flags by our own names. SuperEdge's names are translated; those that do nothing are dropped with a notice. */
export const readFlags = (
  set: OptionSet,
  flags: OptionSources['flags'],
  notices: string[],
): GivenByFlag => {
  const into = new Map<string, Given[]>()
  const own = ownFlags(set)
  const aliases = aliasesOf(set)
  for (const { name, text } of flags) {
    if (own.has(name)) {
      add(into, name, { text, origin: { source: 'flag', name: `--${name}` } })
      continue
    }
    if (readForeignFlag({ name, text }, aliases.get(name) ?? [], into)) continue
    const why = set.ignored[name.replaceAll('_', '-')]
    if (why === undefined)
      throw new InvalidInputError(
        'option',
        `must be a known one${suggestion(name, [...own], '--')}`,
        `--${name}`,
      )
    notices.push(`--${name} is accepted for compatibility with SuperEdge and does nothing: ${why}`)
  }
  return into
}

/** Variables for `status` and `explain`, which are not options of the programs. */
const CLIENT_VARIABLES = ['EDGE_HEALTH_AGENT', 'EDGE_HEALTH_WRAPPER']

/** Variables that Kubernetes sets in every Pod for a Service named edge-health. */
const isServiceLink = (name: string, text: string): boolean =>
  /_SERVICE_(HOST|PORT(_.*)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_.*)?$/.test(name) ||
  (name === 'EDGE_HEALTH_PORT' && /^(tcp|udp|sctp):\/\//.test(text))

/** Variable → our flag; a further name, such as NODE_NAME, counts only while our own variable is not given. */
const variables = (set: OptionSet, env: OptionSources['env']): Map<string, string> => {
  const byName = new Map<string, string>(metaFlags(set).map(flag => [envName(flag), flag]))
  for (const { flag, env: other } of set.definitions) {
    byName.set(envName(flag), flag)
    if (other !== undefined && (env[envName(flag)] ?? '') === '') byName.set(other, flag)
  }
  return byName
}

/** Empty variables count as not given. An unknown EDGE_HEALTH_ name is only a notice: it may be another program's. */
export const readEnv = (
  set: OptionSet,
  env: OptionSources['env'],
  notices: string[],
): GivenByFlag => {
  const into = new Map<string, Given[]>()
  const byName = variables(set, env)
  for (const [name, text = ''] of Object.entries(env)) {
    if (text === '' || CLIENT_VARIABLES.includes(name) || isServiceLink(name, text)) continue
    const flag = byName.get(name)
    if (flag !== undefined) add(into, flag, { text, origin: { source: 'env', name } })
    else if (name.startsWith('EDGE_HEALTH_'))
      notices.push(`${name} is not an option${suggestion(name, [...byName.keys()])}`)
  }
  return into
}

/** The texts of a value: one, or several for a list option; undefined for anything else. */
const textsOf = (value: unknown, isList: boolean): readonly string[] | undefined => {
  if (value === null) return ['']
  const texts: readonly unknown[] = isList && Array.isArray(value) ? value : [value]
  return texts.every(text => typeof text === 'string') ? texts : undefined
}

/**
 * Read a config file: the key of an option is its flag without the leading dashes. Values are taken as they are written.
 * @throws InvalidInputError that names file and key, and for an unknown key the most similar known one
 */
export const readConfig = (set: OptionSet, { path, values }: ConfigFile): GivenByFlag => {
  const into = new Map<string, Given[]>()
  const own = ownFlags(set)
  const lists = new Set(set.definitions.filter(each => each.isList).map(each => each.flag))
  if (values === null || values === '') return into
  if (typeof values !== 'object' || Array.isArray(values))
    throw new InvalidInputError(path, 'must be a map of options', values)
  for (const [flag, value] of Object.entries(values)) {
    if (!own.has(flag) || flag === 'config') {
      const rule = `must be the name of an option${suggestion(flag, [...own])}`
      throw new InvalidInputError(`${path}: key`, rule, flag)
    }
    const thing = `${path}: ${flag}`
    const texts = textsOf(value, lists.has(flag))
    if (texts === undefined) throw new InvalidInputError(thing, 'must be a single value', values)
    const origin: Origin = { source: 'config', path, name: flag }
    for (const one of texts) add(into, flag, { text: one, origin })
  }
  return into
}
