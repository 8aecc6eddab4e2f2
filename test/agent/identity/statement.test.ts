// SPDX-License-Identifier: Apache-2.0
import fc from '../../../testkit/properties.js'
import t from 'tap'
import { LINK_BYTES } from '../../../agent/identity/link-chain.js'
import { generateNodeKeys, makeVerifier } from '../../../agent/identity/node-keys.js'
import {
  isSignedBy,
  parseStatement,
  sealStatement,
  statementBytes,
  type Statement,
} from '../../../agent/identity/statement.js'
import { FLAG } from '../../../vote/evidence.js'

const keys = generateNodeKeys()
const verify = makeVerifier(keys.public.signing)
const origin = { zoneHash: 5n, id: 77n }
const quiet: Statement = {
  ...{ generation: 1, epoch: 1, time: 7_000_000_000, slot: 4, logLinks: 10 },
  ...{
    anchor: '07'.repeat(LINK_BYTES),
    flags: FLAG.kubeletWell,
    cutFor: 0,
    membershipHash: 9n,
    heartbeat: 1,
  },
  ...{ down: [], notLooked: [], standsInFor: [] },
}
const seal = (statement: Statement): Buffer =>
  sealStatement(statement, origin, bytes => keys.sign(bytes))

const ids = fc
  .uniqueArray(fc.bigInt(0n, 2n ** 64n - 1n), { maxLength: 8 })
  .map(list => list.sort((a, b) => (a < b ? -1 : 1)))
const statements: fc.Arbitrary<Statement> = fc
  .record({
    generation: fc.integer({ min: 1, max: 0xffff }),
    epoch: fc.integer({ min: 1, max: 0xffff_ffff }),
    time: fc.maxSafeNat().map(time => time % 2 ** 48),
    slot: fc.integer({ min: 2, max: 32 }),
    logLinks: fc.integer({ min: 0, max: 11 }),
    anchor: fc
      .uint8Array({ minLength: LINK_BYTES, maxLength: LINK_BYTES })
      .map(bytes => Buffer.from(bytes).toString('hex')),
    flags: fc.integer({ min: 0, max: 63 }),
    cutFor: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    membershipHash: fc.bigInt(0n, 2n ** 64n - 1n),
    heartbeat: fc.integer({ min: 1, max: 0xffff_ffff }),
    ...{ down: ids, notLooked: ids, standsInFor: ids },
  })
  .map(one => ({ ...one, cutFor: (one.flags & FLAG.cloudCut) === 0 ? 0 : one.cutFor }))

t.test('what is sealed is read again, and was said by who signed it', t => {
  fc.assert(
    fc.property(statements, statement => {
      const bytes = seal(statement)
      const received = parseStatement(bytes)!
      return (
        bytes.length <= statementBytes(statement) &&
        t.strictSame(received.statement, statement) &&
        received.bytes.equals(bytes) &&
        isSignedBy(received, origin, verify)
      )
    }),
    { numRuns: 200 },
  )
  t.equal(seal(quiet).length, 105, 'bytes when nothing is down')
  t.equal(seal({ ...quiet, down: [1n, 2n] }).length, 121)
  t.end()
})

t.test('it is no statement of another node or zone', t => {
  const received = parseStatement(seal(quiet))!
  t.ok(isSignedBy(received, origin, verify))
  t.notOk(isSignedBy(received, { ...origin, id: 78n }, verify))
  t.notOk(isSignedBy(received, { ...origin, zoneHash: 6n }, verify))
  t.notOk(isSignedBy(received, origin, makeVerifier(generateNodeKeys().public.signing)))
  t.end()
})

t.test('no altered byte is believed, and no bytes at all make it throw', t => {
  const bytes = seal({
    ...quiet,
    down: [3n],
    notLooked: [4n, 5n],
    flags: FLAG.cloudCut,
    cutFor: 300,
  })
  for (let at = 0; at < bytes.length; at++)
    for (const bit of [1, 0x80]) {
      const altered = Buffer.from(bytes)
      altered[at]! ^= bit
      const received = parseStatement(altered)
      t.notOk(received !== undefined && isSignedBy(received, origin, verify), `byte ${at}`)
    }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 400 }), any => {
      const received = parseStatement(any)
      return received === undefined || !isSignedBy(received, origin, verify)
    }),
  )
  t.end()
})

t.test('what is not in its one form is malformed, though it be signed', t => {
  const altered = (change: (bytes: Buffer) => Buffer): Buffer => {
    const content = seal({ ...quiet, down: [1n, 2n] }).subarray(0, -64)
    return Buffer.concat([change(Buffer.from(content)), Buffer.alloc(64)])
  }
  const set = (at: number, value: number) => (bytes: Buffer) => {
    bytes[at] = value
    return bytes
  }
  const rows: [string, (bytes: Buffer) => Buffer][] = [
    ['another version', set(0, 2)],
    ['a flag without a meaning', set(1, 64)],
    ['a slot of a quarter', set(2, 1)],
    ['a slot of nine seconds', set(2, 33)],
    ['too long a chain', set(3, 12)],
    ['generation 0', set(4, 0)],
    ['epoch 0', set(6, 0)],
    ['heartbeat 0', set(34, 0)],
    ['one byte more', bytes => Buffer.concat([bytes, Buffer.alloc(1)])],
    ['one byte less', bytes => bytes.subarray(0, -1)],
    ['a name twice', set(39, 2)],
    ['names in disorder', set(39, 3)],
    ['more names than bytes', set(38, 200)],
  ]
  t.ok(parseStatement(altered(bytes => bytes)))
  for (const [what, change] of rows) t.equal(parseStatement(altered(change)), undefined, what)
  t.equal(parseStatement(Buffer.alloc(50)), undefined, 'too short for a signature')
  const many = Array.from({ length: 4_097 }, (_, at) => BigInt(at))
  t.equal(parseStatement(seal({ ...quiet, down: many })), undefined, 'more names than any zone has')
  t.end()
})
