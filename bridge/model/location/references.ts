// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../../core/json.js'
import { mapAt, mapsAt, valueAt } from '../../../core/json-at.js'
import { metadataOf } from '../merge/tidy.js'

/** Kinds of objects that pods refer to. */
export type ReferencedType =
  'configmap' | 'persistentvolumeclaim' | 'secret' | 'serviceaccounttoken'

/** An object that a pod refers to, in the pod's namespace unless stated otherwise. */
export interface Reference {
  readonly type: ReferencedType
  readonly namespace: string
  readonly name: string
  /** The pod starts without the object. */
  readonly isOptional: boolean
}

/** The edge itself created the pod from a local manifest; the cluster did not authorize it. */
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror'

/** Whether the pod mirrors a static pod of an edge. */
export const isMirrorPod = (pod: JsonMap): boolean => {
  const { annotations } = metadataOf(pod)
  return isMap(annotations) && Object.hasOwn(annotations, MIRROR_ANNOTATION)
}

/** References found in one part of a pod; names that are missing or not text are skipped. */
type Found = readonly Omit<Reference, 'namespace'>[]

const one = (type: ReferencedType, name: unknown, optional: unknown = false): Found =>
  typeof name === 'string' && name !== '' ? [{ type, name, isOptional: optional === true }] : []

const namedIn = (type: ReferencedType, value: unknown, ...keys: readonly string[]): Found => {
  const { name, optional } = mapAt(value, ...keys)
  return one(type, name, optional)
}

/** Volume types that refer to a Secret, with the field that names it. */
const SECRET_IN: Readonly<Record<string, string>> = {
  csi: 'nodePublishSecretRef',
  cephfs: 'secretRef',
  cinder: 'secretRef',
  flexVolume: 'secretRef',
  iscsi: 'secretRef',
  rbd: 'secretRef',
  scaleIO: 'secretRef',
  storageos: 'secretRef',
}

interface PodParts {
  readonly name: string
  readonly serviceAccount: unknown
}

const sourceReferences = (source: JsonMap, { serviceAccount }: PodParts): Found => [
  ...namedIn('configmap', source, 'configMap'),
  ...namedIn('secret', source, 'secret'),
  ...(isMap(source['serviceAccountToken']) ? one('serviceaccounttoken', serviceAccount) : []),
]

const volumeReferences = (volume: JsonMap, pod: PodParts): Found => {
  const { secretName, optional } = mapAt(volume, 'secret')
  const claimName = valueAt(volume, 'persistentVolumeClaim', 'claimName')
  const isEphemeral = isMap(volume['ephemeral'])
  return [
    ...namedIn('configmap', volume, 'configMap'),
    ...one('secret', secretName, optional),
    ...one('secret', valueAt(volume, 'azureFile', 'secretName')),
    ...mapsAt(volume, 'projected', 'sources').flatMap(source => sourceReferences(source, pod)),
    ...Object.entries(SECRET_IN).flatMap(([kind, field]) => namedIn('secret', volume, kind, field)),
    ...one('persistentvolumeclaim', claimName),
    ...(isEphemeral ? one('persistentvolumeclaim', `${pod.name}-${String(volume['name'])}`) : []),
  ]
}

const containerReferences = (container: JsonMap): Found => [
  ...mapsAt(container, 'envFrom').flatMap(from => [
    ...namedIn('configmap', from, 'configMapRef'),
    ...namedIn('secret', from, 'secretRef'),
  ]),
  ...mapsAt(container, 'env').flatMap(variable => [
    ...namedIn('configmap', variable, 'valueFrom', 'configMapKeyRef'),
    ...namedIn('secret', variable, 'valueFrom', 'secretKeyRef'),
  ]),
]

/** The claims of ephemeral volumes are created for the pod and named after it. */
const partsOf = (pod: JsonMap, spec: JsonMap): PodParts => ({
  name: String(metadataOf(pod)['name']),
  serviceAccount: spec['serviceAccountName'],
})

/** Each object once; optional only if every reference is optional. */
const merged = (references: readonly Reference[]): readonly Reference[] => {
  const byKey = new Map<string, Reference>()
  for (const reference of references) {
    const key = `${reference.type} ${reference.name}`
    const isOptional = reference.isOptional && (byKey.get(key)?.isOptional ?? true)
    byKey.set(key, { ...reference, isOptional })
  }
  return [...byKey.values()]
}

/**
 * All objects that a pod refers to, each once. None for a mirror pod: otherwise an edge could name any Secret in a local
 * manifest and would be given it.
 */
export const referencesOf = (pod: JsonMap): readonly Reference[] => {
  if (isMirrorPod(pod)) return []
  const spec = mapAt(pod, 'spec')
  const parts = partsOf(pod, spec)
  const containers = ['containers', 'initContainers', 'ephemeralContainers']
  const found = [
    ...mapsAt(spec, 'volumes').flatMap(volume => volumeReferences(volume, parts)),
    ...containers.flatMap(field => mapsAt(spec, field)).flatMap(containerReferences),
    ...mapsAt(spec, 'imagePullSecrets').flatMap(({ name }) => one('secret', name)),
  ]
  const namespace = String(metadataOf(pod)['namespace'])
  return merged(found.map(reference => ({ ...reference, namespace })))
}
