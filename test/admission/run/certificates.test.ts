// SPDX-License-Identifier: Apache-2.0
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import t from 'tap'
import {
  authoritiesOf,
  checkPair,
  makePair,
  type ServingPair,
} from '../../../admission/run/certificates.js'
import {
  forClients,
  keyOn,
  NAME,
  named,
  ownMade,
  refusedPairs,
  renewed,
  signedFor,
  type Extension,
} from '../../../testkit/admission/own-pairs.js'

const DAY = 86_400_000
const NOW = Date.now()
const check = (pair: ServingPair, name = NAME) => checkPair(pair, name, NOW)

t.test('a pair is one certificate, its key and its authority, for the name', async t => {
  const [one, other] = [await makePair([NAME], Date.now()), await makePair([NAME], Date.now() + 1)]
  const good = { ok: true, validity: { from: Number, until: Number } }
  const byOne = { ...good, authorities: [one.ca.trim()] }
  t.match(check(one), byOne)
  t.match(check({ ...one, ca: other.ca + one.ca }), byOne, 'any of its authorities')
  t.match(check(await ownMade(true, -1)), good)
  const rows: [what: string, pair: ServingPair, reason: RegExp][] = [
    ['the key', { ...one, key: other.key }, /key is of another/],
    ['the authority', { ...one, ca: other.ca }, /another authority/],
    ['no authority', { ...one, ca: '' }, /missing/],
    ['half an authority', { ...one, ca: one.ca.slice(0, 200) }, /missing/],
    ['the certificate itself', await ownMade(false, -1), /none of an authority \(CA:TRUE\)/],
    ['no certificate', { ...one, cert: '' }, /cannot be read/],
  ]
  for (const [what, pair, reason] of [...rows, ...(await refusedPairs())])
    t.match(check(pair), { ok: false, reason }, what)
  const usages: [what: string, extensions: Extension[]][] = [
    ['servers and clients', [named(), { name: 'extKeyUsage', serverAuth: true, clientAuth: true }]],
    ['a wildcard for the label', [named('*.edge-system.svc')]],
  ]
  for (const [what, extensions] of usages)
    t.match(check(await ownMade(true, -1, undefined, { extensions })), good, what)
  t.match(check(one, 'other.edge-system.svc'), { ok: false, reason: /not for other/ })
})

t.test('of authorities with one name and key an apiserver tries each', async t => {
  const ca = await ownMade(true, -3)
  const signed = await signedFor(keyOn('prime256v1'), ca)
  const [expired, coming] = [await renewed(ca, -61), await renewed(ca, 1)]
  const [young, forOthers] = [await renewed(ca, -2), await renewed(ca, -2, forClients)]
  const rows: [what: string, ca: string[], used: string[], days: [number, number]][] = [
    ['the one that the certificate names', [ca.cert], [ca.cert], [-1, 57]],
    ['renewed since then, so its serial is another', [young], [young], [-1, 58]],
    ['the first is for clients', [forOthers, ca.cert], [ca.cert], [-1, 57]],
    ['the first is over', [expired, ca.cert], [ca.cert], [-1, 57]],
    ['the last is to come', [ca.cert, coming], [ca.cert], [-1, 57]],
    ['the one that is valid longest counts', [expired, ca.cert, young], [young, ca.cert], [-1, 58]],
    ['none is valid yet', [coming], [coming], [1, 59]],
    ['none is valid any more', [expired], [expired], [-1, -1]],
  ]
  for (const [what, authorities, used, [from, until]] of rows) {
    const checked = check({ ...signed, ca: authorities.join('') })
    if (!checked.ok) {
      t.fail(`${what}: ${checked.reason}`)
      continue
    }
    const days = (at: number): number => Math.round((at - NOW) / DAY)
    const { validity } = checked
    t.strictSame([days(validity.from), days(validity.until)], [from, until], what)
    t.strictSame(
      checked.authorities,
      used.map(text => text.trim()),
      what,
    )
  }
  t.match(check({ ...signed, ca: forOthers }), { ok: false, reason: /not for servers/ })
})

t.test('keys are of the kinds that the TLS of Go knows', async t => {
  const ca = await ownMade(true, -1)
  const rows: [what: string, key: KeyObject, isKnown: boolean][] = [
    ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey, true],
    ['P-256', keyOn('prime256v1'), true],
    ['P-384', keyOn('secp384r1'), true],
    ['P-521', keyOn('secp521r1'), true],
    ['Ed25519', generateKeyPairSync('ed25519').privateKey, true],
    ['P-224', keyOn('secp224r1'), false],
    ['secp256k1', keyOn('secp256k1'), false],
    ['brainpool', keyOn('brainpoolP256r1'), false],
    ['Ed448', generateKeyPairSync('ed448').privateKey, false],
    ['RSA-PSS', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey, false],
  ]
  const refused = { ok: false, reason: /^its key is not RSA, P-256, P-384, P-521 or Ed25519$/ }
  for (const [what, key, isKnown] of rows)
    t.match(check(await signedFor(key, ca)), isKnown ? { ok: true } : refused, what)
})

t.test('an authority comes as an apiserver reads it, or not at all', async t => {
  const pair = await makePair([NAME], NOW)
  for (const label of ['CERTIFICATE', 'X509 CERTIFICATE', 'TRUSTED CERTIFICATE']) {
    const ca = pair.ca.replaceAll('CERTIFICATE', label)
    t.strictSame(authoritiesOf(ca), [pair.ca.trim()], label)
    t.match(check({ ...pair, ca }), { ok: true, authorities: [pair.ca.trim()] }, label)
  }
  t.strictSame(authoritiesOf(pair.ca.replaceAll('\n', '\r\n')), [pair.ca.trim()], 'CRLF')
  const by = await ownMade(true, -1)
  const rows: [curve: string, count: number][] = [
    ['secp384r1', 1],
    ['secp224r1', 1],
    ['secp256k1', 0],
  ]
  for (const [curve, count] of rows) {
    const { cert } = await signedFor(keyOn(curve), by, { cA: true })
    t.equal(authoritiesOf(cert).length, count, curve)
  }
})
