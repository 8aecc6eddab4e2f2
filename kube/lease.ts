// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseWith } from '../core/parse.js'
import type { LeaseView } from './api.js'

const leaseSchema = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.string() }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string()),
      renewTime: v.nullish(v.string()),
      leaseDurationSeconds: v.nullish(v.number()),
    }),
    {},
  ),
})

/** @throws InvalidInputError when it is not what the API promises. */
export const parseLease = (raw: unknown): LeaseView => {
  const { metadata, spec } = parseWith(leaseSchema, 'Lease', raw)
  return Object.freeze({
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    holderIdentity: spec.holderIdentity ?? undefined,
    renewTime: spec.renewTime ?? undefined,
    leaseDurationSeconds: spec.leaseDurationSeconds ?? undefined,
  })
}
