// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import {
  describeSingles,
  resolveOptions,
  thingOf,
  type Described,
  type Resolved,
  type ResolvedOptions,
} from '../../options/resolve.js'
import type { OptionSources } from '../../options/sources.js'
import type { AdmissionOptions } from './admission-options.js'
import { admissionDefinitions, admissionOptionSet } from './definitions.js'

const check = ({ values, origin }: Resolved<AdmissionOptions>): readonly string[] => {
  const { mode, alwaysReachable, certFile, keyFile } = values
  if (alwaysReachable && mode !== 'superedge') {
    const thing = thingOf(admissionDefinitions.alwaysReachable.flag, origin.alwaysReachable)
    throw new InvalidInputError(thing, 'must be false unless --mode is superedge', true)
  }
  if ((certFile === undefined) === (keyFile === undefined)) return []
  const [given, missing] = certFile === undefined ? ['key-file', 'cert-file'] : ['cert-file', 'key-file'] // prettier-ignore
  throw new InvalidInputError(`--${missing}`, `must be given with --${given}`, '')
}

/** @throws InvalidInputError that names the option as its source spells it, the rule and the value */
export const resolveAdmissionOptions = (given: OptionSources): ResolvedOptions<AdmissionOptions> =>
  resolveOptions({ set: admissionOptionSet, definitions: admissionDefinitions }, given, check)

/** The options as text, in the order of the reference: the output of `--print-config`. */
export const describeAdmissionOptions = (
  resolved: ResolvedOptions<AdmissionOptions>,
): readonly Described[] => describeSingles(admissionDefinitions, resolved)
