// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError, KubeUnreachableError, reasonOf } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { Codec, EventReader, Page } from './codec.js'
import { LineReader, parseJson, parseJsonPage } from './json-codec.js'
import { rawKey, versionOf, type RawEvent, type WatchEvent } from './watch-event.js'

/** `kubectl get -o wide` shows ten columns of a Node; a custom resource may have some more. */
const MOST_COLUMNS = 64
const MOST_CELL_CHARACTERS = 1_024

/** What `kubectl get` shows of an object that is cluster-wide: texts by the names of their columns, as the server spells them. */
export class TableRow {
  readonly #cells: ReadonlyMap<string, unknown>
  /** The object's. */
  readonly name: string

  constructor(name: string, cells: ReadonlyMap<string, unknown>) {
    this.name = name
    this.#cells = cells
  }

  /** @throws InvalidInputError when there is no such column, or no short text in it. */
  text(column: string): string {
    const cell = this.#cells.get(column)
    if (typeof cell === 'string' && cell.length <= MOST_CELL_CHARACTERS) return cell
    const found = typeof cell === 'string' ? `${cell.length} characters` : typeof cell
    throw new InvalidInputError(
      `column ${column} of ${this.name}`,
      `must hold a text of at most ${MOST_CELL_CHARACTERS} characters`,
      found,
    )
  }
}

const columnSchema = v.object({ name: v.string(), format: v.nullish(v.string(), '') })

const tableSchema = v.object({
  kind: v.literal('Table'),
  columnDefinitions: v.nullish(v.pipe(v.array(columnSchema), v.maxLength(MOST_COLUMNS)), []),
  rows: v.nullish(
    v.array(v.object({ cells: v.pipe(v.array(v.unknown()), v.maxLength(MOST_COLUMNS)) })),
    [],
  ),
})

type Columns = v.InferOutput<typeof tableSchema>['columnDefinitions']

const isTable = (raw: unknown): boolean =>
  typeof raw === 'object' && raw !== null && 'kind' in raw && raw.kind === 'Table'

/** Turns Tables into rows. A watch names its columns in the first Table alone. */
class TableReader {
  #columns: Columns = []

  /** @throws InvalidInputError for anything but a Table, or one whose columns were never named. */
  rowsOf(raw: unknown): TableRow[] {
    const { rows } = this.#read(raw)
    const names = this.#columns.map(({ name }) => name)
    const at = this.#columns.findIndex(({ format }) => format === 'name')
    return rows.map(({ cells }) => {
      const name = cells[at]
      if (typeof name !== 'string' || name === '' || name.length > MOST_CELL_CHARACTERS)
        throw new InvalidInputError('Table', 'must name its rows', names.join())
      return new TableRow(name, new Map(names.map((column, index) => [column, cells[index]])))
    })
  }

  /** The one row of an event. */
  rowOf(raw: unknown): TableRow {
    const [row, ...others] = this.rowsOf(raw)
    if (row === undefined || others.length > 0)
      throw new InvalidInputError('Table of an event', 'must have one row', others.length)
    return row
  }

  /** Take only the names of the columns. @throws InvalidInputError for anything but a Table. */
  readColumns(raw: unknown): void {
    this.#read(raw)
  }

  #read(raw: unknown): v.InferOutput<typeof tableSchema> {
    const table = parseWith(tableSchema, 'Table', raw)
    if (table.columnDefinitions.length > 0) this.#columns = table.columnDefinitions
    return table
  }
}

const asEvent = (reader: TableReader, { type, object }: RawEvent): WatchEvent => {
  const version = versionOf(object)
  if (type === 'BOOKMARK') {
    // Its row says nothing, but it may come first.
    reader.readColumns(object)
    return { type, version }
  }
  const row = reader.rowOf(object)
  return type === 'DELETED' ? { type, version, key: row.name } : { type, version, object: row }
}

/** Reads a watch that comes as Tables, or as objects from a server that does not make Tables. */
class TableEventReader implements EventReader<unknown> {
  readonly #lines: LineReader

  constructor(what: string) {
    const tables = new TableReader()
    this.#lines = new LineReader(what, raw => {
      if (!isTable(raw.object)) return undefined
      return asEvent(tables, raw)
    })
  }

  get pending(): number {
    return this.#lines.pending
  }

  push(chunk: Buffer): Iterable<WatchEvent> {
    return this.#lines.push(chunk)
  }
}

const parseTablePage = (path: string, text: string): Page<unknown> => {
  const raw = parseJson(path, text)
  if (!isTable(raw)) return parseJsonPage(path, text)
  const { metadata } = raw as { metadata?: { continue?: unknown } }
  const next = metadata?.continue
  try {
    const items = new TableReader().rowsOf(raw)
    return { items, version: versionOf(raw), next: typeof next === 'string' ? next : '' }
  } catch (cause) {
    throw new KubeUnreachableError(`GET ${path}`, reasonOf(cause), { cause })
  }
}

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json'

/**
 * Of each object what `kubectl get` shows: `TableRow`s, of resources that are cluster-wide alone. A server that does not
 * make Tables sends objects instead, and these come as they are.
 */
export const tableCodec: Codec<unknown> = {
  accept: { list: TABLE, watch: TABLE },
  parsePage: (path, { bytes }) => parseTablePage(path, bytes.toString('utf8')),
  makeReader: what => new TableEventReader(what),
  keyOf: raw => (raw instanceof TableRow ? raw.name : rawKey(raw)),
}
