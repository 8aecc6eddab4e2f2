// SPDX-License-Identifier: Apache-2.0
import { parseAllDocuments } from 'yaml'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import { isMap } from '../core/json.js'
import type { CliContext } from './cli-context.js'

/** One object of a file, or why a part of the file is not an object. */
export type FileObject =
  | { readonly ok: true; readonly where: string; readonly raw: unknown }
  | { readonly ok: false; readonly where: string; readonly trouble: string }

/** The objects of a list; its items need not repeat apiVersion and kind, which the list's kind implies. */
const itemsOf = (raw: unknown): readonly unknown[] => {
  if (!isMap(raw) || typeof raw['kind'] !== 'string' || !raw['kind'].endsWith('List')) return [raw]
  if (!Array.isArray(raw['items'])) return [raw]
  const kind = raw['kind'].slice(0, -'List'.length)
  const known = kind === '' ? {} : { apiVersion: raw['apiVersion'], kind }
  return raw['items'].map((item: unknown) => (isMap(item) ? { ...known, ...item } : item))
}

/** Large lists from kubectl come as JSON; the YAML parser would take minutes for them. */
const jsonOf = (text: string): { readonly raw: unknown } | undefined => {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    return { raw: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}

const documentsOf = (path: string, text: string): readonly FileObject[] => {
  const json = jsonOf(text)
  if (json !== undefined) return [{ ok: true, where: path, raw: json.raw }]
  const documents = parseAllDocuments(text, { merge: true })
  if (!Array.isArray(documents)) return []
  return documents.map((document, at): FileObject => {
    const where = `${path}, document ${at + 1}`
    const [error] = document.errors
    if (error !== undefined) return { ok: false, where, trouble: error.message.split('\n')[0]! }
    try {
      return { ok: true, where, raw: document.toJS() as unknown }
    } catch (error) {
      return { ok: false, where, trouble: reasonOf(error) }
    }
  })
}

/**
 * The objects of a YAML or JSON file: several documents, lists taken apart, empty documents left out.
 * @throws InvalidInputError when the file cannot be read.
 */
export const readObjects = (
  option: string,
  path: string,
  context: Pick<CliContext, 'readFile'>,
): readonly FileObject[] => {
  let text: string
  try {
    text = context.readFile(path)
  } catch (cause) {
    const rule = `must be a readable file (${reasonOf(cause)})`
    throw new InvalidInputError(option, rule, path, { cause })
  }
  return documentsOf(path, text).flatMap((object): readonly FileObject[] => {
    if (!object.ok) return [object]
    const { where, raw } = object
    return raw === null ? [] : itemsOf(raw).map(item => ({ ok: true, where, raw: item }))
  })
}
