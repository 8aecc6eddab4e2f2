// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { readEntries, type Entry } from '../../../../agent/identity/entries.js'
import { LINK_BYTES } from '../../../../agent/identity/link-chain.js'
import { SIGNATURE_BYTES } from '../../../../agent/identity/node-keys.js'
import { parseStatement, sealStatement } from '../../../../agent/identity/statement.js'
import {
  MAX_SIGNED_BYTES,
  readSignedBody,
  writeSignedBody,
  type NewsEntry,
  type SignedBody,
} from '../../../../agent/stages/exchange/signed-body.js'
import { HEADER_BYTES, MAC_BYTES } from '../../../../agent/stages/exchange/wire.js'
import fc from '../../../../testkit/properties.js'

const bytes = fc.uint8Array({ maxLength: 300 }).map(array => Buffer.from(array))
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.nat(255).map((time): Entry => ({ kind: 'time', time })),
  fc
    .tuple(fc.nat(255), fc.uint8Array({ minLength: LINK_BYTES, maxLength: LINK_BYTES }))
    .map(([time, link]): Entry => ({
      kind: 'link',
      time,
      link: Buffer.from(link).toString('hex'),
    })),
)
const news = fc
  .uniqueArray(fc.nat(999), { maxLength: 40 })
  .map(places => places.toSorted((a, b) => a - b))
  .chain(places =>
    fc.tuple(
      ...places.map(place => entry.map((one): NewsEntry => ({ place, entry: one, digest: 0 }))),
    ),
  )
const head: fc.Arbitrary<SignedBody> = fc.record({
  shared: bytes,
  ids: fc.option(fc.array(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), { maxLength: 40 }), {
    nil: undefined,
  }),
  digest: bytes,
})

const readAll = (entries: Buffer, count: number): [number, Entry][] | undefined => {
  const read: [number, Entry][] = []
  return readEntries(entries, count, (place, one) => read.push([place, one])) ? read : undefined
}

t.test('what was written is read again, whatever it is', async t => {
  fc.assert(
    fc.property(head, news, (said, entries) => {
      const { bytes: body, written } = writeSignedBody(said, entries, -1)
      t.strictSame(written, entries)
      const read = readSignedBody(body, said.ids !== undefined)
      t.strictSame(read?.shared, said.shared)
      t.strictSame(read?.ids, said.ids)
      t.strictSame(read?.digest, said.digest)
      t.strictSame(
        readAll(read!.entries, 1_000),
        entries.map(({ place, entry: one }) => [place, one]),
      )
    }),
    { numRuns: 50 },
  )
})

t.test('what was altered is read or refused, and never reaches beyond its end', async t => {
  let readable = 0
  fc.assert(
    fc.property(head, news, fc.nat(), fc.nat(255), (said, entries, at, value) => {
      const { bytes: body } = writeSignedBody(said, entries, -1)
      body[at % body.length] = value
      const read = readSignedBody(body, said.ids !== undefined)
      if (read === undefined) return true
      readable++
      const { shared, ids = [], digest } = read
      readAll(read.entries, 1_000)
      return shared.length + 8 * ids.length + digest.length + read.entries.length < body.length
    }),
    { numRuns: 300 },
  )
  t.ok(readable > 30, `${readable} of 300 were readable`)
})

t.test('a body that is cut is refused, or its entries are', async t => {
  const said = { shared: Buffer.alloc(5), ids: [1n, 2n], digest: Buffer.from([7, 8]) }
  const link = '03'.repeat(LINK_BYTES)
  const last: NewsEntry = { place: 1, entry: { kind: 'link', time: 9, link }, digest: 0 }
  const { bytes: body } = writeSignedBody(said, [last], -1)
  const headBytes = body.length - readSignedBody(body, true)!.entries.length
  for (let end = 0; end < body.length; end++) {
    const read = readSignedBody(body.subarray(0, end), true)
    if (end < headBytes) t.equal(read, undefined, `cut at ${end}`)
    else t.equal(readAll(read!.entries, 2) === undefined, end > headBytes, `cut at ${end}`)
  }
})

t.test('what does not fit is left for the next message, but never the own entry', async t => {
  const link = '00'.repeat(LINK_BYTES)
  const entries = Array.from({ length: 6_000 }, (_, place): NewsEntry => ({
    ...{ place, digest: 0 },
    entry: { kind: 'link', time: 0, link },
  }))
  const said = { shared: Buffer.alloc(5), ids: undefined, digest: Buffer.alloc(6_000) }
  for (const own of [0, 3_000, 5_999]) {
    const { bytes: body, written } = writeSignedBody(said, entries, own)
    t.ok(body.length + HEADER_BYTES + MAC_BYTES <= MAX_SIGNED_BYTES)
    t.ok(written.length > 3_000 && written.length < entries.length, `${written.length} of 6000`)
    t.ok(
      written.some(({ place }) => place === own),
      `the own one, at ${own}`,
    )
    const read = readSignedBody(body, false)
    t.strictSame(
      readAll(read!.entries, 6_000)?.map(([place]) => place),
      written.map(({ place }) => place),
    )
  }
})

t.test('a member that says much takes no room from the others', async t => {
  const ids = Array.from({ length: 4_000 }, (_, at) => BigInt(at + 1))
  const statement = (place: number, down: readonly bigint[]): NewsEntry => {
    const bytes = sealStatement(
      {
        ...{ generation: 1, epoch: 1, time: 1, slot: 4, logLinks: 10, heartbeat: 1 },
        ...{ anchor: '00'.repeat(LINK_BYTES), flags: 0, cutFor: 0, membershipHash: 1n },
        ...{ down, notLooked: down, standsInFor: [] },
      },
      { zoneHash: 1n, id: BigInt(place) },
      () => Buffer.alloc(SIGNATURE_BYTES),
    )
    const received = parseStatement(bytes)!
    const progress = { quarters: 0, link: undefined }
    return { place, digest: 0, entry: { kind: 'statement', received, progress, age: 0 } }
  }
  const said = { shared: Buffer.alloc(5), ids: undefined, digest: Buffer.alloc(100) }
  const others = Array.from({ length: 98 }, (_, at) => statement(at + 1, [BigInt(at + 1)]))
  for (const place of [0, 99]) {
    const entries = [statement(place, ids), ...others].toSorted((a, b) => a.place - b.place)
    const { written } = writeSignedBody(said, entries, 50)
    t.strictSame(
      written.map(entry => entry.place),
      others.map(entry => entry.place),
      `at place ${place}`,
    )
    t.strictSame(
      writeSignedBody(
        said,
        entries.filter(entry => entry.place === place),
        50,
      ).written.length,
      1,
    )
  }
})
