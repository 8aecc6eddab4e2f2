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

/** Why the node's annotation is not used; undefined when it is, or there is none. */
export const maintenanceTrouble = ({
  annotations,
}: Pick<NodeView, 'annotations'>): string | undefined => {
  const text = annotations[MAINTENANCE_ANNOTATION]
  return text === undefined || parseInstant(text) !== undefined
    ? undefined
    : `annotation ${MAINTENANCE_ANNOTATION} must be an RFC 3339 time such as 2026-01-31T18:00:00Z, got ${JSON.stringify(text.slice(0, 80))}`
}

/** @param wall epoch ms @returns undefined for a node that nobody works on, also where the annotation is past or no time. */
export const maintenanceOf = (
  { annotations, isCordoned }: Pick<NodeView, 'annotations' | 'isCordoned'>,
  wall: number,
): Maintenance | undefined => {
  const at = parseInstant(annotations[MAINTENANCE_ANNOTATION] ?? '')
  if (at !== undefined && at > wall) return { by: 'annotation', until: new Date(at).toISOString() }
  return isCordoned === true ? { by: 'cordoned', until: null } : undefined
}
