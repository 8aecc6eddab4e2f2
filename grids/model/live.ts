// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { freeze } from '../../core/json.js'
import { controllerOf } from '../../core/owner.js'
import { texts } from '../../core/map-schema.js'
import { parseWith } from '../../core/parse.js'
import type { ChildKind, Grid, Json } from './grid.js'
import { objectText } from './parse.js'
import { GONE_ANNOTATION, UNIT_LABEL } from './marks.js'

/** Which fields of an object a manager owns, as in `metadata.managedFields`. */
export interface ManagedFields {
  readonly manager: string
  readonly operation: string
  readonly subresource: string
  readonly fields: Json
}

/** An existing Service, Deployment or StatefulSet, as far as grids depend on it. Frozen. */
export interface LiveChild {
  readonly kind: ChildKind
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly isDeleting: boolean
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The owner reference of its controller. */
  readonly controller:
    { readonly kind: string; readonly name: string; readonly uid: string } | undefined
  readonly managedFields: readonly ManagedFields[]
  /** The whole object. */
  readonly object: Json
  readonly spec: Json
  readonly status: Json
}

const optionalTexts = v.nullish(texts, {})
const fields = v.optional(v.looseObject({}), {})

const schema = v.looseObject({
  kind: v.picklist(['Service', 'Deployment', 'StatefulSet']),
  metadata: v.looseObject({
    name: v.string(),
    namespace: v.string(),
    uid: v.string(),
    resourceVersion: v.string(),
    generation: v.optional(v.number(), 0),
    deletionTimestamp: v.nullish(v.string()),
    labels: optionalTexts,
    annotations: optionalTexts,
    ownerReferences: v.nullish(
      v.array(
        v.looseObject({
          kind: v.string(),
          name: v.string(),
          uid: v.string(),
          controller: v.nullish(v.boolean(), false),
        }),
      ),
      [],
    ),
    managedFields: v.nullish(
      v.array(
        v.looseObject({
          manager: v.optional(v.string(), ''),
          operation: v.optional(v.string(), ''),
          subresource: v.optional(v.string(), ''),
          fieldsV1: fields,
        }),
      ),
      [],
    ),
  }),
  spec: fields,
  status: fields,
})

/** @throws InvalidInputError when it is not what the API promises. */
export const parseLiveChild = (raw: unknown): LiveChild => {
  const object = parseWith(schema, objectText(raw), raw)
  const { metadata, spec, status } = object
  const controller = controllerOf(metadata.ownerReferences)
  return freeze({
    kind: object.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    isDeleting: typeof metadata.deletionTimestamp === 'string',
    labels: metadata.labels,
    annotations: metadata.annotations,
    controller: controller && { kind: controller.kind, name: controller.name, uid: controller.uid },
    managedFields: metadata.managedFields.map(({ manager, operation, subresource, fieldsV1 }) => ({
      ...{ manager, operation, subresource, fields: fieldsV1 },
    })),
    object,
    spec,
    status,
  })
}

interface Pods extends Json {
  readonly template?: {
    readonly spec?: { readonly nodeSelector?: Readonly<Record<string, string>> }
  }
}

/**
 * The unit that a grid's child is for, by its label or, for SuperEdge's children, by its pod selector. Undefined for
 * children of all units, and when nothing says it.
 */
export const unitOfLive = (
  { source }: Pick<Grid, 'source'>,
  live: LiveChild,
): string | undefined => {
  const label = live.labels[UNIT_LABEL]
  if (label !== undefined) return label
  if (source.by !== 'label-value') return undefined
  return (live.spec as Pods).template?.spec?.nodeSelector?.[source.key]
}

/** Since when a child's unit is gone, in epoch ms, by its annotation; undefined when that is missing or invalid. */
export const goneSinceOf = ({ annotations }: LiveChild): number | undefined => {
  const at = Date.parse(annotations[GONE_ANNOTATION] ?? '')
  return Number.isNaN(at) ? undefined : at
}
