// SPDX-License-Identifier: Apache-2.0
import { isMap, mapAt, type JsonMap } from './object.js'

type Rule = readonly [
  path: readonly [string, string?],
  expected: string,
  holds: (value: unknown) => boolean,
]

const isText = (value: unknown): boolean => typeof value === 'string'
const isTextMap = (value: unknown): boolean =>
  isMap(value) && Object.values(value).every(text => text === null || isText(text))
const isTextMapList = (value: unknown): boolean => Array.isArray(value) && value.every(isTextMap)
const isMapList = (value: unknown): boolean => Array.isArray(value) && value.every(isMap)

const each = (expected: string, holds: Rule[2], paths: readonly Rule[0][]): readonly Rule[] =>
  paths.map(path => [path, expected, holds])

/** The types without which the server itself would stumble; it knows no whole schemas. Holders come first. */
const RULES: readonly Rule[] = [
  ...each('an object', isMap, [
    ['metadata'],
    ['spec'],
    ['status'],
    ['involvedObject'],
    ['regarding'],
  ]),
  ...each('a map of strings', isTextMap, [
    ['metadata', 'labels'],
    ['metadata', 'annotations'],
    ['data'],
    ['stringData'],
  ]),
  ...each('a string', isText, [
    ['metadata', 'name'],
    ['metadata', 'namespace'],
    ['metadata', 'generateName'],
    ['metadata', 'resourceVersion'],
    ['metadata', 'uid'],
  ]),
  ...each('a list of strings', value => Array.isArray(value) && value.every(isText), [
    ['metadata', 'finalizers'],
  ]),
  ...each('a list of maps of strings', isTextMapList, [
    ['spec', 'taints'],
    ['status', 'addresses'],
  ]),
  ...each('a list of objects', isMapList, [
    ['metadata', 'ownerReferences'],
    ['spec', 'ports'],
    ['spec', 'containers'],
    ['spec', 'tolerations'],
    ['status', 'conditions'],
    ['endpoints'],
    ['ports'],
  ]),
]

/** The field whose type is wrong, in words; undefined when the object can be read. */
export const typeTrouble = (object: JsonMap, isCustom: boolean): string | undefined => {
  for (const [[first, second], expected, holds] of RULES) {
    // What a custom object holds is its schema's business.
    if (isCustom && first !== 'metadata') continue
    const value = second === undefined ? object[first] : mapAt(object, first)[second]
    const path = second === undefined ? first : `${first}.${second}`
    if (value !== undefined && value !== null && !holds(value))
      return `${path}: expected ${expected}`
  }
  return undefined
}

const TEXT_MAPS = ['data', 'stringData', 'metadata.labels', 'metadata.annotations']

/** Null stands for an empty text inside a map of texts, as in Go; everywhere else it is as good as absent. */
export const isTextAt = (path: string): boolean => TEXT_MAPS.includes(path)

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Secrets carry their data as standard base64 with padding. */
export const secretTrouble = (secret: JsonMap): string | undefined => {
  const broken = Object.entries(mapAt(secret, 'data')).find(
    ([, text]) => text !== null && (typeof text !== 'string' || !BASE64.test(text)),
  )
  return broken === undefined ? undefined : `data.${broken[0]}: illegal base64 data`
}
