// SPDX-License-Identifier: Apache-2.0
import { mapAt, mapsAt, sameJson, textAt, type JsonMap, type KubeObject } from './object.js'
import type { StatusCause } from '../../core/errors.js'
import {
  immutableField,
  isQualifiedName,
  NAME_PART,
  required,
  unsupported,
  wrong,
} from './field-causes.js'

const DNS_LABEL = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const DATA_KEY = /^[-._a-zA-Z0-9]{1,253}$/

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']

const checkTaint = (taint: JsonMap, field: string): StatusCause[] => {
  const causes: StatusCause[] = []
  const key = textAt(taint, 'key')
  const value = textAt(taint, 'value')
  if (key === '') causes.push(wrong(`${field}.key`, key, 'name part must be non-empty'))
  else if (!isQualifiedName(key))
    causes.push(wrong(`${field}.key`, key, 'name part must consist of alphanumeric characters'))
  if (value !== '' && (value.length > 63 || !NAME_PART.test(value)))
    causes.push(
      wrong(
        `${field}.value`,
        value,
        'a valid label must be an empty string or consist of alphanumeric characters',
      ),
    )
  if (textAt(taint, 'effect') === '') causes.push(required(`${field}.effect`))
  else if (!EFFECTS.includes(textAt(taint, 'effect')))
    causes.push(unsupported(`${field}.effect`, taint['effect'], EFFECTS))
  return causes
}

/** Taints must be whole, and no two may have the same key and effect. */
export const checkNode = (node: KubeObject): readonly StatusCause[] => {
  const seen = new Set<string>()
  return mapsAt(mapAt(node, 'spec'), 'taints').flatMap((taint, index) => {
    const field = `metadata.taints[${index}]` // sic: so the real one calls it
    const pair = `${textAt(taint, 'key')}:${textAt(taint, 'effect')}`
    const causes = checkTaint(taint, field)
    if (seen.has(pair))
      causes.push({
        reason: 'FieldValueDuplicate',
        message: `Duplicate value: ${JSON.stringify(taint)}`,
        field,
      })
    seen.add(pair)
    return causes
  })
}

const checkDataKeys = (object: KubeObject): StatusCause[] =>
  Object.keys(mapAt(object, 'data')).flatMap(key =>
    DATA_KEY.test(key)
      ? []
      : [
          wrong(
            `data[${key}]`,
            key,
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          ),
        ],
  )

/** Data that was declared immutable stays. */
const checkImmutable = (object: KubeObject, old: KubeObject | undefined): StatusCause[] => {
  if (old?.['immutable'] !== true) return []
  const causes: StatusCause[] = []
  if (object['immutable'] !== true)
    causes.push({
      reason: 'FieldValueForbidden',
      message: 'Forbidden: field is immutable when `immutable` is set',
      field: 'immutable',
    })
  if (!sameJson(object['data'] ?? {}, old['data'] ?? {}))
    causes.push({
      reason: 'FieldValueForbidden',
      message: 'Forbidden: field is immutable when `immutable` is set',
      field: 'data',
    })
  return causes
}

export const checkConfigMap = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => [...checkDataKeys(object), ...checkImmutable(object, old)]

export const checkSecret = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => [
  ...checkDataKeys(object),
  ...checkImmutable(object, old),
  ...(old === undefined ? [] : immutableField('type', object['type'], old['type'])),
]

export const checkService = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const spec = mapAt(object, 'spec')
  const causes: StatusCause[] = []
  const { name } = object.metadata
  if (name.length > 63 || !DNS_LABEL.test(name))
    causes.push(
      wrong(
        'metadata.name',
        name,
        'a DNS-1035 label must consist of lower case alphanumeric characters',
      ),
    )
  if (
    mapsAt(spec, 'ports').length === 0 &&
    spec['clusterIP'] !== 'None' &&
    spec['type'] !== 'ExternalName'
  )
    causes.push(required('spec.ports'))
  const before = old === undefined ? '' : textAt(old, 'spec.clusterIP')
  if (before !== '' && before !== spec['clusterIP'])
    causes.push(wrong('spec.clusterIPs[0]', [spec['clusterIP']], 'may not change once set'))
  return causes
}

export const checkPod = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const containers = mapsAt(mapAt(object, 'spec'), 'containers')
  if (containers.length === 0) return [required('spec.containers')]
  const nodeName = textAt(object, 'spec.nodeName')
  const before = old === undefined ? '' : textAt(old, 'spec.nodeName')
  if (before !== '' && before !== nodeName)
    return [
      {
        reason: 'FieldValueForbidden',
        message:
          'Forbidden: pod updates may not change fields other than `spec.containers[*].image`',
        field: 'spec',
      },
    ]
  return containers.flatMap((container, index) =>
    textAt(container, 'name') === '' ? [required(`spec.containers[${index}].name`)] : [],
  )
}

const checkEventNamespace = (object: KubeObject): StatusCause[] => {
  const about = textAt(object, 'involvedObject.namespace')
  const own = object.metadata.namespace ?? ''
  const expected = about === '' ? ['default', 'kube-system'] : [about]
  return expected.includes(own)
    ? []
    : [wrong('involvedObject.namespace', about, 'does not match event.namespace')]
}

export const checkEvent = (object: KubeObject): readonly StatusCause[] =>
  checkEventNamespace(object)

/** The new API asks for what the old one leaves open. */
export const checkNewEvent = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const causes = checkEventNamespace(object)
  if (old !== undefined) return causes
  if (textAt(object, 'eventTime') === '') causes.push(required('eventTime'))
  const controller = textAt(object, 'reportingComponent')
  if (controller === '') causes.push(required('reportingController'))
  else if (!isQualifiedName(controller))
    causes.push(
      wrong('reportingController', controller, 'name part must consist of alphanumeric characters'),
    )
  for (const field of ['reportingInstance', 'reason', 'action'])
    if (textAt(object, field) === '') causes.push(required(field))
  if (textAt(object, 'message').length > 1024)
    causes.push(wrong('message', '', 'can have at most 1024 characters'))
  const types = ['Normal', 'Warning']
  if (!types.includes(textAt(object, 'type')))
    causes.push(wrong('type', textAt(object, 'type'), 'has invalid value'))
  return causes
}

export const checkLease = (object: KubeObject): readonly StatusCause[] => {
  const spec = mapAt(object, 'spec')
  const { leaseDurationSeconds: seconds } = spec
  if (typeof seconds === 'number' && seconds <= 0)
    return [wrong('spec.leaseDurationSeconds', seconds, 'must be greater than 0')]
  return []
}

const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN']

export const checkSlice = (
  object: KubeObject,
  old: KubeObject | undefined,
): readonly StatusCause[] => {
  const type = textAt(object, 'addressType')
  if (type === '') return [required('addressType')]
  if (!ADDRESS_TYPES.includes(type)) return [unsupported('addressType', type, ADDRESS_TYPES)]
  const causes = old === undefined ? [] : immutableField('addressType', type, old['addressType'])
  mapsAt(object, 'endpoints').forEach((endpoint, index) => {
    const { addresses } = endpoint
    if (!Array.isArray(addresses) || addresses.length === 0)
      causes.push(required(`endpoints[${index}].addresses`, 'must contain at least 1 address'))
  })
  return causes
}

/** Its name says what it is of. */
export const checkDefinition = (definition: KubeObject): readonly StatusCause[] => {
  const spec = mapAt(definition, 'spec')
  const name = `${textAt(spec, 'names.plural')}.${textAt(spec, 'group')}`
  const causes: StatusCause[] = []
  if (definition.metadata.name !== name)
    causes.push(
      wrong('metadata.name', definition.metadata.name, 'must be spec.names.plural+"."+spec.group'),
    )
  if (!mapsAt(spec, 'versions').some(version => version['storage'] === true))
    causes.push(
      wrong('spec.versions', [], 'must have exactly one version marked as storage version'),
    )
  return causes
}
