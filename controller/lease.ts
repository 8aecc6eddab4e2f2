// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { parseWith } from '../core/parse.js'
import type { ResourceType } from '../kube/client/resource.js'

/** A coordination.k8s.io/v1 Lease as leader elections use it. */
export interface LeaderLease {
  readonly resourceVersion: string
  /** '' when nobody holds it. */
  readonly holder: string
  /** The duration that the holder set; 0 when unset. */
  readonly durationMs: number
  readonly transitions: number
  /** Changes with each renewal. It is by the holder's clock, so it is only compared, never read as a time. */
  readonly renewTime: string
}

const schema = v.object({
  metadata: v.object({ resourceVersion: v.string() }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string(), ''),
      leaseDurationSeconds: v.nullish(v.number(), 0),
      leaseTransitions: v.nullish(v.number(), 0),
      renewTime: v.nullish(v.string(), ''),
    }),
    { holderIdentity: '', leaseDurationSeconds: 0, leaseTransitions: 0, renewTime: '' },
  ),
})

const parseLease = (raw: unknown): LeaderLease => {
  const { metadata, spec } = parseWith(schema, 'Lease', raw)
  const { holderIdentity, leaseDurationSeconds, leaseTransitions, renewTime } = spec
  return Object.freeze({
    ...metadata,
    holder: holderIdentity,
    durationMs: leaseDurationSeconds * 1_000,
    transitions: leaseTransitions,
    renewTime,
  })
}

export const LEASES: ResourceType<LeaderLease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  parse: parseLease,
}
