// SPDX-License-Identifier: Apache-2.0
import { MAINTENANCE_ANNOTATION } from './marks.js'
import type { NodeView } from './node.js'

/** Announced work on a node: it is judged and marked as usual, but nobody is alerted. */
export interface Maintenance {
  /** `cordoned`: until it is uncordoned. */
  readonly by: 'annotation' | 'cordoned'
  /** ISO 8601; null for a cordoned node without the annotation. */
  readonly until: string | null
}

/** RFC 3339, section 5.6, without leap seconds, which `Date` does not know. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

/** Epoch ms; undefined when the text is not an RFC 3339 instant. */
export const parseInstant = (text: string): number | undefined => {
  const at = RFC_3339.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? undefined : at
}

/** Neither a mistyped year nor a client that may write the Node, such as its kubelet, must silence alerts for ever. */
const MOST_DAYS = 31
const MOST_MS = MOST_DAYS * 86_400_000

/** Why the node's annotation is ignored; undefined when it is used, is past or does not exist. @param wall epoch ms */
export const maintenanceTrouble = (
  { annotations }: Pick<NodeView, 'annotations'>,
  wall: number,
): string | undefined => {
  const text = annotations[MAINTENANCE_ANNOTATION]
  if (text === undefined) return undefined
  const at = parseInstant(text)
  const refused = (rule: string): string =>
    `annotation ${MAINTENANCE_ANNOTATION} must ${rule}, got ${JSON.stringify(text.slice(0, 80))}`
  if (at === undefined) return refused('be an RFC 3339 time such as 2026-01-31T18:00:00Z')
  return at > wall + MOST_MS ? refused(`lie at most ${MOST_DAYS} days ahead`) : undefined
}

/** @param wall epoch ms @returns undefined for a node without announced work; an annotation that is past, too far ahead or no time does not count */
export const maintenanceOf = (
  { annotations, isCordoned }: Pick<NodeView, 'annotations' | 'isCordoned'>,
  wall: number,
): Maintenance | undefined => {
  const at = parseInstant(annotations[MAINTENANCE_ANNOTATION] ?? '')
  if (at !== undefined && at > wall && at <= wall + MOST_MS)
    return { by: 'annotation', until: new Date(at).toISOString() }
  return isCordoned === true ? { by: 'cordoned', until: null } : undefined
}
