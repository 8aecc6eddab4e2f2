// SPDX-License-Identifier: Apache-2.0
import { MAINTENANCE_ANNOTATION } from './marks.js'
import type { NodeView } from './node.js'

/** Work on a node that its operators announced: it is judged and marked as ever, and nobody is alerted. */
export interface Maintenance {
  /** `cordoned`: until it is uncordoned. */
  readonly by: 'annotation' | 'cordoned'
  /** ISO 8601; null for a cordoned node without the annotation. */
  readonly until: string | null
}

/** RFC 3339, section 5.6; a leap second is none to `Date`. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/i

/** Epoch ms; undefined for text that is no RFC 3339 instant. */
export const parseInstant = (text: string): number | undefined => {
  const at = RFC_3339.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? undefined : at
}

/** Whoever may write the Node, which its kubelet may, must not silence it for ever, and neither must a mistyped year. */
const MOST_DAYS = 31
const MOST_MS = MOST_DAYS * 86_400_000

/** Why the node's annotation is not used; undefined when it is, is past, or there is none. @param wall epoch ms */
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

/** @param wall epoch ms @returns undefined for a node that nobody works on, also where the annotation is past, too far ahead, or no time. */
export const maintenanceOf = (
  { annotations, isCordoned }: Pick<NodeView, 'annotations' | 'isCordoned'>,
  wall: number,
): Maintenance | undefined => {
  const at = parseInstant(annotations[MAINTENANCE_ANNOTATION] ?? '')
  if (at !== undefined && at > wall && at <= wall + MOST_MS)
    return { by: 'annotation', until: new Date(at).toISOString() }
  return isCordoned === true ? { by: 'cordoned', until: null } : undefined
}
