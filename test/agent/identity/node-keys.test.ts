// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  fingerprintOf,
  generateNodeKeys,
  makeVerifier,
  readNodeKeys,
} from '../../../agent/identity/node-keys.js'

const WORDS = Buffer.from('what the node says')

t.test(
  'of more nodes than have their keys kept in memory, each verifies its own signatures alone',
  async t => {
    const nodes = Array.from({ length: 300 }, () => {
      const keys = generateNodeKeys()
      return { verify: makeVerifier(keys.public.signing), signature: keys.sign(WORDS) }
    })
    const isRight = (of: number, by: number): boolean =>
      nodes[of]!.verify(WORDS, nodes[by]!.signature)
    // Twice: the first ones are parsed anew.
    for (let round = 0; round < 2; round++) {
      t.ok(nodes.every((_, node) => isRight(node, node)))
      t.notOk(nodes.some((_, node) => isRight(node, (node + 1) % nodes.length)))
    }
    for (let i = 0; i < 3; i++) t.ok(isRight(0, 0), 'asked again and again')
    t.notOk(nodes[0]!.verify(WORDS, nodes[0]!.signature.subarray(1)), 'a signature is 64 bytes')
    t.notOk(makeVerifier(Buffer.alloc(32, 255))(WORDS, nodes[0]!.signature), 'no key at all')
  },
)

t.test(
  'keys that are made while garbage is collected belong together, and none waits for ever',
  t => {
    const seen = new Set<string>()
    for (let i = 0; i < 5_000; i++) {
      const keys = generateNodeKeys()
      const { ed25519, x25519 } = keys.toJson()
      for (const { d } of [ed25519, x25519]) seen.add(d)
      if (i % 100 === 0) readNodeKeys(keys.toJson())
    }
    t.equal(seen.size, 10_000)
    t.end()
  },
)

t.test('a fingerprint tells both keys from others', t => {
  const [one, other] = [generateNodeKeys().public, generateNodeKeys().public]
  const { signing, agreement } = one
  const all = [one, { signing, agreement: other.agreement }, { signing: other.signing, agreement }]
  t.equal(new Set(all.map(fingerprintOf)).size, 3)
  t.equal(fingerprintOf({ signing: Buffer.from(signing), agreement }), fingerprintOf(one))
  const zeros = Buffer.alloc(32)
  // printf '%064d' 0 | xxd -r -p, twice, and sha256sum
  t.equal(fingerprintOf({ signing: zeros, agreement: zeros }), 'f5a5fd42d16a2030')
  t.end()
})
