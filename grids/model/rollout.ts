// SPDX-License-Identifier: Apache-2.0
import type { Json } from './grid.js'
import type { LiveChild } from './live.js'

/** The progress of a workload's rollout. */
export interface Rollout {
  /** All its pods have the present template. */
  readonly isUpdated: boolean
  /** As many pods as wanted are available. */
  readonly isReady: boolean
  /** In the form of SuperEdge's `status.states`. */
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

/** Pods with an ordinal below a StatefulSet's partition are meant to keep the old template. */
const partitionOf = ({ spec }: LiveChild): number => {
  const { updateStrategy } = spec as { readonly updateStrategy?: { readonly rollingUpdate?: Json } }
  return numberAt(updateStrategy?.rollingUpdate ?? {}, 'partition')
}

/** The rollout by a workload's status; a status of an older generation does not count. */
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
    // Also, no pod of the old template is left.
    isUpdated: isSeen && updated >= wanted && replicas <= updated,
    isReady,
    state: { replicas, readyReplicas: numberAt(status, 'readyReplicas'), ...available(status) },
  }
}
