// SPDX-License-Identifier: Apache-2.0
import type { StatusCause } from '../../core/errors.js'
import { immutableField, required, wrong } from './field-causes.js'
import { mapAt, sameJson, type JsonMap, type KubeObject } from './object.js'

const selectorTroubles = (spec: JsonMap): StatusCause[] => {
  const wanted = mapAt(mapAt(spec, 'selector'), 'matchLabels')
  const labels = mapAt(mapAt(mapAt(spec, 'template'), 'metadata'), 'labels')
  if (Object.keys(mapAt(spec, 'selector')).length === 0) return [required('spec.selector')]
  return Object.entries(wanted).every(([key, value]) => labels[key] === value)
    ? []
    : [
        wrong(
          'spec.template.metadata.labels',
          labels,
          '`selector` does not match template `labels`',
        ),
      ]
}

/** A Deployment or a StatefulSet. */
export const checkWorkload = (
  workload: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const spec = mapAt(workload, 'spec')
  const { replicas } = spec
  const causes = selectorTroubles(spec)
  if (typeof replicas === 'number' && replicas < 0)
    causes.push(wrong('spec.replicas', replicas, 'must be greater than or equal to 0'))
  if (old === undefined) return causes
  const before = mapAt(old, 'spec')['selector']
  return [...causes, ...immutableField('spec.selector', spec['selector'], before)]
}

/** The fields of a StatefulSet's spec that may be changed. */
const CHANGEABLE: readonly string[] = [
  'replicas',
  'ordinals',
  'template',
  'updateStrategy',
  'revisionHistoryLimit',
  'persistentVolumeClaimRetentionPolicy',
  'minReadySeconds',
]

const fixedPart = (object: KubeObject): JsonMap =>
  Object.fromEntries(
    Object.entries(mapAt(object, 'spec')).filter(([field]) => !CHANGEABLE.includes(field)),
  )

export const checkStatefulSet = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const causes = checkWorkload(object, old)
  if (causes.length > 0 || old === undefined || sameJson(fixedPart(object), fixedPart(old)))
    return causes
  const names = CHANGEABLE.map(field => `'${field}'`)
  const list = `${names.slice(0, -1).join(', ')} and ${names.at(-1)!}`
  const message = `Forbidden: updates to statefulset spec for fields other than ${list} are forbidden`
  return [{ reason: 'FieldValueForbidden', message, field: 'spec' }]
}
