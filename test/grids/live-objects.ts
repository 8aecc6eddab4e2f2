// SPDX-License-Identifier: Apache-2.0
// Children as a cluster holds them, with the account of who wrote what that a server-side apply leaves.
import { isMap, setKey, type JsonMap } from '../../core/json.js'
import type { Json } from '../../grids/model/grid.js'
import { parseLiveChild, type LiveChild } from '../../grids/model/live.js'
import type { Child } from '../../grids/model/child.js'

/** The keys of the lists of maps in what tests render; other lists are atomic. */
const LIST_KEYS: Readonly<Record<string, readonly string[]>> = {
  containers: ['name'],
  env: ['name'],
  ports: ['port', 'protocol'],
  ownerReferences: ['uid'],
  volumes: ['name'],
}
/** Maps that are owned whole. */
const ATOMIC: ReadonlySet<string> = new Set(['selector', 'nodeSelector', 'fieldRef'])

const fieldsOf = (value: unknown, name: string): JsonMap => {
  const fields: JsonMap = {}
  if (Array.isArray(value)) {
    const keys = LIST_KEYS[name]
    if (keys === undefined || value.length === 0) return {}
    for (const item of value as readonly Json[]) {
      const key = Object.fromEntries(keys.map(key => [key, item[key] ?? 'TCP']))
      fields[`k:${JSON.stringify(key)}`] = { '.': {}, ...fieldsOf(item, '') }
    }
    return fields
  }
  if (!isMap(value) || ATOMIC.has(name)) return {}
  for (const [key, inner] of Object.entries(value)) {
    if (name === 'metadata' && (key === 'name' || key === 'namespace')) continue
    if (Array.isArray(inner) && inner.length === 0) continue
    setKey(fields, `f:${key}`, fieldsOf(inner, key))
  }
  return fields
}

/** What managedFields says of an apply of this object. */
export const ownFields = ({ metadata, spec }: Json): JsonMap => ({
  'f:metadata': fieldsOf(metadata, 'metadata'),
  'f:spec': fieldsOf(spec, 'spec'),
})

/** What others did to a child since it was applied. */
export interface Since {
  readonly metadata?: Json
  readonly spec?: Json
  readonly status?: Json
  readonly managedFields?: readonly Json[]
}

/** A child as it is in the cluster after our apply, and after what others did. */
export const applied = ({ kind, object }: Child, since: Since = {}): LiveChild => {
  const metadata = object['metadata'] as Json
  return parseLiveChild({
    apiVersion: object['apiVersion'],
    kind,
    metadata: {
      ...metadata,
      uid: `uid-of-${String(metadata['name'])}`,
      resourceVersion: '7',
      generation: 1,
      managedFields: since.managedFields ?? [
        { manager: 'edge-health-grids', operation: 'Apply', fieldsV1: ownFields(object) },
      ],
      ...since.metadata,
    },
    spec: { ...(object['spec'] as Json), ...since.spec },
    status: since.status ?? {},
  })
}
