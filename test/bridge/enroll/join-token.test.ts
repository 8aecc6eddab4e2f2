// SPDX-License-Identifier: Apache-2.0
import { createHash, createHmac } from 'node:crypto'
import t from 'tap'
import { makeJoinToken, TOKEN_MS, tokenTrouble } from '../../../bridge/enroll/join-token.js'

const key = Buffer.from('the key of the authority, in DER')
const authority = { certificate: Buffer.from('its certificate'), key }
const now = Date.UTC(2026, 0, 1)

const whole = makeJoinToken(authority, now)
const [hash, ...rest] = whole.split('.')
const jwt = rest.join('.')
const at = (ms: number, token = jwt): string | undefined =>
  tokenTrouble(`Bearer ${token}`, key, now + ms)

t.equal(hash, createHash('sha256').update('its certificate').digest('hex'))
t.equal(at(0), undefined)
t.equal(at(TOKEN_MS - 1_000), undefined)
t.match(at(TOKEN_MS), /expired/, 'an hour, and no longer')

/** Signed by whoever knows the key, with whatever in it. */
const token = (header: unknown, claims: unknown, by: string | Buffer = key): string => {
  const part = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${createHmac('sha256', by).update(signed).digest('base64url')}`
}
const HS256 = { alg: 'HS256', typ: 'JWT' }
const exp = now / 1000 + 600
t.equal(at(0, token(HS256, { exp })), undefined, 'as cloudcore signs it')

const rows: readonly [string, string, RegExp][] = [
  ['another key', token(HS256, { exp }, 'another'), /not signed/],
  [
    'a changed claim',
    jwt.replace(/\.[^.]*\./, `.${Buffer.from('{}').toString('base64url')}.`),
    /not signed/,
  ],
  ['a short signature', jwt.slice(0, -1), /not signed/],
  ['no algorithm', token({ alg: 'none' }, { exp }), /not HS256/],
  ['a header that is no JSON', token('x', { exp }), /not HS256/],
  ['no end', token(HS256, {}), /no expiry time/],
  ['an end in words', token(HS256, { exp: 'never' }), /no expiry time/],
  ['claims that are a list', token(HS256, '[1]'), /no expiry time/],
  ['a day', token(HS256, { exp: now / 1000 + 86_400 }), /more than an hour/],
  ['its hash before it', whole, /no token/],
  ['nothing', '', /no token/],
  ['a long text', 'a'.repeat(5_000), /no token/],
]
for (const [what, text, trouble] of rows) t.match(at(0, text), trouble, what)
t.match(tokenTrouble(undefined, key, now), /no token/)
t.match(tokenTrouble(jwt, key, now), /no token/, 'without Bearer')
