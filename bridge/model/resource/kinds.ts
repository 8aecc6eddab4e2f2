// SPDX-License-Identifier: Apache-2.0

/** The API resource that a type in KubeEdge's resource strings stands for. */
export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  /** The plural resource name, as in paths. */
  readonly plural: string
  readonly isNamespaced: boolean
}

const kind = (kind: string, group: string, plural: string, isNamespaced: boolean): Kind => ({
  kind,
  group,
  plural,
  isNamespaced,
  version: 'v1',
  apiVersion: group === '' ? 'v1' : `${group}/v1`,
})

/** By the type in KubeEdge's resource strings. */
export const KINDS = {
  configmap: kind('ConfigMap', '', 'configmaps', true),
  event: kind('Event', '', 'events', true),
  lease: kind('Lease', 'coordination.k8s.io', 'leases', true),
  node: kind('Node', '', 'nodes', false),
  persistentvolume: kind('PersistentVolume', '', 'persistentvolumes', false),
  persistentvolumeclaim: kind('PersistentVolumeClaim', '', 'persistentvolumeclaims', true),
  pod: kind('Pod', '', 'pods', true),
  secret: kind('Secret', '', 'secrets', true),
  /** The answer to a query of this type; a TokenRequest is created as a subresource of its ServiceAccount. */
  serviceaccounttoken: kind('TokenRequest', 'authentication.k8s.io', 'serviceaccounts', true),
  volumeattachment: kind('VolumeAttachment', 'storage.k8s.io', 'volumeattachments', false),
} as const satisfies Readonly<Record<string, Kind>>

export type ObjectType = keyof typeof KINDS

/** Types that stand for patches of an object. */
const PART_OF: Readonly<Record<string, ObjectType>> = { nodepatch: 'node', podpatch: 'pod' }

/** The type of the object that a message is about; undefined when it is not an API object. */
export const objectTypeOf = (type: string): ObjectType | undefined => {
  if (Object.hasOwn(PART_OF, type)) return PART_OF[type]
  return Object.hasOwn(KINDS, type) ? (type as ObjectType) : undefined
}
