// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from '../../core/errors.js'
import { accept, url, type Kind } from '../../options/kinds.js'
import type { Autonomy } from './wrapper-options.js'

export const AUTONOMY: Autonomy = {
  isOn: true,
  intervalMs: 10_000,
  address: 'http://127.0.0.1:51005/localinfo',
}

const agentUrl = url('http')

/** One `key=value`; the value may hold `=` itself. */
const readAutonomy = (thing: string, key: string, value: string): Partial<Autonomy> => {
  switch (key) {
    case 'enabled':
      if (value !== 'true' && value !== 'false')
        throw new InvalidInputError(`${thing}: enabled`, 'must be true or false', value)
      return { isOn: value === 'true' }
    case 'interval': {
      const seconds = /^\d{1,4}$/.test(value) ? Number(value) : 0
      if (seconds < 1 || seconds > 3_600)
        throw new InvalidInputError(`${thing}: interval`, 'must be from 1 to 3600 seconds', value)
      return { intervalMs: seconds * 1_000 }
    }
    case 'address':
      if (agentUrl.parse(value, thing) === undefined)
        throw new InvalidInputError(`${thing}: address`, agentUrl.rule, value)
      return { address: value }
    default:
      throw new InvalidInputError(thing, 'must name enabled, interval or address only', key)
  }
}

/** SuperEdge's syntax. Keys that are left out keep our default; a key may be given once. */
export const autonomy: Kind<Autonomy> = {
  name: 'key=value,…',
  rule: 'must be key=value pairs such as enabled=true,interval=10,address=http://127.0.0.1:51005/localinfo',
  brief: 'enabled=true,interval=10,address=http://127.0.0.1:51005/localinfo',
  parse: (given, thing) => {
    if (given === '') return undefined
    const seen = new Set<string>()
    let value = AUTONOMY
    for (const pair of given.split(',')) {
      const at = pair.indexOf('=')
      if (at < 0) return undefined
      const key = pair.slice(0, at).trim()
      const part = readAutonomy(thing, key, pair.slice(at + 1).trim())
      if (seen.has(key)) throw new InvalidInputError(thing, 'must name each key once', key)
      seen.add(key)
      value = { ...value, ...part }
    }
    return accept(value)
  },
  format: ({ isOn, intervalMs, address }) =>
    `enabled=${isOn},interval=${intervalMs / 1_000},address=${address}`,
}
