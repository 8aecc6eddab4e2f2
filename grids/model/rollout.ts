// SPDX-License-Identifier: Apache-2.0
import type { Json } from './grid.js'
import type { LiveChild } from './live.js'

/** How far a workload's controller has come. */
export interface Rollout {
  /** All its pods are of the present template. */
  readonly isUpdated: boolean
  /** As many pods as wanted are available. None is enough where none are wanted. */
  readonly isReady: boolean
  /** As SuperEdge has it in `status.states`. */
  readonly state: Json
}

const numberAt = (map: Json, key: string, otherwise = 0): number => {
  const value = map[key]
  return typeof value === 'number' ? value : otherwise
}

const available = (status: Json): Json => {
  const { conditions } = status
  const all = Array.isArray(conditions) ? (conditions as readonly Json[]) : []
  const found = all.filter(({ type }) => type === 'Available')
  return found.length === 0 ? {} : { conditions: found }
}

/** Pods below a StatefulSet's partition are meant to stay as they were. */
const partitionOf = ({ spec }: LiveChild): number => {
  const { updateStrategy } = spec as { readonly updateStrategy?: { readonly rollingUpdate?: Json } }
  return numberAt(updateStrategy?.rollingUpdate ?? {}, 'partition')
}

/** What a workload's status says; what its controller has not seen yet counts for nothing. */
export const rolloutOf = (live: LiveChild): Rollout => {
  const { kind, spec, status, generation } = live
  const wanted = numberAt(spec, 'replicas', 1)
  const isSeen = numberAt(status, 'observedGeneration') >= generation
  const isReady = isSeen && numberAt(status, 'availableReplicas') >= wanted
  if (kind === 'StatefulSet') {
    const isUpdated = isSeen && numberAt(status, 'updatedReplicas') >= wanted - partitionOf(live)
    return { isUpdated, isReady, state: status }
  }
  const [replicas, updated] = [numberAt(status, 'replicas'), numberAt(status, 'updatedReplicas')]
  return {
    // Pods of the old template are gone too.
    isUpdated: isSeen && updated >= wanted && replicas <= updated,
    isReady,
    state: { replicas, readyReplicas: numberAt(status, 'readyReplicas'), ...available(status) },
  }
}
