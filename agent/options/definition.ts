// SPDX-License-Identifier: Apache-2.0
import type { Definition } from '../../options/definition.js'
import type { ProfileName } from './profiles.js'

/** Where an option stands in `--help` and in the reference. */
export type OptionGroup =
  'Node' | 'Listening' | 'Kubernetes' | 'Check' | 'Exchange' | 'Vote' | 'Vouching' | 'Log'

/** An option of the agent. */
export interface AgentDefinition<T> extends Definition<T> {
  readonly group: OptionGroup
  readonly profiles?: Readonly<Partial<Record<ProfileName, string>>>
}

/** One definition for each option of `O`; the compiler finds a missing or an invented one. */
export type DefinitionsOf<O> = { readonly [K in keyof O]-?: AgentDefinition<O[K]> }
