// SPDX-License-Identifier: Apache-2.0
import type { StatusCause } from '../../core/errors.js'
import type { Allocate } from './defaults.js'
import { METADATA_FIELDS, type FieldRules } from './fields/field-rules.js'
import type { Form } from './forms.js'
import type { JsonMap, KubeObject } from './object.js'
import type { ListKeys } from './patch-strategic.js'

/** One resource as it is served under one group and version. A new kind is a new row. */
export interface Row {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly shortNames: readonly string[]
  readonly namespaced: boolean
  /** Rows with the same storage are views of the same objects. */
  readonly storage: string
  /** `status` is written through the subresource of that name, and nothing else is. */
  readonly status: boolean
  /** Field selectors: label → path in the stored form, and `=` what an absent field counts as. */
  readonly fields: Readonly<Record<string, string>>
  /** Lists that merge in a strategic-merge patch; undefined where none is taken. */
  readonly lists: ListKeys | undefined
  /**
   * How the fields of its objects are owned. Undefined: no account is kept, as of what kubelets write every few seconds,
   * and server-side apply is not served.
   */
  readonly owned?: FieldRules | undefined
  /** The scale subresource, where there is one. */
  readonly scale?: ScalePaths | undefined
  /** Made by a CustomResourceDefinition. */
  readonly isCustom: boolean
  /** What metadata.generation counts: changes of the spec, of everything but the status, or nothing. */
  readonly generation: 'spec' | 'all' | 'none'
  /** A PUT to a missing name makes it. */
  readonly putCreates: boolean
  /** A PUT must name the resourceVersion that it replaces. */
  readonly putNeedsVersion: boolean
  /** A delete answers with the object rather than with a Status. */
  readonly deleteReturnsObject: boolean
  /** How this version differs from the stored form; undefined when it is the stored form. */
  readonly form?: Form | undefined
  /** Fill in what the server adds to every object that is written. */
  readonly fill?: ((object: JsonMap) => void) | undefined
  /** Fill in what the server adds to a new object alone. */
  readonly admit?: ((object: KubeObject, allocate: Allocate) => void) | undefined
  /** Why an object cannot even be read; undefined when it can. */
  readonly trouble?: ((object: JsonMap) => string | undefined) | undefined
  /** What is wrong with an object beside its metadata. */
  readonly check?:
    ((object: KubeObject, old: KubeObject | undefined) => readonly StatusCause[]) | undefined
}

/** Where an object keeps what its scale shows; dotted. */
export interface ScalePaths {
  readonly replicas: string
  readonly current: string
  /** A label selector, or its text. */
  readonly selector: string
}

type Given = Pick<Row, 'resource' | 'singular' | 'kind'> & Partial<Row>

const METADATA_LISTS: ListKeys = { 'metadata.finalizers': '', 'metadata.ownerReferences': 'uid' }

/** A resource of a built-in kind; what it does not say is as most kinds have it. */
export const row = (given: Given): Row => ({
  group: '',
  version: 'v1',
  shortNames: [],
  namespaced: true,
  storage: given.resource,
  status: false,
  generation: 'none',
  putCreates: false,
  putNeedsVersion: false,
  deleteReturnsObject: false,
  isCustom: false,
  ...given,
  fields: {
    'metadata.name': 'metadata.name',
    ...(given.namespaced === false ? {} : { 'metadata.namespace': 'metadata.namespace' }),
    ...given.fields,
  },
  lists: { ...METADATA_LISTS, ...given.lists },
  ...(given.owned === undefined ? {} : { owned: { ...METADATA_FIELDS, ...given.owned } }),
})

/** `v1`, or `coordination.k8s.io/v1`. */
export const groupVersion = (of: { readonly group: string; readonly version: string }): string =>
  of.group === '' ? of.version : `${of.group}/${of.version}`
