// SPDX-License-Identifier: Apache-2.0
import { isIP } from 'node:net'
import { InvalidInputError } from '../../core/errors.js'
import { accept, url, type Kind } from '../../options/kinds.js'
import type { Autonomy, ListenAddress } from './wrapper-options.js'

const LISTEN_ADDRESS =
  /^(?:\[(?<six>[0-9a-fA-F:.]+)\]|(?<four>[0-9.]+|localhost)):(?<digits>\d{1,5})$/

/** An address and a port; `localhost` is 127.0.0.1, as SuperEdge's default has it. */
export const listenAddress: Kind<ListenAddress> = {
  name: 'address:port',
  rule: 'must be an IP address and a port such as 127.0.0.1:51006 or [::1]:51006',
  parse: given => {
    const { six, four, digits } = LISTEN_ADDRESS.exec(given)?.groups ?? {}
    const host = six ?? (four === 'localhost' ? '127.0.0.1' : (four ?? ''))
    const port = Number(digits ?? 0)
    const isAddress = isIP(host) === (six === undefined ? 4 : 6)
    return isAddress && port >= 1 && port <= 65_535 ? accept({ host, port }) : undefined
  },
  format: ({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`,
}

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

/** SuperEdge's form. What is left out keeps our default; a key may be given once. */
export const autonomy: Kind<Autonomy> = {
  name: 'key=value,…',
  rule: 'must be key=value pairs such as enabled=true,interval=10,address=http://127.0.0.1:51005/localinfo',
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
