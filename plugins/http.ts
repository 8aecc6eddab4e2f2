// SPDX-License-Identifier: Apache-2.0
import type { Target } from '../core/check.js'
import { InvalidInputError } from '../core/errors.js'
import { bracketed } from './address.js'
import { askHttp, wellOn2xx3xx } from './http-probe.js'
import { unusable } from './outcome.js'
import type { PluginKind } from './seams.js'
import type { PluginSpec } from './spec.js'
import { TrustReader } from './trust.js'

const PLACE = /\{([^{}]*)\}/g

const urlFor = (
  template: string,
  { name, address }: Pick<Target, 'address'> & { name: string },
): string => template.replaceAll('{address}', bracketed(address)).replaceAll('{name}', name)

const checkTemplate = ({ url }: PluginSpec, option: string): void => {
  const thing = `${option}: url`
  const refuse = (rule: string): never => {
    throw new InvalidInputError(thing, rule, url)
  }
  if (url === undefined) return refuse('must be given')
  const places = [...url.matchAll(PLACE)].map(match => match[1])
  if (places.some(place => place !== 'address' && place !== 'name'))
    return refuse('must have no places other than {address} and {name}')
  if (places.length === 0)
    return refuse('must contain {address} or {name}, or all nodes are asked the same')
  const filled = urlFor(url, { name: 'node', address: '::1' })
  const parsed = URL.canParse(filled) ? new URL(filled) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    return refuse('must be an http or https URL')
  if (parsed.username !== '' || parsed.password !== '') return refuse('must not contain a password')
}

/**
 * Any URL of the node: `{address}` is its IP (IPv6 in brackets), `{name}` its name. 2xx and 3xx are success. A host
 * name in the URL goes through the resolver, whose failures count as `unknown`; prefer `{address}`.
 */
export const http: PluginKind = {
  name: 'http',
  keys: ['url', 'ca'],
  defaultPort: 0,
  reachesNode: true,
  check: checkTemplate,
  make: (spec, { http: client, readFile }) => {
    const reader = new TrustReader(spec, readFile)
    return {
      name: spec.name,
      weight: spec.weight,
      probe: async (target, { signal, reuse }) => {
        const trust = await reader.read(signal)
        if (!trust.ok) return unusable(trust.reason)
        const url = urlFor(spec.url!, target)
        return askHttp(client, { url, ...trust.parts, reuse, signal }, wellOn2xx3xx)
      },
    }
  },
}
