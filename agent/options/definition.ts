// SPDX-License-Identifier: Apache-2.0
import type { Definition } from '../../options/definition.js'
import type { ProfileName } from './profiles.js'

/** The section of `--help` and of the reference that lists the option. */
export type OptionGroup =
  'Node' | 'Listening' | 'Kubernetes' | 'Check' | 'Exchange' | 'Vote' | 'Vouching' | 'Log'

/** An option of the agent. */
export interface AgentDefinition<T> extends Definition<T> {
  readonly group: OptionGroup
  readonly profiles?: Readonly<Partial<Record<ProfileName, string>>>
}

/** One definition for each option of `O`; the compiler reports a missing or a superfluous one. */
export type DefinitionsOf<O> = { readonly [K in keyof O]-?: AgentDefinition<O[K]> }
