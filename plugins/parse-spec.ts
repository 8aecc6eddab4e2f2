// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../core/errors.js'
import { parseWeight } from './score.js'
import type { PluginKind } from './seams.js'
import type { PluginSpec } from './spec.js'

/** Keys of SuperEdge that are checked and then replaced by the ladder of attempts. */
const REPLACED = ['timeout', 'retrytime'] as const

const wholeIn = (thing: string, text: string, [least, most]: readonly [number, number]): number => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN
  if (!(value >= least && value <= most))
    throw new InvalidInputError(thing, `must be a whole number from ${least} to ${most}`, text)
  return value
}

/** Key → value; spaces around either are dropped. A value may hold `=` but no comma. */
const split = (text: string, thing: string): Map<string, string> => {
  if (text.trim() === '')
    throw new InvalidInputError(thing, 'must not be empty; weight=1 is enough', text)
  const pairs = new Map<string, string>()
  for (const part of text.split(',')) {
    const at = part.indexOf('=')
    if (at < 0)
      throw new InvalidInputError(thing, 'must be key=value pairs with commas between', part)
    const key = part.slice(0, at).trim()
    const value = part.slice(at + 1).trim()
    if (value === '') throw new InvalidInputError(`${thing}: ${key}`, 'must not be empty', part)
    if (pairs.has(key)) throw new InvalidInputError(`${thing}: ${key}`, 'must be given once', part)
    pairs.set(key, value)
  }
  return pairs
}

/**
 * Read `timeout=5,retrytime=3,weight=1,port=10250`.
 * @param thing the option as errors name it, with the key behind it: `--pingplugin: port must be …`.
 * @throws InvalidInputError for each broken rule.
 */
export const parseSpecOf = (kind: PluginKind, text: string, thing: string): PluginSpec => {
  const pairs = split(text, thing)
  const known = ['weight', ...kind.keys, ...REPLACED]
  for (const [key, value] of pairs)
    if (!known.includes(key))
      throw new InvalidInputError(
        `${thing}: ${key}`,
        `is not a key of this plugin, which takes ${known.join(', ')}`,
        value,
      )
  for (const key of REPLACED) {
    const value = pairs.get(key)
    if (value !== undefined) wholeIn(`${thing}: ${key}`, value, [1, 3600])
  }
  const port = pairs.get('port')
  const url = pairs.get('url')
  const ca = pairs.get('ca')
  const tokenFile = pairs.get('token-file')
  const replaced = REPLACED.filter(key => pairs.has(key))
  const spec: PluginSpec = Object.freeze({
    name: kind.name,
    weight: parseWeight(pairs.get('weight') ?? '1', `${thing}: weight`),
    port: port === undefined ? kind.defaultPort : wholeIn(`${thing}: port`, port, [1, 65535]),
    ...(url === undefined ? {} : { url }),
    ...(ca === undefined ? {} : { ca }),
    ...(tokenFile === undefined ? {} : { tokenFile }),
    ...(replaced.length === 0 ? {} : { replaced }),
  })
  kind.check?.(spec, thing)
  return spec
}
