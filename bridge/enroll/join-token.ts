// SPDX-License-Identifier: Apache-2.0
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { isMap, type JsonMap } from '../../core/json.js'

/** KubeEdge's certificate authority as its Secret holds it: certificate and private key in DER. */
export interface AuthorityBytes {
  readonly certificate: Uint8Array
  readonly key: Uint8Array
}

/** How long a token may be used. */
export const TOKEN_MS = 3_600_000
/** Largest difference between the clocks of two bridges. */
const SKEW_MS = 60_000
const MAX_LENGTH = 2_048
const HEADER = { alg: 'HS256', typ: 'JWT' }

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const macOf = (signed: string, key: Uint8Array): Buffer =>
  createHmac('sha256', key).update(signed).digest()

/**
 * The text that an administrator gives to a new edge: a hash of the authority's certificate, and a token signed with the
 * authority's key. The edge checks the hash itself and sends only the token.
 * @param now epoch ms
 */
export const makeJoinToken = ({ certificate, key }: AuthorityBytes, now: number): string => {
  const hash = createHash('sha256').update(certificate).digest('hex')
  const signed = `${encode(HEADER)}.${encode({ exp: Math.floor((now + TOKEN_MS) / 1000) })}`
  return `${hash}.${signed}.${macOf(signed, key).toString('base64url')}`
}

const mapIn = (part: string): JsonMap => {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return isMap(value) ? value : {}
  } catch {
    return {}
  }
}

/**
 * Why a token is refused; undefined when it is valid. Only tokens signed by this authority are parsed.
 * @param authorization header of the request: `Bearer <token>`
 * @param now epoch ms
 */
export const tokenTrouble = (
  authorization: string | undefined,
  key: Uint8Array,
  now: number,
): string | undefined => {
  const [, header, claims, mac] =
    /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec((authorization ?? '').slice(0, MAX_LENGTH)) ?? []
  if (header === undefined || claims === undefined || mac === undefined) return 'no token'
  const given = Buffer.from(mac, 'base64url')
  const own = macOf(`${header}.${claims}`, key)
  if (given.length !== own.length || !timingSafeEqual(given, own))
    return 'not signed by this authority'
  if (mapIn(header)['alg'] !== HEADER.alg) return 'its algorithm is not HS256'
  const { exp } = mapIn(claims)
  if (typeof exp !== 'number') return 'it has no expiry time'
  const leftMs = exp * 1000 - now
  if (leftMs <= 0) return 'it has expired'
  return leftMs > TOKEN_MS + SKEW_MS ? 'it is valid for more than an hour' : undefined
}
