// SPDX-License-Identifier: Apache-2.0
import { isLabelKey } from '../../core/label.js'

/** The topology that a Service asks for. */
export interface ServiceRule {
  /** Empty: no topology. */
  readonly keys: readonly string[]
  /**
   * What is wrong with the present annotation; `keys` are then the last valid ones, or none if the annotation is
   * empty.
   */
  readonly trouble?: string
}

/** Matches any node. */
export const ANY_NODE = '*'

/**
 * Used when there never were valid keys: the author wanted less than the whole cluster, and whatever was meant includes the
 * node itself.
 */
const OWN_NODE_ONLY: readonly string[] = ['kubernetes.io/hostname']

/** Kubernetes' limit for `spec.topologyKeys`. */
const MAX_KEYS = 16

/** SuperEdge treats it as no topology, which its author hardly meant. */
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
 * Parse the annotation `topologyKeys`. Without it, and for an empty list or text, there is no topology; an empty
 * text is reported. Text that is not a list of at most 16 label keys is reported, and the last valid rule stays.
 * If there never was one, only endpoints on the node itself are kept: a typing error must not send traffic through
 * the whole cluster.
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
