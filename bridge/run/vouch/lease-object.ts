// SPDX-License-Identifier: Apache-2.0
import type { JsonMap } from '../../../core/json.js'
import { mapAt } from '../../../core/json-at.js'
import { microTime } from '../../../kube/client/micro-time.js'
import { metadataOf } from '../../model/merge/tidy.js'
import { GAP_ANNOTATION, type SeenLease } from '../../model/vouch/gap.js'

/** When a Lease was renewed and for how long; undefined when that is missing. */
export const seenLease = (lease: JsonMap | undefined): SeenLease | undefined => {
  const { renewTime, leaseDurationSeconds } = mapAt(lease, 'spec')
  const renewedAt = typeof renewTime === 'string' ? Date.parse(renewTime) : NaN
  if (Number.isNaN(renewedAt) || typeof leaseDurationSeconds !== 'number') return undefined
  return { renewedAt, durationMs: leaseDurationSeconds * 1_000 }
}

/** The annotations of an object that are text. */
export const annotationsOf = (object: JsonMap | undefined): Readonly<Record<string, string>> => {
  const texts = Object.entries(mapAt(object, 'metadata', 'annotations')).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return Object.fromEntries(texts)
}

/** The Lease with a new time, and an annotation that says since when a bridge renews it. Times are epoch ms. */
export const renewedLease = (
  lease: JsonMap,
  { renewTime, since }: { readonly renewTime: number; readonly since: number },
): JsonMap => {
  const metadata = metadataOf(lease)
  const annotations = {
    ...mapAt(metadata, 'annotations'),
    [GAP_ANNOTATION]: new Date(since).toISOString(),
  }
  return {
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    metadata: { ...metadata, managedFields: undefined, annotations },
    spec: { ...mapAt(lease, 'spec'), renewTime: microTime(renewTime) },
  }
}
