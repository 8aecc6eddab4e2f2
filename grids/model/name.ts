// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'
import type { ChildKind, Grid } from './grid.js'

/**
 * What the API allows of a name, and what of it pods are made of: a StatefulSet's name and a hash of ten characters label
 * its pods, whose host names have no dots.
 */
const RULES: Readonly<Record<ChildKind, { readonly max: number; readonly pattern: RegExp }>> = {
  Service: { max: 63, pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/ },
  Deployment: {
    max: 63,
    pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  },
  StatefulSet: { max: 52, pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/ },
}
const HASH_LENGTH = 8

/** A child that needs a name. */
export interface NameWish {
  readonly kind: ChildKind
  readonly grid: Grid
  /** What stands behind the grid's name: a unit, or `svc`. */
  readonly suffix: string
}

/** Whose child has a name now. */
export interface NameHolder {
  readonly gridUid: string
  /**
   * What stood behind the grid's name; undefined where the child does not say, as SuperEdge's do. Its label may lie: it
   * counts where it goes with the name.
   */
  readonly suffix: string | undefined
}

export type Naming =
  | { readonly ok: true; readonly name: string }
  /** Both names are another grid's. */
  | { readonly ok: false; readonly trouble: string }

const hashOf = ({ grid, suffix }: NameWish): string =>
  (id64(`${grid.kind}/${grid.namespace}/${grid.name}/${suffix}`) >> 32n)
    .toString(16)
    .padStart(HASH_LENGTH, '0')

const slugOf = (kind: ChildKind, text: string): string => {
  const slug = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  // Services begin with a letter.
  return slug.replace(kind === 'Service' ? /^[^a-z]+/ : /^-+/, '')
}

/** SuperEdge's name, `<grid>-<unit>`; undefined where the API would refuse it. */
export const plainName = ({ kind, grid, suffix }: NameWish): string | undefined => {
  const name = `${grid.name}-${suffix}`
  const { max, pattern } = RULES[kind]
  return name.length <= max && pattern.test(name) ? name : undefined
}

/** The name where SuperEdge's cannot be: `<grid>-<slug>-<8 hex>`, cut before the hash. */
export const hashedName = (wish: NameWish): string => {
  const { kind, grid, suffix } = wish
  const room = RULES[kind].max - HASH_LENGTH - 1
  const slug = slugOf(kind, `${grid.name}-${suffix}`).slice(0, room).replace(/-+$/, '')
  return `${slug === '' ? 'unit' : slug}-${hashOf(wish)}`
}

/** Under what key holders of names are told: `Deployment default/web-north`. */
export const nameKey = (kind: ChildKind, namespace: string, name: string): string =>
  `${kind} ${namespace}/${name}`

/** Older grids first; those that no apiserver has seen last. */
const orderOf = ({ kind, grid, suffix }: NameWish): string =>
  [grid.createdAt ?? '~', grid.namespace, grid.name, grid.kind, kind, suffix].join('\0')

/**
 * A name for each child, in the order of the wishes. Who has a name keeps it, whichever other grid comes and whatever the
 * reason for it was; else an older grid goes first. The same wishes and holders give the same names in any order.
 * @param held Names of living children by `nameKey`: children of grids only, a stranger's object is not made way for.
 */
export const assignNames = (
  wishes: readonly NameWish[],
  held: ReadonlyMap<string, NameHolder> = new Map(),
): readonly Naming[] => {
  const taken = new Set<string>()
  const names = new Map<NameWish, Naming>()
  const keyOf = ({ kind, grid }: NameWish, name: string): string =>
    nameKey(kind, grid.namespace, name)
  const take = (wish: NameWish, name: string): void => {
    taken.add(keyOf(wish, name))
    names.set(wish, { ok: true, name })
  }
  const candidates = (wish: NameWish): readonly string[] =>
    [plainName(wish) ?? [], hashedName(wish)].flat()
  const isOwn = (wish: NameWish, name: string): boolean => {
    const holder = held.get(keyOf(wish, name))
    if (holder === undefined || holder.gridUid !== wish.grid.uid) return false
    const { suffix = wish.suffix } = holder
    return suffix === wish.suffix || !candidates({ ...wish, suffix }).includes(name)
  }
  for (const wish of wishes) {
    const own = candidates(wish).find(name => isOwn(wish, name))
    if (own !== undefined) take(wish, own)
  }
  const waiting = wishes.filter(wish => !names.has(wish))
  const ordered = waiting.map(wish => [orderOf(wish), wish] as const)
  for (const [, wish] of ordered.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const free = candidates(wish).find(
      name => !taken.has(keyOf(wish, name)) && !held.has(keyOf(wish, name)),
    )
    if (free !== undefined) take(wish, free)
    else
      names.set(wish, {
        ok: false,
        trouble: `${candidates(wish).join(' and ')} are children of other grids`,
      })
  }
  return wishes.map(wish => names.get(wish)!)
}
