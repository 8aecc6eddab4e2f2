// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../../core/errors.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { NodeName } from '../../../core/ids.js'
import { KINDS } from '../resource/kinds.js'
import { metadataOf } from './tidy.js'

/** The namespace of the nodes' Leases. */
export const NODE_LEASES = 'kube-node-lease'

/** In the API's MicroTime format. @param at epoch ms */
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
 * A node's Lease as it is written for the edge, with only those fields that belong to the edge. `renewTime` is the arrival
 * of its message by the apiserver's clock: the arrival proves that the node lives, while its own clock may be years off,
 * and a Lease renewed by somebody else meanwhile must not go back in time. `resourceVersion` is the edge's, so that it
 * learns of conflicts.
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
