// SPDX-License-Identifier: Apache-2.0
import { METADATA_FIELDS, schemaRules } from './fields/field-rules.js'
import { mapAt, mapsAt, textAt, type JsonMap, type KubeObject } from './object.js'
import { DEFINITIONS, ROWS } from './registry.js'
import type { Row, ScalePaths } from './row.js'
import type { Store } from './store.js'

const dotted = (jsonPath: string): string => jsonPath.replace(/^\./, '')

const scaleOf = (subresources: JsonMap): ScalePaths | undefined => {
  if (!('scale' in subresources)) return undefined
  const scale = mapAt(subresources, 'scale')
  return {
    replicas: dotted(textAt(scale, 'specReplicasPath')),
    current: dotted(textAt(scale, 'statusReplicasPath')),
    selector: dotted(textAt(scale, 'labelSelectorPath')),
  }
}

const rowOf = (definition: KubeObject, version: JsonMap): Row => {
  const spec = mapAt(definition, 'spec')
  const names = mapAt(spec, 'names')
  const subresources = mapAt(version, 'subresources')
  const isNamespaced = spec['scope'] === 'Namespaced'
  const shortNames = names['shortNames']
  return {
    group: textAt(spec, 'group'),
    version: textAt(version, 'name'),
    resource: textAt(names, 'plural'),
    singular: textAt(names, 'singular') || textAt(names, 'kind').toLowerCase(),
    kind: textAt(names, 'kind'),
    shortNames: Array.isArray(shortNames) ? shortNames.map(String) : [],
    namespaced: isNamespaced,
    storage: definition.metadata.name,
    status: 'status' in subresources,
    fields: {
      'metadata.name': 'metadata.name',
      ...(isNamespaced ? { 'metadata.namespace': 'metadata.namespace' } : {}),
    },
    lists: undefined,
    owned: {
      ...schemaRules(mapAt(mapAt(version, 'schema'), 'openAPIV3Schema')),
      ...METADATA_FIELDS,
    },
    scale: scaleOf(subresources),
    generation: 'spec',
    putCreates: false,
    putNeedsVersion: true,
    deleteReturnsObject: false,
    isCustom: true,
  }
}

const rowsOf = (definition: KubeObject): readonly Row[] =>
  mapsAt(mapAt(definition, 'spec'), 'versions')
    .filter(version => version['served'] === true)
    .map(version => rowOf(definition, version))

/**
 * What the server serves: the kinds that it knows, and those that CustomResourceDefinitions in its store make. Of a
 * schema it follows only what it says of lists and maps: custom objects are neither validated nor pruned.
 */
export class Resources {
  #custom: readonly Row[] = []

  constructor(store: Store) {
    store.subscribe(DEFINITIONS.storage, event => {
      this.#custom = store.list(DEFINITIONS.storage).flatMap(rowsOf)
      if (event.type !== 'DELETED') return
      const storage = event.object.metadata.name
      for (const object of store.list(storage)) store.remove(storage, object)
    })
  }

  /** The first row of a group's resource is the preferred version. */
  get rows(): readonly Row[] {
    return [...ROWS, ...this.#custom]
  }

  /** The row behind a path. */
  find(group: string, version: string, resource: string): Row | undefined {
    return this.rows.find(
      row => row.group === group && row.version === version && row.resource === resource,
    )
  }
}
