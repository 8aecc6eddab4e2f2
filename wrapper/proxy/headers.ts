// SPDX-License-Identifier: Apache-2.0

/** As Node.js tells them: name, value, name, value. */
export type RawHeaders = readonly string[]

/** They are about one connection and end with it (RFC 9110, 7.6.1). */
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

/** Headers that a Connection header names belong to that connection too. */
const namedByConnection = (raw: RawHeaders): ReadonlySet<string> =>
  new Set(
    pairsOf(raw)
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(',').map(word => word.trim().toLowerCase())),
  )

/** What may travel on: all headers in their order and spelling, but those of the connection and `dropped`. */
export const endToEnd = (raw: RawHeaders, dropped: readonly string[] = []): string[] => {
  const named = namedByConnection(raw)
  const stays = (name: string): boolean =>
    !HOP_BY_HOP.has(name) && !named.has(name) && !dropped.includes(name)
  return pairsOf(raw).flatMap(([name, value]) => (stays(name.toLowerCase()) ? [name, value] : []))
}

/** Headers of a request on its way to `host`. Who may be impersonated is up to the caller's own credentials. */
export const requestHeaders = (raw: RawHeaders, host: string): string[] => {
  const isChunked = pairsOf(raw).some(
    ([name, value]) => name.toLowerCase() === 'transfer-encoding' && /chunked/i.test(value),
  )
  return [
    ...['Host', host],
    // `100 Continue` was said by us already.
    ...endToEnd(raw, ['host', 'expect']),
    ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
  ]
}

/** The same for a request that asks to speak another protocol. */
export const upgradeHeaders = (raw: RawHeaders, host: string): string[] => {
  const protocols = pairsOf(raw).flatMap(([name, value]) =>
    name.toLowerCase() === 'upgrade' ? [value] : [],
  )
  return [...requestHeaders(raw, host), 'Connection', 'Upgrade', 'Upgrade', protocols.join(', ')]
}

/** The same with the length of a body that was read whole and may have changed. */
export const withLength = (raw: RawHeaders, { length }: Buffer): string[] => [
  ...pairsOf(raw)
    .filter(([name]) => !/^(content-length|transfer-encoding)$/i.test(name))
    .flat(),
  ...['Content-Length', String(length)],
]
