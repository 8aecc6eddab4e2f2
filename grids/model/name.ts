// SPDX-License-Identifier: Apache-2.0
import { id64 } from '../../core/ids.js'
import { SUBDOMAIN } from '../../core/label.js'
import type { ChildKind, Grid } from './grid.js'

/**
 * Rules for names of children. They are stricter than the API's for what is derived from a name: a StatefulSet's pods have
 * its name with a hash of ten characters as a label value, and host names without dots.
 */
const RULES: Readonly<Record<ChildKind, { readonly max: number; readonly pattern: RegExp }>> = {
  Service: { max: 63, pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/ },
  Deployment: { max: 63, pattern: SUBDOMAIN },
  StatefulSet: { max: 52, pattern: /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/ },
}
const HASH_LENGTH = 8

/** A child that needs a name. */
export interface NameRequest {
  readonly kind: ChildKind
  readonly grid: Grid
  /** What follows the grid's name: a unit, or `svc`. */
  readonly suffix: string
}

/** The child that has a name now. */
export interface NameHolder {
  readonly gridUid: string
  /**
   * What follows the grid's name; undefined when the child does not say, as SuperEdge's do not. Labels may be wrong, so it
   * counts only if it fits the name.
   */
  readonly suffix: string | undefined
}

export type Naming =
  | { readonly ok: true; readonly name: string }
  /** Both possible names belong to another grid. */
  | { readonly ok: false; readonly trouble: string }

const hashOf = ({ grid, suffix }: NameRequest): string =>
  (id64(`${grid.kind}/${grid.namespace}/${grid.name}/${suffix}`) >> 32n)
    .toString(16)
    .padStart(HASH_LENGTH, '0')

const slugOf = (kind: ChildKind, text: string): string => {
  const slug = text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')
  // Names of Services begin with a letter.
  return slug.replace(kind === 'Service' ? /^[^a-z]+/ : /^-+/, '')
}

/** SuperEdge's form, `<grid>-<unit>`; undefined when that is not a valid name. */
export const plainName = ({ kind, grid, suffix }: NameRequest): string | undefined => {
  const name = `${grid.name}-${suffix}`
  const { max, pattern } = RULES[kind]
  return name.length <= max && pattern.test(name) ? name : undefined
}

/** The name when SuperEdge's form is not possible: `<grid>-<slug>-<8 hex>`, shortened before the hash. */
export const hashedName = (request: NameRequest): string => {
  const { kind, grid, suffix } = request
  const room = RULES[kind].max - HASH_LENGTH - 1
  const slug = slugOf(kind, `${grid.name}-${suffix}`).slice(0, room).replace(/-+$/, '')
  return `${slug === '' ? 'unit' : slug}-${hashOf(request)}`
}

/** The key under which holders of names are listed: `Deployment default/web-north`. */
export const nameKey = (kind: ChildKind, namespace: string, name: string): string =>
  `${kind} ${namespace}/${name}`

/** Older grids first, those that are in no cluster last. */
const orderOf = ({ kind, grid, suffix }: NameRequest): string =>
  [grid.createdAt ?? '~', grid.namespace, grid.name, grid.kind, kind, suffix].join('\0')

/**
 * A name for each child, in the order of the requests. A child keeps a name that it has; otherwise older grids choose
 * first. The result does not depend on the order of the arguments.
 * @param held names of existing children of grids, by `nameKey`; other objects are not avoided
 */
export const assignNames = (
  requests: readonly NameRequest[],
  held: ReadonlyMap<string, NameHolder> = new Map(),
): readonly Naming[] => {
  const taken = new Set<string>()
  const names = new Map<NameRequest, Naming>()
  const keyOf = ({ kind, grid }: NameRequest, name: string): string =>
    nameKey(kind, grid.namespace, name)
  const take = (request: NameRequest, name: string): void => {
    taken.add(keyOf(request, name))
    names.set(request, { ok: true, name })
  }
  const candidates = (request: NameRequest): readonly string[] =>
    [plainName(request) ?? [], hashedName(request)].flat()
  const isOwn = (request: NameRequest, name: string): boolean => {
    const holder = held.get(keyOf(request, name))
    if (holder === undefined || holder.gridUid !== request.grid.uid) return false
    const { suffix = request.suffix } = holder
    return suffix === request.suffix || !candidates({ ...request, suffix }).includes(name)
  }
  for (const request of requests) {
    const own = candidates(request).find(name => isOwn(request, name))
    if (own !== undefined) take(request, own)
  }
  const waiting = requests.filter(request => !names.has(request))
  const ordered = waiting.map(request => [orderOf(request), request] as const)
  for (const [, request] of ordered.sort(([a], [b]) => (a < b ? -1 : 1))) {
    const free = candidates(request).find(
      name => !taken.has(keyOf(request, name)) && !held.has(keyOf(request, name)),
    )
    if (free !== undefined) take(request, free)
    else
      names.set(request, {
        ok: false,
        trouble: `${candidates(request).join(' and ')} are children of other grids`,
      })
  }
  return requests.map(request => names.get(request)!)
}
