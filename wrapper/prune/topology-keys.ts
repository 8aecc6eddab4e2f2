// SPDX-License-Identifier: Apache-2.0
import { isLabelKey } from '../../core/label.js'

/** What a Service asks of topology. */
export interface ServiceRule {
  /** Empty: no topology. */
  readonly keys: readonly string[]
  /** What is wrong with the annotation as it is now; the keys are then the last good ones, or none if it is empty. */
  readonly trouble?: string
}

/** Matches any node. */
export const ANY_NODE = '*'

/**
 * Stands in for keys that were never good: whoever wrote them wanted less than the whole cluster, and the node itself is
 * the only part that every such wish has in common.
 */
const OWN_NODE_ONLY: readonly string[] = ['kubernetes.io/hostname']

/** As many as Kubernetes allowed in `spec.topologyKeys`. */
const MAX_KEYS = 16

/** As SuperEdge reads it; but hardly what somebody wanted who wrote it. */
const EMPTY = 'topologyKeys is empty: it asks for no topology'

const readKeys = (text: string): readonly string[] | undefined => {
  let keys: unknown
  try {
    keys = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(keys) || keys.length > MAX_KEYS) return undefined
  const isGood = (key: unknown): key is string =>
    typeof key === 'string' && (key === ANY_NODE || isLabelKey(key))
  return keys.every(isGood) ? [...new Set(keys)] : undefined
}

/**
 * The rule that the annotation `topologyKeys` asks for; no annotation, an empty list and an empty text ask for none, the
 * last of which is said to be odd. A text that is no list of at most 16 label keys keeps the last good rule and says so. If there never was a good one, only endpoints on the
 * node itself are left: a typing error must not send traffic through the whole cluster.
 */
export const parseTopologyKeys = (
  text: string | undefined,
  last: ServiceRule | undefined,
): ServiceRule => {
  if (text === undefined) return { keys: [] }
  if (text.trim() === '') return { keys: [], trouble: EMPTY }
  const keys = readKeys(text)
  if (keys !== undefined) return { keys }
  return {
    keys: last === undefined || last.trouble === EMPTY ? OWN_NODE_ONLY : last.keys,
    trouble: `topologyKeys must be a JSON list of at most ${MAX_KEYS} label keys`,
  }
}
