// SPDX-License-Identifier: Apache-2.0
import { badRequest, invalid } from '../../kube/server/status.js'
import { copyOf, isMap, mapAt, type JsonMap, type KubeObject } from './object.js'
import { ROWS } from './registry.js'
import type { Row } from './row.js'

/** What a scale is served as. */
export const SCALE: Row = {
  ...ROWS[0]!,
  group: 'autoscaling',
  resource: 'scales',
  singular: 'scale',
  kind: 'Scale',
  storage: 'scales',
}

const valueAt = (object: JsonMap, path: string): unknown =>
  path.split('.').reduce<unknown>((at, step) => (isMap(at) ? at[step] : undefined), object)

/** A LabelSelector as text; what is text is one. */
const selectorText = (selector: unknown): string | undefined => {
  if (typeof selector === 'string') return selector
  if (!isMap(selector)) return undefined
  return Object.entries(mapAt(selector, 'matchLabels'))
    .map(([key, value]) => `${key}=${String(value)}`)
    .sort()
    .join(',')
}

/** An object as its scale shows it. */
export const scaleOf = ({ scale }: Row, object: KubeObject): KubeObject => {
  const { replicas, current, selector } = scale!
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const text = selectorText(valueAt(object, selector))
  const wanted = valueAt(object, replicas)
  return {
    apiVersion: 'autoscaling/v1',
    kind: SCALE.kind,
    metadata: {
      ...{ name, uid, resourceVersion, creationTimestamp },
      ...(namespace === undefined ? {} : { namespace }),
    },
    spec: wanted === undefined ? {} : { replicas: wanted },
    status: {
      replicas: valueAt(object, current) ?? 0,
      ...(text === undefined ? {} : { selector: text }),
    },
  }
}

/**
 * The object with what a scale wants of it.
 * @throws Refusal 400 for what is no scale, 422 for a number that is none.
 */
export const withScale = (row: Row, old: KubeObject, body: unknown): KubeObject => {
  if (!isMap(body) || (body['kind'] ?? SCALE.kind) !== SCALE.kind)
    throw badRequest('the object provided is unrecognized: expected Scale')
  const { replicas = 0 } = mapAt(body, 'spec')
  if (typeof replicas !== 'number' || !Number.isInteger(replicas) || replicas < 0)
    throw invalid(SCALE, old.metadata.name, [
      {
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(replicas)}: must be greater than or equal to 0`,
        field: 'spec.replicas',
      },
    ])
  const next = copyOf(old)
  const steps = row.scale!.replicas.split('.')
  const last = steps.pop()!
  let at: JsonMap = next
  for (const step of steps) at = (at[step] ??= {}) as JsonMap
  at[last] = replicas
  const { uid = '', resourceVersion = '' } = mapAt(body, 'metadata')
  next.metadata.uid = String(uid)
  next.metadata.resourceVersion = String(resourceVersion)
  delete next.metadata['managedFields']
  return next
}
