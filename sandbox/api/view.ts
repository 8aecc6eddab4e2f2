// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from './object.js'
import { groupVersion, type Row } from './row.js'
import { served } from './serve.js'
import { badRequest, notAcceptable } from '../../kube/server/status.js'
import { hasTable, tableOf, type RowObject } from './table.js'

/** The forms in which objects leave the server; a Table by what its rows bring beside their cells. */
export type Shape = 'object' | 'metadata' | { readonly table: RowObject }

const SHAPES: readonly (readonly [pattern: RegExp, shape: 'table' | 'metadata'])[] = [
  [/^application\/json.*;as=Table(;|$)/, 'table'],
  [/^application\/json.*;as=PartialObjectMetadata(List)?(;|$)/, 'metadata'],
]

const JSON_TYPES = /^(application\/json|application\/\*|\*\/\*)(;(q=.*|stream=watch|charset=.*))?$/

const includeOf = (query: URLSearchParams): RowObject => {
  const text = query.get('includeObject') ?? ''
  if (text === '') return 'Metadata'
  if (text === 'None' || text === 'Metadata' || text === 'Object') return text
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(text)}`)
}

/** Choose by the Accept header: its first entry that the server can make. @throws Refusal 400, 406. */
export const shapeFor = (
  accept: string | undefined,
  row: Row,
  query: URLSearchParams = new URLSearchParams(),
): Shape => {
  const entries = (accept ?? '*/*').split(',').map(entry => entry.replaceAll(/\s/g, ''))
  for (const entry of entries) {
    const special = SHAPES.find(([pattern]) => pattern.test(entry))?.[1]
    if (special === 'metadata') return special
    if (special === 'table' && hasTable(row)) return { table: includeOf(query) }
    if (special === undefined && JSON_TYPES.test(entry)) return 'object'
  }
  throw notAcceptable('only the following media types are accepted: application/json')
}

const metadataOf = (object: KubeObject): unknown => ({
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: object.metadata,
})

/** What surrounds the items of a list. */
export interface ListHead {
  readonly resourceVersion: string
  readonly continue?: string | undefined
  readonly remainingItemCount?: number | undefined
}

/** Writes objects as JSON text. An object is written once for each row and kept as long as it lives. */
export class Writer {
  readonly #texts = new Map<Row, WeakMap<KubeObject, string>>()
  readonly #now: () => number

  /** @param now epoch ms, for the ages in tables. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** @param hasColumns whether a Table names its columns. */
  one(row: Row, object: KubeObject, shape: Shape, hasColumns = true): string {
    if (shape === 'object') return this.#text(row, object)
    if (shape === 'metadata') return JSON.stringify(metadataOf(object))
    const head = { resourceVersion: object.metadata.resourceVersion }
    const parts = { head, include: shape.table, hasColumns, now: this.#now() }
    return JSON.stringify(tableOf(row, [object], parts))
  }

  list(row: Row, items: readonly KubeObject[], shape: Shape, head: ListHead): string {
    if (typeof shape === 'object') {
      const parts = { head, include: shape.table, hasColumns: true, now: this.#now() }
      return JSON.stringify(tableOf(row, items, parts))
    }
    const kind = shape === 'metadata' ? 'PartialObjectMetadata' : row.kind
    const apiVersion = shape === 'metadata' ? 'meta.k8s.io/v1' : groupVersion(row)
    const start = JSON.stringify({ kind: `${kind}List`, apiVersion, metadata: head })
    const texts = items.map(item => this.one(row, item, shape))
    // Items of a typed list do not repeat what they are.
    if (shape === 'object') {
      const type = JSON.stringify({ kind: row.kind, apiVersion }).length
      return `${start.slice(0, -1)},"items":[${texts.map(text => `{${text.slice(type)}`).join(',')}]}\n`
    }
    return `${start.slice(0, -1)},"items":[${texts.join(',')}]}\n`
  }

  /** A bookmark's object says how far the watcher has come, and nothing else. */
  bookmark(
    row: Row,
    version: number,
    shape: Shape,
    { isLast, hasColumns }: { readonly isLast: boolean; readonly hasColumns: boolean },
  ): string {
    const metadata = {
      resourceVersion: String(version),
      creationTimestamp: null,
      ...(isLast ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    }
    const type =
      shape === 'metadata'
        ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
        : { kind: row.kind, apiVersion: groupVersion(row) }
    if (typeof shape !== 'object') return JSON.stringify({ ...type, metadata })
    const object = { ...type, metadata } as unknown as KubeObject
    const head = { resourceVersion: String(version) }
    const parts = { head, include: shape.table, hasColumns, now: this.#now() }
    return JSON.stringify(tableOf(row, [object], parts))
  }

  #text(row: Row, object: KubeObject): string {
    let texts = this.#texts.get(row)
    if (texts === undefined) this.#texts.set(row, (texts = new WeakMap()))
    let text = texts.get(object)
    if (text === undefined) texts.set(object, (text = JSON.stringify(served(row, object))))
    return text
  }
}
