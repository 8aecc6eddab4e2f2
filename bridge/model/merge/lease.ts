// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import { KINDS } from '../resource/kinds.js'
import { metadataOf } from './tidy.js'

/** Where Kubernetes keeps the Leases of nodes. */
export const NODE_LEASES = 'kube-node-lease'

/** As the apiserver's MicroTime. @param at epoch ms */
const microTime = (at: number): string => new Date(at).toISOString().replace('Z', '000Z')

const MAX_DURATION_SECONDS = 3600

const durationOf = (spec: JsonMap): number => {
  const { leaseDurationSeconds: seconds } = spec
  if (!Number.isInteger(seconds) || Number(seconds) < 1 || Number(seconds) > MAX_DURATION_SECONDS)
    throw new InvalidInputError(
      'Lease: spec.leaseDurationSeconds',
      `must be a whole number from 1 to ${MAX_DURATION_SECONDS}`,
      seconds,
    )
  return Number(seconds)
}

/**
 * A node's Lease as it is written for the edge: of what the edge sent only its own part. The time is when its message
 * arrived, by the apiserver's clock: that is what proves that it lives, its own clock may be years off, and a Lease that
 * somebody else renewed meanwhile would seem to go back. The version is the edge's, so that a conflict is reported to it.
 * @param arrivedAt epoch ms by the apiserver's clock
 * @throws InvalidInputError
 */
export const leaseToWrite = (asked: JsonMap, node: NodeName, arrivedAt: number): JsonMap => {
  const { resourceVersion, ownerReferences } = metadataOf(asked)
  const spec = isMap(asked['spec']) ? asked['spec'] : {}
  const { apiVersion, kind } = KINDS.lease
  const owners = Array.isArray(ownerReferences)
    ? ownerReferences.filter(isMap).filter(({ kind, name }) => kind === 'Node' && name === node)
    : []
  return {
    apiVersion,
    kind,
    metadata: {
      name: node,
      namespace: NODE_LEASES,
      ...(typeof resourceVersion === 'string' && resourceVersion !== '' ? { resourceVersion } : {}),
      ...(owners.length === 0 ? {} : { ownerReferences: owners }),
    },
    spec: {
      holderIdentity: node,
      leaseDurationSeconds: durationOf(spec),
      renewTime: microTime(arrivedAt),
    },
  }
}
