// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { isLoopback } from '../../core/loopback.js'
import {
  describeSingles,
  resolveOptions,
  thingOf,
  type Described,
  type Resolved,
  type ResolvedOptions,
} from '../../options/resolve.js'
import type { OptionSources } from '../../options/sources.js'
import { wrapperDefinitions, wrapperOptionSet } from './definitions.js'
import type { WrapperOptions } from './wrapper-options.js'

const FILES = ['caFile', 'certFile', 'keyFile'] as const

/** Two polls in a row may fail or be late before the last report is too old. */
const INTERVALS = 3

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
  const { isOn, intervalMs } = o.autonomy
  const isGiven = origin.healthLimitMs.source !== 'default'
  if (isGiven && isOn && o.healthLimitMs < INTERVALS * intervalMs)
    refuse(
      'healthLimitMs',
      `must be at least ${INTERVALS} times interval=${intervalMs / 1_000} of --${wrapperDefinitions.autonomy.flag}`,
    )
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
        `--status-address ${o.statusAddress.host} is not loopback: anybody who reaches it can read /status`,
      ]),
]

/** The default of `--health-limit` follows the interval: SuperEdge's flags alone must not be refused. */
const withDefaults = (
  resolved: ResolvedOptions<WrapperOptions>,
): ResolvedOptions<WrapperOptions> => {
  const { options, origin } = resolved
  const leastMs = INTERVALS * options.autonomy.intervalMs
  if (origin.healthLimitMs.source !== 'default' || options.healthLimitMs >= leastMs) return resolved
  return { ...resolved, options: Object.freeze({ ...options, healthLimitMs: leastMs }) }
}

/** @throws InvalidInputError that names option (as its source spells it), rule and value. */
export const resolveWrapperOptions = (given: OptionSources): ResolvedOptions<WrapperOptions> =>
  withDefaults(
    resolveOptions({ set: wrapperOptionSet, definitions: wrapperDefinitions }, given, resolved => {
      checkRules(resolved)
      return noticesOf(resolved)
    }),
  )

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeWrapperOptions = (
  resolved: ResolvedOptions<WrapperOptions>,
): readonly Described[] => describeSingles(wrapperDefinitions, resolved)
