// SPDX-License-Identifier: Apache-2.0
import type { Kind } from './kinds.js'

/** A name that SuperEdge's program uses for the option. */
export interface Alias {
  readonly name: string
  /** SuperEdge counts in seconds: a bare number is one. */
  readonly seconds?: true
}

/** Everything about one option: help, reference, parser and `--print-config` are made from it. */
export interface Definition<T> {
  /** Kebab-case, without dashes in front; also the key in the config file. */
  readonly flag: string
  /** The section of `--help` and of the reference that lists it; one of the program's groups. */
  readonly group: string
  readonly kind: Kind<T>
  /** As an operator would write it; undefined: required or, for a list, empty. */
  readonly default: string | undefined
  /** Values of profiles where they differ from the default. */
  readonly profiles?: Readonly<Record<string, string>>
  /** One line, without a full stop. */
  readonly summary: string
  /** How it relates to other options. */
  readonly relation?: string
  readonly aliases?: readonly Alias[]
  /** A further environment variable, under the name that the downward API is usually mapped to. */
  readonly env?: string
  /** May be given more than once: all of them count. */
  readonly isList?: true
}

/** A definition for each option that holds one value, each in one of the program's groups. */
export type Definitions<O, Group extends string> = {
  readonly [K in keyof O]-?: Definition<O[K]> & { readonly group: Group }
}

/** All options of one program. */
export interface OptionSet {
  /** The command as it is typed: `agent`. */
  readonly command: string
  /** A flag with a duration, for explanations. */
  readonly example: string
  /** In the order of help and reference: name → title. */
  readonly groups: Readonly<Record<string, string>>
  /** Group by group. */
  readonly definitions: readonly Definition<unknown>[]
  /** Named sets of values, and the purpose of each; empty: the program has none. */
  readonly profiles: Readonly<Record<string, string>>
  /** SuperEdge's flags that are accepted and ignored, and why or what replaces them. */
  readonly ignored: Readonly<Record<string, string>>
}

/** `check-period` → `EDGE_HEALTH_CHECK_PERIOD`. */
export const envName = (flag: string): string =>
  `EDGE_HEALTH_${flag.toUpperCase().replaceAll('-', '_')}`

/** Every definition, group by group. */
export const inGroups = (
  groups: OptionSet['groups'],
  definitions: readonly Definition<unknown>[],
): readonly Definition<unknown>[] =>
  Object.keys(groups).flatMap(group => definitions.filter(each => each.group === group))
