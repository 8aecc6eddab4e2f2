// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseWith } from '../../core/parse.js'
import { EARLIER_WRITER, WRITER, type LeaseView } from '../ports/kube-api.js'

const managedSchema = v.object({
  manager: v.nullish(v.string(), ''),
  time: v.nullish(v.string(), ''),
  fieldsV1: v.nullish(v.record(v.string(), v.unknown()), {}),
})

const leaseSchema = v.object({
  metadata: v.object({
    name: v.string(),
    resourceVersion: v.string(),
    managedFields: v.nullish(v.array(managedSchema), []),
  }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string()),
      renewTime: v.nullish(v.string()),
      leaseDurationSeconds: v.nullish(v.number()),
    }),
    {},
  ),
})

const ownsRenewTime = ({ fieldsV1 }: v.InferOutput<typeof managedSchema>): boolean => {
  const spec = fieldsV1['f:spec']
  return typeof spec === 'object' && spec !== null && 'f:renewTime' in spec
}

/** The newest of the writers that own the field; two do only while both wrote the same value. */
const renewalOf = (
  managed: readonly v.InferOutput<typeof managedSchema>[],
): LeaseView['renewal'] => {
  const renewals = managed
    .filter(ownsRenewTime)
    .map(({ manager, time }) => ({
      isByAgent: manager === WRITER || manager === EARLIER_WRITER,
      at: Date.parse(time),
    }))
    .filter(({ at }) => !Number.isNaN(at))
  return renewals.sort((a, b) => b.at - a.at)[0]
}

/** @throws InvalidInputError when it is not what the API promises. */
export const parseLease = (raw: unknown): LeaseView => {
  const { metadata, spec } = parseWith(leaseSchema, 'Lease', raw)
  return Object.freeze({
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    holderIdentity: spec.holderIdentity ?? undefined,
    renewTime: spec.renewTime ?? undefined,
    leaseDurationSeconds: spec.leaseDurationSeconds ?? undefined,
    renewal: renewalOf(metadata.managedFields),
  })
}
