// SPDX-License-Identifier: Apache-2.0
import { isMap } from '../../../core/json.js'
import type { PatchType } from './application.js'

/** The path of a field in an object: its keys, outermost first. */
export type Field = readonly string[]

const startsWith = (field: Field, start: Field): boolean =>
  field.length >= start.length && start.every((key, index) => key === field[index])

const textOf = (field: Field): string => (field.length === 0 ? 'everything' : field.join('.'))

/** The first field that the merge patch sets and that is neither one of `fields` nor below one. */
const strangerIn = (patch: unknown, at: Field, fields: readonly Field[]): Field | undefined => {
  if (fields.some(field => startsWith(at, field))) return undefined
  // Null in place of a map would delete all of it.
  if (!isMap(patch) || !fields.some(field => startsWith(field, at))) return at
  for (const [key, value] of Object.entries(patch)) {
    const stranger = strangerIn(value, [...at, key], fields)
    if (stranger !== undefined) return stranger
  }
  return undefined
}

const pointerOf = (path: string): Field =>
  path
    .split('/')
    .slice(1)
    .map(key => key.replaceAll('~1', '/').replaceAll('~0', '~'))

/** A `test` operation may read any field. */
const operationTrouble = (operation: unknown, fields: readonly Field[]): string | undefined => {
  const { op, path } = isMap(operation) ? operation : { op: undefined, path: undefined }
  if (typeof path !== 'string' || typeof op !== 'string') return 'an operation has no op or no path'
  if (op === 'test') return undefined
  if (!['add', 'remove', 'replace'].includes(op)) return `it must not ${op}`
  const field = pointerOf(path)
  return fields.some(allowed => startsWith(field, allowed))
    ? undefined
    : `it must not change ${textOf(field)}`
}

/** Directives of a strategic merge patch replace, delete or keep fields that the patch does not name. */
const hasDirective = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(hasDirective)
  return (
    isMap(value) &&
    Object.entries(value).some(([key, inner]) => key.startsWith('$') || hasDirective(inner))
  )
}

/**
 * Why a patch is refused that may change only these fields and what is below them; undefined when it is allowed. A patch
 * that changes nothing is allowed.
 */
export const fieldTrouble = (
  { type, value }: { readonly type: PatchType; readonly value: unknown },
  fields: readonly Field[],
): string | undefined => {
  if (type === 'json') {
    if (!Array.isArray(value)) return 'it must be a list of operations'
    const operations: readonly unknown[] = value
    return operations
      .map(operation => operationTrouble(operation, fields))
      .find(trouble => trouble !== undefined)
  }
  if (type === 'strategic-merge' && hasDirective(value)) return 'it must have no directives'
  const stranger = strangerIn(value, [], fields)
  return stranger === undefined ? undefined : `it must not change ${textOf(stranger)}`
}
