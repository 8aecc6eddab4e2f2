// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Digests } from '../../../agent/identity/digests.js'
import { digestOf, newsFor, type KnownStatement } from '../../../agent/identity/entries.js'
import type { ReceivedStatement } from '../../../agent/identity/statement.js'
import fc from '../../../testkit/properties.js'

/** Of a statement only what digests and news are made of. */
const knownAt = (time: number, quarters: number, madeAt: number): KnownStatement => ({
  received: { statement: { time, slot: 4 }, bytes: Buffer.alloc(0) } as ReceivedStatement,
  progress: { quarters, link: quarters < 4 ? undefined : '00'.repeat(10) },
  madeAt,
})

const anyKnown = fc.record({
  time: fc.integer({ min: 0, max: 2_000 }),
  quarters: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 0, max: 4_000 })),
  madeAt: fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.constant(-Infinity)),
})

t.test('digests of all members and of each are the same, and so is what a peer lacks', async t => {
  fc.assert(
    fc.property(
      fc.array(fc.option(anyKnown, { nil: undefined }), { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 0, max: 255 }),
      fc.integer({ min: 0, max: 100_000 }),
      fc.constantFrom(1, 20),
      (members, seen, now, least) => {
        const all = members.map(one => one && knownAt(one.time, one.quarters, one.madeAt))
        const digests = new Digests(all.length)
        all.forEach((known, place) => digests.set(place, known))
        t.strictSame(
          [...digests.bytes(now)],
          all.map(known => digestOf(known, now)),
        )
        const isNews = (known: KnownStatement | undefined): boolean =>
          known !== undefined && newsFor(known, seen, now, { least }) !== undefined
        const places = all.flatMap((known, place) => (isNews(known) ? [place] : []))
        const knowledge = { seen: new Uint8Array(all.length).fill(seen), now, least }
        t.strictSame(digests.placesOfNews(knowledge), places)
        const always = all.length - 1
        t.strictSame(digests.placesOfNews(knowledge, always), [
          ...places.filter(place => place !== always),
          always,
        ])
      },
    ),
  )
})

t.test('digests grow old, and come back, one member at a time', async t => {
  const change = fc.record({
    place: fc.integer({ min: 0, max: 3 }),
    known: fc.option(fc.integer({ min: 0, max: 40_000 }), { nil: undefined }),
    laterMs: fc.integer({ min: 0, max: 20_000 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), changes => {
      const digests = new Digests(4)
      const all: (KnownStatement | undefined)[] = [undefined, undefined, undefined, undefined]
      let now = 0
      for (const { place, known: age, laterMs } of changes) {
        now += laterMs
        all[place] = age === undefined ? undefined : knownAt(place, 4, now - age)
        digests.set(place, all[place])
        t.strictSame(
          [...digests.bytes(now)],
          all.map(known => digestOf(known, now)),
        )
      }
    }),
  )
})

t.test('what is known of a member can become nothing again', async t => {
  const digests = new Digests(2)
  t.strictSame([...digests.bytes(0)], [0, 0])
  digests.set(1, knownAt(10, 0, 5))
  t.strictSame([...digests.bytes(5)], [0, 11])
  digests.set(1, undefined)
  t.strictSame([...digests.bytes(5)], [0, 0])
  t.strictSame(digests.placesOfNews({ seen: undefined, now: 5, least: 1 }), [])
})
