// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  isOwnIdentity,
  isSuccessor,
  parseIdentity,
  writeIdentity,
} from '../../../agent/identity/annotation.js'
import { generateNodeKeys, makeVerifier, readNodeKeys } from '../../../agent/identity/node-keys.js'
import { InvalidInputError } from '../../../core/errors.js'
import { parseNodeName } from '../../../core/ids.js'

const subject = { clusterId: 'c', node: parseNodeName('node-1'), uid: 'u-1' }
const keys = generateNodeKeys()

t.test(
  'what a node publishes proves that it has the keys, for this Node of this cluster alone',
  t => {
    const text = writeIdentity(subject, 7, keys)
    const identity = parseIdentity(text)
    t.match(identity, { generation: 7, keys: keys.public, previousSignature: undefined })
    t.ok(text.length <= 190, `${text.length} characters`)
    t.ok(isOwnIdentity(subject, identity))
    const others = [
      { ...subject, clusterId: 'd' },
      { ...subject, node: parseNodeName('node-2') },
      { ...subject, uid: 'u-2' },
    ]
    for (const other of others) t.notOk(isOwnIdentity(other, identity), JSON.stringify(other))
    t.notOk(isOwnIdentity(subject, { ...identity, generation: 8 }))
    const stolen = {
      ...identity,
      keys: { ...identity.keys, agreement: generateNodeKeys().public.agreement },
    }
    t.notOk(
      isOwnIdentity(subject, stolen),
      "another's key for agreements cannot be put in its place",
    )
    t.end()
  },
)

t.test('new keys are vouched for by those before', t => {
  const next = generateNodeKeys()
  const verifyKeys = makeVerifier(keys.public.signing)
  const announced = parseIdentity(writeIdentity(subject, 2, next, keys))
  t.ok(isOwnIdentity(subject, announced))
  t.ok(isSuccessor(subject, announced, verifyKeys))
  t.notOk(isSuccessor(subject, announced, makeVerifier(generateNodeKeys().public.signing)))
  t.notOk(isSuccessor(subject, parseIdentity(writeIdentity(subject, 2, next)), verifyKeys))
  t.notOk(isSuccessor({ ...subject, uid: 'u-2' }, announced, verifyKeys))
  t.end()
})

t.test('what is malformed is refused with the rule', t => {
  const good = writeIdentity(subject, 1, keys)
  const [version, generation, signing, agreement, signature] = good.split(' ') as [
    ...[string, string, string, string, string],
  ]
  const rows: [string, RegExp][] = [
    ['', /must begin with 1/],
    [good.replace('1 ', '2 '), /must begin with 1, got "2"/],
    [
      [version, '0', signing, agreement, signature].join(' '),
      /generation from 1 to 65535, got "0"/,
    ],
    [[version, '65536', signing, agreement, signature].join(' '), /generation from 1 to 65535/],
    [[version, '01', signing, agreement, signature].join(' '), /generation/],
    [
      [version, generation, signing, agreement].join(' '),
      /two keys and one or two signatures, got 2/,
    ],
    [
      `${good} ${signature} ${signature}`.slice(0, 280),
      /two keys and one or two signatures|characters/,
    ],
    [`${good} `, /must have 64 bytes of base64url/],
    [`${good}=`, /must have 64 bytes of base64url/],
    [good.replace(signing, signing.slice(1)), /must have 32 bytes of base64url/],
    [good.replace(signing, `${signing.slice(0, 42)}_`), /must have 32 bytes of base64url/],
    ['1'.repeat(500), /at most \d+ characters, got 500/],
  ]
  for (const [text, rule] of rows) {
    t.throws(() => parseIdentity(text), InvalidInputError, text)
    t.throws(() => parseIdentity(text), rule)
  }
  t.end()
})

t.test('keys are read again from what was saved, and only when they are whole', t => {
  const saved = keys.toJson()
  const again = readNodeKeys(JSON.parse(JSON.stringify(saved)))
  t.strictSame(again.public, keys.public)
  t.ok(makeVerifier(keys.public.signing)(Buffer.from('a'), again.sign(Buffer.from('a'))))
  const other = generateNodeKeys().toJson()
  const rows: [string, unknown][] = [
    ['nothing', undefined],
    ['one missing', { ed25519: saved.ed25519 }],
    ['more than there is', { ...saved, more: 1 }],
    ['too short', { ...saved, x25519: { ...saved.x25519, d: 'AAAA' } }],
    ['two halves', { ...saved, ed25519: { x: other.ed25519.x, d: saved.ed25519.d } }],
    ['two halves', { ...saved, x25519: { x: other.x25519.x, d: saved.x25519.d } }],
  ]
  for (const [what, json] of rows)
    try {
      readNodeKeys(json)
      t.fail(what)
    } catch (error) {
      t.match(error, { code: 'INVALID_INPUT' }, what)
      for (const secret of [saved.ed25519.d, saved.x25519.d])
        t.notOk(String(error).includes(secret), 'no key in an error')
    }
  t.end()
})

t.test(
  'any 32 bytes may be published as a key: who has no private key to them signs nothing',
  t => {
    for (let i = 0; i < 64; i++) {
      const raw = Buffer.alloc(32, i)
      t.notOk(makeVerifier(raw)(Buffer.from('a'), Buffer.alloc(64, 1)))
    }
    t.notOk(makeVerifier(keys.public.signing)(Buffer.from('a'), Buffer.alloc(63)))
    t.end()
  },
)
