// SPDX-License-Identifier: Apache-2.0
import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { dirname } from 'node:path'

/** What an edge keeps of the cluster: objects by resource, `namespace/type/name`. */
export interface EdgeStore {
  get(resource: string): unknown
  set(resource: string, value: unknown): void
  delete(resource: string): void
  readonly entries: readonly (readonly [resource: string, value: unknown])[]
}

/** A store that ends with the test, and outlives restarts of the edge within it. */
export const memoryStore = (): EdgeStore => {
  const rows = new Map<string, unknown>()
  return {
    get: resource => rows.get(resource),
    set: (resource, value) => void rows.set(resource, value),
    delete: resource => void rows.delete(resource),
    get entries() {
      return [...rows]
    },
  }
}

/**
 * A store in a file, as SQLite keeps it: what was acknowledged is there after a crash. One line is added for each change; a
 * last line that was cut short by a crash is as if it had not been written.
 */
export const fileStore = (path: string): EdgeStore => {
  mkdirSync(dirname(path), { recursive: true })
  const store = memoryStore()
  const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  if (whole.length < text.length) truncateSync(path, Buffer.byteLength(whole))
  for (const line of whole.split('\n').slice(0, -1)) {
    const [resource, value] = JSON.parse(line) as [string, unknown?]
    if (value === undefined) store.delete(resource)
    else store.set(resource, value)
  }
  const write = (row: readonly unknown[]): void => appendFileSync(path, `${JSON.stringify(row)}\n`)
  return {
    get: resource => store.get(resource),
    set: (resource, value) => {
      write([resource, value])
      store.set(resource, value)
    },
    delete: resource => {
      write([resource])
      store.delete(resource)
    },
    get entries() {
      return store.entries
    },
  }
}
