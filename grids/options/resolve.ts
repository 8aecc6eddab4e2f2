// SPDX-License-Identifier: Apache-2.0
import {
  describeSingles,
  resolveOptions,
  type Described,
  type ResolvedOptions,
} from '../../options/resolve.js'
import type { OptionSources } from '../../options/sources.js'
import { gridsDefinitions, gridsOptionSet } from './definitions.js'
import type { GridsOptions } from './grids-options.js'

/** @throws InvalidInputError that names the option as its source spells it, the rule and the value */
export const resolveGridsOptions = (given: OptionSources): ResolvedOptions<GridsOptions> =>
  resolveOptions({ set: gridsOptionSet, definitions: gridsDefinitions }, given)

/** The options as text, in the order of the reference: the output of `--print-config`. */
export const describeGridsOptions = (
  resolved: ResolvedOptions<GridsOptions>,
): readonly Described[] => describeSingles(gridsDefinitions, resolved)
