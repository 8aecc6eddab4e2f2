// SPDX-License-Identifier: Apache-2.0
import type { Kind } from './kinds.js'
import type { ProfileName } from './profiles.js'

/** Where an option stands in `--help` and in the reference. */
export type OptionGroup =
  'Node' | 'Listening' | 'Kubernetes' | 'Check' | 'Exchange' | 'Vote' | 'Vouching' | 'Log'

/** A name that SuperEdge's agent uses for the option. */
export interface Alias {
  readonly name: string
  /** SuperEdge counts in seconds: a bare number is one. */
  readonly seconds?: true
}

/** All that is known about one option; help, reference, parser and `--print-config` read nothing else. */
export interface Definition<T> {
  /** Kebab-case, without dashes in front; also the key in the config file. */
  readonly flag: string
  readonly group: OptionGroup
  readonly kind: Kind<T>
  /** As an operator would write it; undefined: must be given. */
  readonly default: string | undefined
  /** Values of profiles where they differ from the default. */
  readonly profiles?: Readonly<Partial<Record<ProfileName, string>>>
  /** One line, without a full stop. */
  readonly summary: string
  /** How it stands to its neighbours. */
  readonly relation?: string
  readonly aliases?: readonly Alias[]
  /** A further environment variable, as the downward API is usually mapped. */
  readonly env?: string
}

/** One definition for each option of `O`; the compiler finds a missing or an invented one. */
export type DefinitionsOf<O> = { readonly [K in keyof O]-?: Definition<O[K]> }

/** `check-period` → `EDGE_HEALTH_CHECK_PERIOD`. */
export const envName = (flag: string): string =>
  `EDGE_HEALTH_${flag.toUpperCase().replaceAll('-', '_')}`
