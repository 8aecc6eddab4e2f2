// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { decodeRecord, encodeRecord } from '../../../../bridge/model/record/codec.js'
import type { Held } from '../../../../bridge/model/record/held.js'
import type { DownstreamType } from '../../../../bridge/model/route/downstream.js'
import fc from '../../../../testkit/properties.js'

const UID = '22f9d1aa-8c6e-4b4b-9a60-3f6a5d1c0e77'
const held = (type: DownstreamType, name: string): Held => ({
  ...{ type, namespace: type === 'node' ? '' : 'till', name, version: '17', print: 'abc_-123' },
})
const HEADER = 'edge-health bridge record 1\n'

t.test('a record as text', t => {
  const record = new Map([
    ['odd uid/1', held('configmap', 'prices')],
    [UID, held('pod', 'web')],
    ['n', held('node', 'shop-1')],
    ['s', { ...held('secret', 'key'), version: 'a b%', print: '' }],
  ])
  const { text, left } = encodeRecord(record)
  t.equal(left, 0)
  t.equal(
    text,
    `${HEADER}n ~bg  shop-1 17 abc_-123
p IvnRqoxuS0uaYD9qXRwOdw till web 17 abc_-123
s ~cw till key ~YSBiJQ 
c ~b2RkIHVpZC8x till prices 17 abc_-123
`,
  )
  const read = decodeRecord(text)
  t.equal(read.unread, 0)
  t.strictSame(Object.fromEntries(read.record), Object.fromEntries(record))
  t.end()
})

t.test('an unreadable line loses only its own object', t => {
  const good = 'p ~u till web 17 \n'
  const rows: [claim: string, text: string, count: number, unread: number][] = [
    ['nothing yet', '', 0, 0],
    ['an empty record', HEADER, 0, 0],
    ['another text', 'v: 2\n', 0, 1],
    ['a later form of it', HEADER.replace('1', '2') + good, 0, 1],
    ['a good line', HEADER + good, 1, 0],
    ['another letter', `${HEADER}x ~u till web 17 \n${good}`, 1, 1],
    ['a uid cut short', `${HEADER}p abc till web 17 \n${good}`, 1, 1],
    ['a uid that is none', `${HEADER}p ~%ff till web 17 \n${good}`, 1, 1],
    ['a version that is none', `${HEADER}p ~u till web 1.5 \n${good}`, 1, 1],
    ['no name', `${HEADER}p ~u till  17 \n`, 0, 1],
    ['a field too many', `${HEADER}p ~u till web 17 a b\n`, 0, 1],
    ['half a line', `${HEADER}p ~u till`, 0, 1],
    ['a way out', `${HEADER}p ~u ../x web 17 \n`, 0, 1],
  ]
  for (const [claim, text, count, unread] of rows) {
    const read = decodeRecord(text)
    t.strictSame([read.record.size, read.unread], [count, unread], claim)
  }
  t.end()
})

t.test('13 000 objects fit; of more, pods come before what they refer to', t => {
  const uid = (index: number): string =>
    `22f9d1aa-8c6e-4b4b-9a60-${index.toString(16).padStart(12, '0')}`
  const many = (type: DownstreamType, from: number, count: number): [string, Held][] =>
    Array.from({ length: count }, (_, index) => [
      uid(from + index),
      held(type, `name-of-it-${from + index}`),
    ])
  const fits = encodeRecord(new Map(many('pod', 0, 13_000)))
  t.equal(fits.left, 0)
  const over = encodeRecord(
    new Map([...many('configmap', 0, 12_000), ...many('pod', 50_000, 5_000)]),
  )
  t.ok(over.text.length <= 960 * 1024 && over.left > 0)
  const { record, unread } = decodeRecord(over.text)
  t.strictSame([record.size, unread], [17_000 - over.left, 0])
  t.equal([...record.values()].filter(({ type }) => type === 'pod').length, 5_000)
  t.equal(
    decodeRecord(`${over.text}${'x\n'.repeat(100_000)}`).record.size,
    record.size,
    'no longer text is read',
  )
  t.end()
})

t.test('an object with a long uid leaves out only itself', t => {
  const long = 'x'.repeat(1 << 20)
  const record = new Map([
    [long, held('pod', 'made-up')],
    [UID, held('pod', 'web')],
    ['c', held('configmap', 'prices')],
  ])
  const { text, left } = encodeRecord(record)
  t.equal(left, 1)
  t.strictSame([...decodeRecord(text).record.keys()], [UID, 'c'])
  t.end()
})

t.test('what is written is read again, and nothing that is read breaks it', t => {
  const entry = fc.tuple(
    fc.oneof(fc.uuid(), fc.string({ minLength: 1 })),
    fc.record(
      {
        type: fc.constantFrom<DownstreamType>('node', 'pod', 'secret', 'configmap'),
        namespace: fc.constantFrom('', 'till', 'kube-system'),
        name: fc.stringMatching(/^[a-z0-9][-.a-z0-9]{0,30}$/),
        version: fc.oneof(fc.nat().map(String), fc.string()),
        print: fc.stringMatching(/^[\w-]{0,11}$/),
      },
      { noNullPrototype: true },
    ),
  )
  fc.assert(
    fc.property(fc.array(entry), entries => {
      const record = new Map<string, Held>(entries)
      const read = decodeRecord(encodeRecord(record).text)
      t.equal(read.unread, 0)
      t.strictSame(new Map([...read.record].sort()), new Map([...record].sort()))
    }),
  )
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: fc.constantFrom('p', ' ', '~', 'a', '%', '\n', '1') })),
      texts => {
        const { record, unread } = decodeRecord(HEADER + texts.join('\n'))
        return record.size + unread >= 0
      },
    ),
  )
  t.end()
})
