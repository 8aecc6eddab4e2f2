// SPDX-License-Identifier: Apache-2.0
import {
  describeSingles,
  openSources,
  resolveSingles,
  type Described,
} from '../../options/resolve.js'
import type { OptionSources, Origin } from '../../options/sources.js'
import { bridgeDefinitions, bridgeOptionSet } from './definitions.js'
import type { BridgeOptions } from './bridge-options.js'

/** The options, and which source won for each. */
export interface ResolvedBridgeOptions {
  readonly options: BridgeOptions
  readonly origin: Readonly<Record<keyof BridgeOptions, Origin>>
  /** What was accepted but does nothing; for the log. */
  readonly notices: readonly string[]
}

/**
 * Resolve, check and freeze. A flag wins over the environment, that over the config file, that over the default.
 * @throws InvalidInputError that names option (as its source spells it), rule and value.
 */
export const resolveBridgeOptions = (given: OptionSources): ResolvedBridgeOptions => {
  const opened = openSources(bridgeOptionSet, given)
  const { values, origin } = resolveSingles<BridgeOptions>(bridgeDefinitions, opened)
  return { options: Object.freeze(values), origin, notices: opened.notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeBridgeOptions = ({
  options,
  origin,
}: ResolvedBridgeOptions): readonly Described[] =>
  describeSingles<BridgeOptions>(bridgeDefinitions, { values: options, origin })
