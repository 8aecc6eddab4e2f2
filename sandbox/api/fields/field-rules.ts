// SPDX-License-Identifier: Apache-2.0
import { isMap, mapAt, type JsonMap } from '../object.js'

/** How the fields of one place are owned: as one value, one by one, by value, or by keys. */
export type FieldRule =
  | 'atomic'
  | 'set'
  | { readonly keys: readonly string[]; readonly defaults?: Readonly<Record<string, unknown>> }

/**
 * What server-side apply knows of a kind: dotted path → rule; an item of a list is `path[]`. What is not named here is
 * owned field by field in maps, and as one value in lists.
 */
export type FieldRules = Readonly<Record<string, FieldRule>>

const by = (...keys: readonly string[]): FieldRule => ({ keys })

export const METADATA_FIELDS: FieldRules = {
  'metadata.finalizers': 'set',
  'metadata.ownerReferences': by('uid'),
  'metadata.ownerReferences[]': 'atomic',
}

const TCP = { protocol: 'TCP' }

export const SERVICE_FIELDS: FieldRules = {
  'spec.selector': 'atomic',
  'spec.ports': { keys: ['port', 'protocol'], defaults: TCP },
  'status.conditions': by('type'),
}

const POD_SPEC: FieldRules = {
  nodeSelector: 'atomic',
  containers: by('name'),
  'containers[].ports': { keys: ['containerPort', 'protocol'], defaults: TCP },
  'containers[].env': by('name'),
  'containers[].volumeMounts': by('mountPath'),
  initContainers: by('name'),
  'initContainers[].env': by('name'),
  'initContainers[].volumeMounts': by('mountPath'),
  volumes: by('name'),
  imagePullSecrets: by('name'),
}

/** What holds Pods' template: Deployment, StatefulSet. */
export const WORKLOAD_FIELDS: FieldRules = {
  'spec.selector': 'atomic',
  'status.conditions': by('type'),
  ...Object.fromEntries(
    Object.entries(POD_SPEC).map(([path, rule]) => [`spec.template.spec.${path}`, rule]),
  ),
}

const listRule = (schema: JsonMap): FieldRule | undefined => {
  const kind = schema['x-kubernetes-list-type']
  if (kind === 'set') return 'set'
  const keys = schema['x-kubernetes-list-map-keys']
  return kind === 'map' && Array.isArray(keys) ? by(...keys.map(String)) : undefined
}

/** The rules that the schema of a custom resource states. */
export const schemaRules = (schema: JsonMap, path = ''): FieldRules => {
  const below = (key: string): string => (path === '' ? key : `${path}.${key}`)
  const own = schema['x-kubernetes-map-type'] === 'atomic' ? ('atomic' as const) : listRule(schema)
  const rules: Record<string, FieldRule> = own === undefined ? {} : { [path]: own }
  for (const [key, inner] of Object.entries(mapAt(schema, 'properties')))
    if (isMap(inner)) Object.assign(rules, schemaRules(inner, below(key)))
  const { items } = schema
  if (isMap(items)) Object.assign(rules, schemaRules(items, `${path}[]`))
  return rules
}
