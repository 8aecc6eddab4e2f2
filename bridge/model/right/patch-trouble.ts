// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { OWN_PREFIX, PEER_HEALTH, UNHEALTHY_ANNOTATION } from '../../../core/marks.js'
import { metadataOf } from '../merge/tidy.js'

/** Label prefixes that Kubernetes reserves: a kubelet that could set them could attract any pod. */
const isKubernetesKey = (prefix: string): boolean => /(^|\.)(kubernetes|k8s)\.io$/.test(prefix)

/** Reserved prefixes that a kubelet may set on its own Node, and KubeEdge's labels for nodes. */
const OWN_PREFIXES: ReadonlySet<string> = new Set(['kubelet.kubernetes.io', 'node.kubernetes.io'])
const OWN_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/arch',
  'kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/instance-type',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'node-role.kubernetes.io/edge',
  'node-role.kubernetes.io/agent',
])

/** Whether a node may set this label on itself. */
export const isOwnLabel = (key: string): boolean => {
  if (key.startsWith(OWN_PREFIX)) return false
  const slash = key.indexOf('/')
  const prefix = slash === -1 ? '' : key.slice(0, slash)
  const isOwnPrefix = [...OWN_PREFIXES].some(own => prefix === own || prefix.endsWith(`.${own}`))
  return !isKubernetesKey(prefix) || OWN_LABELS.has(key) || isOwnPrefix
}

/** Whether a node may set this annotation on itself; only its peers may set those in which they report. */
export const isOwnAnnotation = (key: string): boolean =>
  key !== UNHEALTHY_ANNOTATION && !key.startsWith(OWN_PREFIX)

/** A directive of a strategic merge patch. */
const isDirective = (key: string): boolean => key.startsWith('$')

/**
 * Why these labels or annotations may not be merged into a Node's. `null` for the whole map would remove all of them; a
 * directive such as `$patch` could remove those of others.
 */
const textsTrouble = (
  metadata: JsonMap,
  [field, thing]: readonly ['annotations' | 'labels', string],
  isOwn: (key: string) => boolean,
): string | undefined => {
  const { [field]: texts = {} } = metadata
  if (!isMap(texts)) return `its metadata.${field} must be an object`
  const key = Object.keys(texts).find(key => isDirective(key) || !isOwn(key))
  return key === undefined ? undefined : `it must not give itself the ${thing} ${key}`
}

/** Metadata that a patch may contain: what identifies the object, and what a kubelet reports of itself. */
const NODE_METADATA: ReadonlySet<string> = new Set([
  'name',
  'uid',
  'resourceVersion',
  'labels',
  'annotations',
])
const POD_METADATA: ReadonlySet<string> = new Set(['name', 'namespace', 'uid', 'resourceVersion'])

/** The first key that is not one of these. */
export const strangerIn = (map: JsonMap, known: ReadonlySet<string>): string | undefined =>
  Object.keys(map).find(key => !known.has(key))

const isOfWholeList = (item: unknown): boolean =>
  isMap(item) &&
  item['$patch'] !== undefined &&
  (item['$patch'] !== 'delete' || typeof item['type'] !== 'string')

/**
 * Why a patch of conditions is refused: it sets or removes what the peers report. `$patch: delete` removes just the
 * condition that it names; any other directive replaces the whole list.
 */
const conditionTrouble = (status: JsonMap): string | undefined => {
  const { conditions = [] } = status
  if (!Array.isArray(conditions)) return 'its conditions must be a list'
  const items: readonly unknown[] = conditions
  if (items.some(item => isMap(item) && item['type'] === PEER_HEALTH))
    return `only its peers set condition ${PEER_HEALTH}`
  return items.some(isOfWholeList) ? 'its conditions must not be replaced as a whole' : undefined
}

const statusTrouble = (patch: JsonMap): string | undefined => {
  const { status = {} } = patch
  if (!isMap(status)) return 'its status must be an object'
  const directive = Object.keys(status).find(
    key => isDirective(key) && !key.startsWith('$setElementOrder/'),
  )
  return directive === undefined ? conditionTrouble(status) : `it must not use ${directive}`
}

const metadataTrouble = (patch: JsonMap, known: ReadonlySet<string>): string | undefined => {
  const { metadata = {} } = patch
  if (!isMap(metadata)) return 'its metadata must be an object'
  const field = strangerIn(metadata, known)
  if (field !== undefined) return `it must not change metadata.${field}`
  return (
    textsTrouble(metadata, ['labels', 'label'], isOwnLabel) ??
    textsTrouble(metadata, ['annotations', 'annotation'], isOwnAnnotation)
  )
}

const PATCHED: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status'])

const patchTrouble = (patch: JsonMap, metadata: ReadonlySet<string>): string | undefined => {
  const field = strangerIn(patch, PATCHED)
  return field === undefined ? metadataTrouble(patch, metadata) : `it must not change ${field}`
}

/**
 * Why a node may not patch its status like this; undefined when it may. The status subresource accepts metadata too, and
 * directives could delete what others wrote.
 */
export const nodePatchTrouble = (patch: JsonMap): string | undefined =>
  patchTrouble(patch, NODE_METADATA) ?? statusTrouble(patch)

/** Why a pod's status may not be patched like this; undefined when it may. @param uid of the pod on this node */
export const podPatchTrouble = (patch: JsonMap, uid: string): string | undefined => {
  const trouble = patchTrouble(patch, POD_METADATA)
  if (trouble !== undefined) return trouble
  const { uid: asked = uid } = metadataOf(patch)
  return asked === uid ? undefined : 'it is about another pod of that name'
}
