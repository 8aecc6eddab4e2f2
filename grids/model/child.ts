// SPDX-License-Identifier: Apache-2.0
import { OWN_PREFIX } from '../../core/marks.js'
import { ownerReference } from '../../core/owner.js'
import { GRID_API, type ChildKind, type Grid, type Json, type UnitSource } from './grid.js'
import { GRID_LABEL, KEY_LABEL, UNIT_LABEL } from './marks.js'

/** An object that a grid wants. */
export interface Child {
  readonly kind: ChildKind
  readonly name: string
  /** Undefined for the Service of a ServiceGrid, which is for all units. */
  readonly unit: string | undefined
  /** The object to apply, with exactly the fields that we own. */
  readonly object: Json
}

const API_OF: Readonly<Record<ChildKind, string>> = {
  Service: 'v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
}

/** Annotations for the grid itself and kubectl's own are not copied to children. */
const isCopied = (key: string): boolean =>
  !key.startsWith(OWN_PREFIX) && !/^([^/]*\.)?kubectl\.kubernetes\.io\//.test(key)

const copied = (record: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(record).filter(([key]) => isCopied(key)))

/**
 * A key with a domain is not a valid label value, so it is put in an annotation. Only then: an additional annotation would
 * be a new generation of a Deployment that is taken over.
 */
const keyLabel = (source: UnitSource): Readonly<Record<string, string>> =>
  source.by === 'label-value' && !source.key.includes('/') ? { [KEY_LABEL]: source.key } : {}
const keyAnnotation = (source: UnitSource): Readonly<Record<string, string>> =>
  source.by === 'label-value' && source.key.includes('/') ? { [KEY_LABEL]: source.key } : {}

const owners = ({ kind, name, uid }: Grid): Json =>
  uid === undefined
    ? {}
    : { ownerReferences: [ownerReference({ apiVersion: GRID_API, kind, name, uid })] }

/** An empty map cannot be owned. */
const annotationsOf = (annotations: Json): Json =>
  Object.keys(annotations).length === 0 ? {} : { annotations }

/** What differs between the children of one grid. */
interface Draft {
  readonly kind: ChildKind
  readonly name: string
  readonly unit: string | undefined
  readonly spec: Json
  readonly annotations?: Readonly<Record<string, string>>
}

/** The object with the marks that every child of the grid has. */
export const childOf = (grid: Grid, { kind, name, unit, spec, annotations }: Draft): Child => ({
  kind,
  name,
  unit,
  object: {
    apiVersion: API_OF[kind],
    kind,
    metadata: {
      name,
      namespace: grid.namespace,
      labels: {
        ...copied(grid.labels),
        [GRID_LABEL]: grid.name,
        ...keyLabel(grid.source),
        ...(unit === undefined ? {} : { [UNIT_LABEL]: unit }),
      },
      ...annotationsOf({
        ...copied(grid.annotations),
        ...keyAnnotation(grid.source),
        ...annotations,
      }),
      ...owners(grid),
    },
    spec,
  },
})

/**
 * A child whose object is kept as text and parsed at each reading. Objects that share nothing with each other take many
 * times their text's memory.
 */
class TextChild implements Child {
  readonly kind: ChildKind
  readonly name: string
  readonly unit: string | undefined
  readonly text: string

  constructor({ kind, name, unit, object }: Child) {
    this.kind = kind
    this.name = name
    this.unit = unit
    this.text = JSON.stringify(object)
  }

  get object(): Json {
    return JSON.parse(this.text) as Json
  }
}

/** The same child in less memory, for one whose spec is not shared with others. Two of them are equal if their texts are. */
export const asText = (child: Child): Child => new TextChild(child)
