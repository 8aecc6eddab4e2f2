// SPDX-License-Identifier: Apache-2.0
import { allOf } from '../../../core/all-of.js'
import type { JsonMap } from '../../../core/json.js'
import { textAt } from '../../../core/json-at.js'
import { KINDS } from '../resource/kinds.js'
import { NAME } from '../resource/resource.js'
import type { DownstreamType } from '../route/downstream.js'
import type { Held } from './held.js'

/** The API version in which cloudcore 1.14 and later keeps its records. */
const API_VERSION = 'reliablesyncs.kubeedge.io/v1alpha1'

/** What an edge holds according to cloudcore. */
export interface Synced {
  readonly node: string
  readonly uid: string
  readonly held: Held
}

const TYPES: ReadonlySet<string> = new Set(
  allOf<DownstreamType>({ configmap: true, node: true, pod: true, secret: true }),
)
const isType = (type: string): type is DownstreamType => TYPES.has(type)

/** The name is `<node>.<uid>`; a node's name may contain dots, a uid does not. */
const cutName = (name: string): readonly [node: string, uid: string] => {
  const dot = name.lastIndexOf('.')
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)]
}

/**
 * Reads an ObjectSync or ClusterObjectSync; undefined when it is about another kind of object or incomplete. cloudcore
 * creates it when it sends an object and adds the version when the edge acknowledges: until then the edge may have the
 * object.
 */
export const readObjectSync = (raw: JsonMap): Synced | undefined => {
  const type = textAt(raw, 'spec', 'objectKind').toLowerCase()
  const [node, uid] = cutName(textAt(raw, 'metadata', 'name'))
  const objectName = textAt(raw, 'spec', 'objectName')
  if (!isType(type) || node === '' || uid === '' || !NAME.test(objectName)) return undefined
  const version = textAt(raw, 'status', 'objectResourceVersion')
  return {
    node,
    uid,
    held: {
      type,
      namespace: KINDS[type].isNamespaced ? textAt(raw, 'metadata', 'namespace') : '',
      name: objectName,
      version: version === '' ? '0' : version,
      print: '',
    },
  }
}

/** The ObjectSync of an object, for a cloudcore that takes over again. */
export const objectSyncOf = ({ node, uid, held }: Synced): JsonMap => {
  const { apiVersion, isNamespaced } = KINDS[held.type]
  return {
    apiVersion: API_VERSION,
    kind: isNamespaced ? 'ObjectSync' : 'ClusterObjectSync',
    metadata: { name: `${node}.${uid}`, ...(isNamespaced ? { namespace: held.namespace } : {}) },
    spec: { objectAPIVersion: apiVersion, objectKind: held.type, objectName: held.name },
    status: { objectResourceVersion: held.version },
  }
}
