// SPDX-License-Identifier: Apache-2.0
import type { KubeObject } from './object.js'
import { groupVersion, type Row } from './registry.js'
import { served } from './serve.js'
import { notAcceptable } from '../../kube/server/status.js'
import { hasTable, tableOf } from './table.js'

/** The forms in which objects leave the server. */
export type Shape = 'object' | 'table' | 'metadata'

const SHAPES: readonly (readonly [pattern: RegExp, shape: Shape])[] = [
  [/^application\/json.*;as=Table(;|$)/, 'table'],
  [/^application\/json.*;as=PartialObjectMetadata(List)?(;|$)/, 'metadata'],
]

const JSON_TYPES = /^(application\/json|application\/\*|\*\/\*)(;(q=.*|stream=watch|charset=.*))?$/

/** Choose by the Accept header: its first entry that the server can make. @throws Refusal 406. */
export const shapeFor = (accept: string | undefined, row: Row): Shape => {
  const entries = (accept ?? '*/*').split(',').map(entry => entry.replaceAll(/\s/g, ''))
  for (const entry of entries) {
    const special = SHAPES.find(([pattern]) => pattern.test(entry))?.[1]
    if (special === 'metadata' || (special === 'table' && hasTable(row))) return special
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

  one(row: Row, object: KubeObject, shape: Shape): string {
    switch (shape) {
      case 'object':
        return this.#text(row, object)
      case 'metadata':
        return JSON.stringify(metadataOf(object))
      case 'table':
        return JSON.stringify(
          tableOf(row, [object], { resourceVersion: object.metadata.resourceVersion }, this.#now()),
        )
    }
  }

  list(row: Row, items: readonly KubeObject[], shape: Shape, head: ListHead): string {
    if (shape === 'table') return JSON.stringify(tableOf(row, items, head, this.#now()))
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
  bookmark(row: Row, version: number, shape: Shape, last: boolean): string {
    const metadata = {
      resourceVersion: String(version),
      creationTimestamp: null,
      ...(last ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
    }
    const type =
      shape === 'metadata'
        ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
        : { kind: row.kind, apiVersion: groupVersion(row) }
    if (shape !== 'table') return JSON.stringify({ ...type, metadata })
    const object = { ...type, metadata } as unknown as KubeObject
    return JSON.stringify(tableOf(row, [object], { resourceVersion: String(version) }, this.#now()))
  }

  #text(row: Row, object: KubeObject): string {
    let texts = this.#texts.get(row)
    if (texts === undefined) this.#texts.set(row, (texts = new WeakMap()))
    let text = texts.get(object)
    if (text === undefined) texts.set(object, (text = JSON.stringify(served(row, object))))
    return text
  }
}
