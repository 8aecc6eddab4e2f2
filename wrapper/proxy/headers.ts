// SPDX-License-Identifier: Apache-2.0
import { badRequest, Refusal } from '../../kube/server/status.js'

/** As Node.js gives them: name, value, name, value. */
export type RawHeaders = readonly string[]

/** Headers of one connection, which are not passed on (RFC 9110, 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export const pairsOf = (raw: RawHeaders): readonly (readonly [name: string, value: string])[] =>
  Array.from({ length: raw.length >> 1 }, (_, i) => [raw[2 * i]!, raw[2 * i + 1]!])

const valuesOf = (raw: RawHeaders, wanted: string): readonly string[] =>
  pairsOf(raw).flatMap(([name, value]) => (name.toLowerCase() === wanted ? [value] : []))

/** Headers that a Connection header names belong to that connection too. */
const namedByConnection = (raw: RawHeaders): ReadonlySet<string> =>
  new Set(
    valuesOf(raw, 'connection').flatMap(value =>
      value.split(',').map(word => word.trim().toLowerCase()),
    ),
  )

/** Headers that are passed on: all in their order and spelling, but those of the connection and `dropped`. */
export const endToEnd = (raw: RawHeaders, dropped: readonly string[] = []): string[] => {
  const named = namedByConnection(raw)
  const stays = (name: string): boolean =>
    !HOP_BY_HOP.has(name) && !named.has(name) && !dropped.includes(name)
  return pairsOf(raw).flatMap(([name, value]) => (stays(name.toLowerCase()) ? [name, value] : []))
}

/** Headers of the message or of the caller's identity; a Connection header must not remove them. */
const OF_MESSAGE = /^(content-.*|transfer-encoding|host|authorization|impersonate-.*)$/

/**
 * Refuse a message whose end or meaning another server may see differently: the rest of it would be a second
 * request. Node.js itself refuses two lengths, or a length with chunks.
 * @throws Refusal 400
 */
export const refuseUnframed = (raw: RawHeaders): void => {
  const taken = [...namedByConnection(raw)].find(name => OF_MESSAGE.test(name))
  if (taken !== undefined) throw badRequest(`the Connection header must not name ${taken}`)
  const codings = valuesOf(raw, 'transfer-encoding')
  if (codings.length > 1 || codings.some(coding => coding.trim().toLowerCase() !== 'chunked'))
    throw badRequest('the Transfer-Encoding must be chunked and nothing else')
}

/**
 * Each wrapper that passes a request on adds it, so that one whose apiserver's address leads to wrappers does not go round
 * until no connection is left. Addresses do not tell: NAT or a relay changes them.
 */
export const PASSED_BY: RawHeaders = ['Edge-Health-Passed-By', 'wrapper']
/** A Pod that is reached through a wrapper may pass the request on to a wrapper once more. */
const MOST_PASSES = 2

/**
 * Refuse a request that goes round.
 * @throws Refusal 508
 */
export const refuseRound = (raw: RawHeaders): void => {
  const passes = valuesOf(raw, 'edge-health-passed-by').flatMap(value => value.split(','))
  if (passes.length < MOST_PASSES) return
  const message = `wrappers have passed it on ${passes.length} times: the apiserver's address leads to a wrapper`
  throw new Refusal(508, '', message)
}

/** Whether a body follows. */
export const hasBody = (raw: RawHeaders): boolean =>
  valuesOf(raw, 'transfer-encoding').length > 0 ||
  valuesOf(raw, 'content-length').some(length => Number(length) !== 0)

/** Headers of a request to `host`. Impersonation headers stay: the caller's own credentials decide. */
export const requestHeaders = (raw: RawHeaders, host: string): string[] => [
  ...['Host', host],
  // We have sent `100 Continue` already.
  ...endToEnd(raw, ['host', 'expect']),
  ...(valuesOf(raw, 'transfer-encoding').length > 0 ? ['Transfer-Encoding', 'chunked'] : []),
]

/** Whether a request asks to upgrade to a protocol that Kubernetes uses; other upgrades are not passed on. */
export const asksForTunnel = (raw: RawHeaders): boolean =>
  valuesOf(raw, 'upgrade').some(value => /^(websocket|spdy\/3\.1)$/i.test(value.trim()))

/** The same for an upgrade request. */
export const upgradeHeaders = (raw: RawHeaders, host: string): string[] => [
  ...requestHeaders(raw, host),
  ...['Connection', 'Upgrade', 'Upgrade', valuesOf(raw, 'upgrade').join(', ')],
]

/** The same with the length of a body that was read whole and may have changed. */
export const withLength = (raw: RawHeaders, { length }: Buffer): string[] => [
  ...pairsOf(raw)
    .filter(([name]) => !/^(content-length|transfer-encoding)$/i.test(name))
    .flat(),
  ...['Content-Length', String(length)],
]

/** Headers as bytes on the wire. */
export const headText = (first: string, headers: RawHeaders): string => {
  const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}`)
  return `${[first, ...lines].join('\r\n')}\r\n\r\n`
}
