// SPDX-License-Identifier: Apache-2.0
// What many trials of a cell come to.
import type { Claim, Played } from './cell.js'

/** How often and how fast one claim of a cell came out. */
export interface Figure {
  /** Size and profile of the zone. */
  readonly zone: string
  readonly cell: string
  readonly claim: string
  readonly kind: Claim['kind']
  readonly trials: number
  readonly held: number
  /** Of those that held; ms from the last fault. */
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** Nearest rank. */
const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0

/** Another trial has other nodes in the parts. */
const anonymous = (claim: string): string => claim.replaceAll(/edge-\d+/g, 'a node')

/** A cell may claim the same twice, after each of two faults: they are counted apart. */
const numbered = (claims: readonly Claim[]): readonly Claim[] => {
  const seen = new Map<string, number>()
  return claims.map(claim => {
    const nth = (seen.get(claim.claim) ?? 0) + 1
    seen.set(claim.claim, nth)
    return nth === 1 ? claim : { ...claim, claim: `${claim.claim} (${nth})` }
  })
}

/** One line per claim of each cell, over all trials. */
export const figuresOf = (cells: readonly Played[]): readonly Figure[] => {
  const groups = new Map<string, { zone: string; cell: string; claims: Claim[] }>()
  for (const { zone, cell, claims } of cells)
    for (const claim of numbered(claims)) {
      const name = anonymous(claim.claim)
      const key = `${zone}\n${cell}\n${name}`
      const group = groups.get(key) ?? { zone, cell, claims: [] }
      group.claims.push({ ...claim, claim: name })
      groups.set(key, group)
    }
  return [...groups.values()].map(({ zone, cell, claims }) => {
    const held = claims.filter(claim => claim.ok)
    const sorted = held.map(claim => claim.ms).toSorted((a, b) => a - b)
    return {
      zone,
      cell,
      claim: claims[0]!.claim,
      kind: claims[0]!.kind,
      trials: claims.length,
      held: held.length,
      p50: Math.round(percentile(sorted, 0.5)),
      p99: Math.round(percentile(sorted, 0.99)),
      max: Math.round(sorted.at(-1) ?? 0),
    }
  })
}
