// SPDX-License-Identifier: Apache-2.0
import {
  describeSingles,
  openSources,
  resolveSingles,
  type Described,
} from '../../options/resolve.js'
import type { OptionSources, Origin } from '../../options/sources.js'
import { gridsDefinitions, gridsOptionSet } from './definitions.js'
import type { GridsOptions } from './grids-options.js'

/** The options, and which source won for each. */
export interface ResolvedGridsOptions {
  readonly options: GridsOptions
  readonly origin: Readonly<Record<keyof GridsOptions, Origin>>
  /** What was accepted but does nothing; for the log. */
  readonly notices: readonly string[]
}

/**
 * Resolve, check and freeze. A flag wins over the environment, that over the config file, that over the default.
 * @throws InvalidInputError that names option (as its source spells it), rule and value.
 */
export const resolveGridsOptions = (given: OptionSources): ResolvedGridsOptions => {
  const opened = openSources(gridsOptionSet, given)
  const { values, origin } = resolveSingles<GridsOptions>(gridsDefinitions, opened)
  return { options: Object.freeze(values), origin, notices: opened.notices }
}

/** The options as text, in the order of the reference: what `--print-config` shows. */
export const describeGridsOptions = ({
  options,
  origin,
}: ResolvedGridsOptions): readonly Described[] =>
  describeSingles<GridsOptions>(gridsDefinitions, { values: options, origin })
