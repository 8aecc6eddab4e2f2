// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { isLoopback } from '../../core/loopback.js'
import {
  describeSingles,
  openSources,
  resolveSingles,
  thingOf,
  type Described,
  type Resolved,
} from '../../options/resolve.js'
import type { OptionSources, Origin } from '../../options/sources.js'
import { wrapperDefinitions, wrapperOptionSet } from './definitions.js'
import type { WrapperOptions } from './wrapper-options.js'

/** The options, and which source won for each. */
export interface ResolvedWrapperOptions {
  readonly options: WrapperOptions
  readonly origin: Readonly<Record<keyof WrapperOptions, Origin>>
  /** Accepted options that have no effect, or are unwise; for the log. */
  readonly notices: readonly string[]
}

const FILES = ['caFile', 'certFile', 'keyFile'] as const

const checkRules = ({ values: o, origin }: Resolved<WrapperOptions>): void => {
  const refuse = (key: keyof WrapperOptions, rule: string): never => {
    const { flag, kind } = wrapperDefinitions[key]
    throw new InvalidInputError(thingOf(flag, origin[key]), rule, kind.format(o[key] as never))
  }
  if (o.insecure && !isLoopback(o.bindAddress.host))
    refuse('bindAddress', 'must be loopback while --insecure is true')
  for (const key of FILES)
    if (!o.insecure && o[key] === undefined) refuse(key, 'must be given when --insecure is false')
  const { bindAddress, statusAddress } = o
  if (bindAddress.port === statusAddress.port && bindAddress.host === statusAddress.host)
    refuse('statusAddress', 'must differ from --bind-address')
}

const noticesOf = ({ values: o, origin }: Resolved<WrapperOptions>): readonly string[] => [
  ...FILES.flatMap(key =>
    o.insecure && o[key] !== undefined
      ? [`${thingOf(wrapperDefinitions[key].flag, origin[key])} is not used: --insecure is true`]
      : [],
  ),
  ...(isLoopback(o.statusAddress.host)
    ? []
    : [
        `--status-address ${o.statusAddress.host} is not loopback: whoever reaches it reads /status`,
      ]),
]

/**
 * Resolve, check and freeze. A flag wins over the environment, that over the config file, that over the default.
 * @throws InvalidInputError that names option (as its source spells it), rule and value.
 */
export const resolveWrapperOptions = (given: OptionSources): ResolvedWrapperOptions => {
  const opened = openSources(wrapperOptionSet, given)
  const resolved = resolveSingles<WrapperOptions>(wrapperDefinitions, opened)
  checkRules(resolved)
  const { values, origin } = resolved
  const notices = [...opened.notices, ...noticesOf(resolved)]
  return { options: Object.freeze(values), origin, notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeWrapperOptions = ({
  options,
  origin,
}: ResolvedWrapperOptions): readonly Described[] =>
  describeSingles<WrapperOptions>(wrapperDefinitions, { values: options, origin })
