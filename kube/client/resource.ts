// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError } from '../../core/errors.js'
import { texts } from '../../core/map-schema.js'
import { parseWith } from '../../core/parse.js'

/** A resource as the API serves it; kinds of custom resources are named in the same way. */
export interface ResourceName {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  /** The plural that stands in paths: `deployments`. */
  readonly resource: string
}

/** A resource, what is asked of its objects, and how an answer is read. */
export interface ResourceType<T> extends ResourceName {
  /** `Node`: a list of anything else is refused, since an empty one would say that there are none. @default any will do */
  readonly kind?: string
  /** Undefined: the object itself. */
  readonly subresource?: 'status' | 'scale' | 'token'
  /** The server leaves out everything but the metadata of what it answers; not for writes. */
  readonly isMetadataOnly?: boolean
  /**
   * The User-Agent of reads, in place of the program's: a cache in front of the server, such as SuperEdge's lite-apiserver,
   * keeps one list for each User-Agent, whatever is selected. Not for watches and writes.
   */
  readonly userAgent?: string
  /**
   * Lists and watches bring what `kubectl get` shows, a hundredth of a Node: `parse` gets a `TableRow`, or the object from
   * a server that makes no Tables. For cluster-wide resources; not for writes.
   */
  readonly isTable?: boolean
  /**
   * An object as it came, cut down to what is used. Items of a list may come without `apiVersion` and `kind`; whole
   * numbers of 16 digits and more come as text.
   * @throws InvalidInputError for what is not what the API promises.
   */
  readonly parse: (raw: unknown) => T
}

/** Where objects are. Undefined: in all namespaces, or cluster-wide. */
export interface Place {
  readonly namespace?: string | undefined
}

/** One object. */
export interface ObjectName extends Place {
  readonly name: string
}

/** An object's metadata. Frozen. */
export interface ObjectMetadata {
  readonly name: string
  /** '' for a cluster-wide object. */
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  /** 0 where the resource has no generation. */
  readonly generation: number
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** Whether it has a deletionTimestamp: it is removed when its finalizers are. */
  readonly isBeingDeleted: boolean
}

/** autoscaling/v1 Scale: how many replicas are wanted and there, whatever kind of object they are of. Frozen. */
export interface ScaleView {
  readonly name: string
  readonly resourceVersion: string
  /** `spec.replicas`. */
  readonly replicas: number
  /** `status.replicas`. */
  readonly currentReplicas: number
  /** A label selector of the Pods; '' when there is none. */
  readonly selector: string
}

const optionalTexts = v.nullish(texts, {})

const metadataSchema = v.object({
  metadata: v.object({
    name: v.string(),
    namespace: v.nullish(v.string(), ''),
    uid: v.string(),
    resourceVersion: v.string(),
    generation: v.nullish(v.number(), 0),
    labels: optionalTexts,
    annotations: optionalTexts,
    deletionTimestamp: v.nullish(v.string()),
  }),
})

/** @throws InvalidInputError when it is not an object's metadata */
export const parseMetadata = (raw: unknown): ObjectMetadata => {
  const { metadata } = parseWith(metadataSchema, 'object', raw)
  const { deletionTimestamp, labels, annotations, ...rest } = metadata
  return Object.freeze({
    ...rest,
    labels: Object.freeze(labels),
    annotations: Object.freeze(annotations),
    isBeingDeleted: typeof deletionTimestamp === 'string',
  })
}

const identitySchema = v.object({
  metadata: v.object({
    name: v.string(),
    namespace: v.nullish(v.string(), ''),
    uid: v.string(),
    resourceVersion: v.string(),
  }),
})

/** Which object it is, and which state of it. */
export interface ObjectIdentity {
  /** `namespace/name`, or `name` for a cluster-wide object. */
  readonly key: string
  readonly uid: string
  readonly version: string
}

/** @throws InvalidInputError when it does not say. */
export const parseIdentity = (raw: unknown): ObjectIdentity => {
  const { name, namespace, uid, resourceVersion } = parseWith(
    identitySchema,
    'object',
    raw,
  ).metadata
  return { key: namespace === '' ? name : `${namespace}/${name}`, uid, version: resourceVersion }
}

const scaleSchema = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.string() }),
  spec: v.nullish(v.object({ replicas: v.nullish(v.number(), 0) }), { replicas: 0 }),
  status: v.nullish(
    v.object({ replicas: v.nullish(v.number(), 0), selector: v.nullish(v.string(), '') }),
    { replicas: 0, selector: '' },
  ),
})

const parseScale = (raw: unknown): ScaleView => {
  const { metadata, spec, status } = parseWith(scaleSchema, 'Scale', raw)
  return Object.freeze({
    ...metadata,
    replicas: spec.replicas,
    currentReplicas: status.replicas,
    selector: status.selector,
  })
}

/** The metadata of a resource's objects, and nothing else: a list or a watch of it is a fraction of the size. */
export const metadataOf = (of: ResourceName): ResourceType<ObjectMetadata> => ({
  ...of,
  isMetadataOnly: true,
  parse: parseMetadata,
})

/** The status subresource: what is written through it changes the status and no spec. */
export const statusOf = <T>(type: ResourceType<T>): ResourceType<T> => ({
  ...type,
  subresource: 'status',
})

/** The scale subresource. */
export const scaleOf = ({ group, version, resource }: ResourceName): ResourceType<ScaleView> => ({
  ...{ group, version, resource },
  subresource: 'scale',
  parse: parseScale,
})

/** `deployments.apps`, `nodes`: how logs and errors call a resource. */
export const resourceText = ({ group, resource }: ResourceName): string =>
  group === '' ? resource : `${resource}.${group}`

/** One segment of a path; text that is not a name must not lead to another path. */
const segment = (what: string, text: string): string => {
  // Escaping leaves these as they are.
  if (['', '.', '..'].includes(text))
    throw new InvalidInputError(what, 'must be a name of the Kubernetes API', text)
  return encodeURIComponent(text)
}

/**
 * The path of a resource in a place, or of one of its objects.
 * @throws InvalidInputError when a part of it is empty or would lead elsewhere.
 */
export const resourcePath = (
  { group, version, resource, subresource }: Omit<ResourceType<unknown>, 'parse'>,
  { namespace, name }: Place & { readonly name?: string | undefined },
): string => {
  const parts = [
    ...(group === '' ? ['api'] : ['apis', segment('group', group)]),
    segment('version', version),
    ...(namespace === undefined ? [] : ['namespaces', segment('namespace', namespace)]),
    segment('resource', resource),
    ...(name === undefined ? [] : [segment(`name of ${resource}`, name)]),
    ...(name === undefined || subresource === undefined ? [] : [subresource]),
  ]
  return `/${parts.join('/')}`
}
