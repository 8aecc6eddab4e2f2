// SPDX-License-Identifier: Apache-2.0
import {
  describeSingles,
  resolveOptions,
  type Described,
  type ResolvedOptions,
} from '../../options/resolve.js'
import type { OptionSources } from '../../options/sources.js'
import { bridgeDefinitions, bridgeOptionSet } from './definitions.js'
import type { BridgeOptions } from './bridge-options.js'

/** @throws InvalidInputError that names the option as its source spells it, the rule and the value */
export const resolveBridgeOptions = (given: OptionSources): ResolvedOptions<BridgeOptions> =>
  resolveOptions({ set: bridgeOptionSet, definitions: bridgeDefinitions }, given)

/** The options as text, in the order of the reference: the output of `--print-config`. */
export const describeBridgeOptions = (
  resolved: ResolvedOptions<BridgeOptions>,
): readonly Described[] => describeSingles(bridgeDefinitions, resolved)
