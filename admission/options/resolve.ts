// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import {
  describeSingles,
  openSources,
  resolveSingles,
  thingOf,
  type Described,
} from '../../options/resolve.js'
import type { OptionSources, Origin } from '../../options/sources.js'
import type { AdmissionOptions } from './admission-options.js'
import { admissionDefinitions, admissionOptionSet } from './definitions.js'

/** The options, and which source won for each. */
export interface ResolvedAdmissionOptions {
  readonly options: AdmissionOptions
  readonly origin: Readonly<Record<keyof AdmissionOptions, Origin>>
  /** What was accepted but does nothing; for the log. */
  readonly notices: readonly string[]
}

const check = (
  { mode, alwaysReachable, certFile, keyFile }: AdmissionOptions,
  origin: ResolvedAdmissionOptions['origin'],
): void => {
  if (alwaysReachable && mode !== 'superedge') {
    const thing = thingOf(admissionDefinitions.alwaysReachable.flag, origin.alwaysReachable)
    throw new InvalidInputError(thing, 'must be false unless --mode is superedge', true)
  }
  if ((certFile === undefined) === (keyFile === undefined)) return
  const [given, missing] = certFile === undefined ? ['key-file', 'cert-file'] : ['cert-file', 'key-file'] // prettier-ignore
  throw new InvalidInputError(`--${missing}`, `must be given with --${given}`, '')
}

/**
 * Resolve, check and freeze. A flag wins over the environment, that over the config file, that over the default.
 * @throws InvalidInputError that names option (as its source spells it), rule and value.
 */
export const resolveAdmissionOptions = (given: OptionSources): ResolvedAdmissionOptions => {
  const opened = openSources(admissionOptionSet, given)
  const { values, origin } = resolveSingles<AdmissionOptions>(admissionDefinitions, opened)
  check(values, origin)
  return { options: Object.freeze(values), origin, notices: opened.notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeAdmissionOptions = ({
  options,
  origin,
}: ResolvedAdmissionOptions): readonly Described[] =>
  describeSingles<AdmissionOptions>(admissionDefinitions, { values: options, origin })
