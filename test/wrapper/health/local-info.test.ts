// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { EventReader } from '../../../wrapper/health/event-reader.js'
import { KnownHealth } from '../../../wrapper/health/known-health.js'
import { parseLocalInfo } from '../../../wrapper/health/local-info.js'
import fc from '../../../testkit/properties.js'

t.test('both dialects are read, as Go reads them', t => {
  const time = '"0001-01-01T00:00:00Z"'
  const rows: [what: string, text: string, expected: Record<string, boolean | null>][] = [
    [
      'v0.6, by name',
      `{"node-1":{"Normal":true,"Hamc":"","Time":${time}},"node-3":{"Normal":false,"Hamc":"","Time":${time}}}`,
      { 'node-1': true, 'node-3': false },
    ],
    [
      'v0.9, by address; false is left out',
      '{"10.123.0.11":{"normal":true},"10.123.0.13":{}}\n',
      { '10.123.0.11': true, '10.123.0.13': false },
    ],
    ['any case', '{"a":{"NORMAL":true}}', { a: true }],
    ['of two the last one', '{"a":{"Normal":true,"normal":false}}', { a: false }],
    ['null is left alone, as Go does', '{"a":{"Normal":true,"normal":null}}', { a: true }],
    ['unknown fields', '{"a":{"Normal":true,"Score":3}}', { a: true }],
    ['a node that left, in our stream', '{"a":null}', { a: null }],
    ['nobody', '{}', {}],
    ['null', 'null', {}],
  ]
  for (const [what, text, expected] of rows)
    t.strictSame(Object.fromEntries(parseLocalInfo(text)), expected, what)
  t.end()
})

t.test('an invalid document is refused as a whole, with key and rule', t => {
  const many = Object.fromEntries(Array.from({ length: 20_001 }, (_, i) => [`n${i}`, {}]))
  const rows: [text: string, message: RegExp][] = [
    ['', /^\/localinfo must be JSON/],
    ['{"a":{"Normal":true}}{"a":{}}', /must be JSON/],
    ['[]', /must be a map of nodes/],
    ['"up"', /must be a map of nodes/],
    ['{"a":true}', /^\/localinfo: a must be a map, got true/],
    ['{"a":[]}', /^\/localinfo: a must be a map/],
    ['{"a":{"Normal":true},"b":{"Normal":"yes"}}', /b: normal must be true or false, got "yes"/],
    [JSON.stringify(many), /at most 20000 nodes, got 20001/],
  ]
  for (const [text, message] of rows)
    t.throws(() => parseLocalInfo(text), { name: 'InvalidInputError', message })
  t.end()
})

t.test('more than agents send is refused before it is parsed', t => {
  const parsed = JSON.parse
  const rows: [what: string, text: string, message: RegExp][] = [
    [
      'maps in a list',
      `{"n":{"x":[${'{},'.repeat(300_000)}{}]}}`,
      /at most 100000 values, got 100001/,
    ],
    ['names of fields', `{"n":{${'"x":0,'.repeat(100_000)}"x":0}}`, /at most 100000 values/],
    ['numbers', `{"n":[${'1,'.repeat(100_000)}1]}`, /at most 100000 values/],
    ['lists in lists', `{"n":{"normal":${'['.repeat(7)}`, /at most 8 levels deep, got 9/],
    ['maps in maps', '{"n":'.repeat(9), /at most 8 levels deep, got 9/],
    ['after a string that ends', String.raw`{"a\\":${'['.repeat(8)}`, /levels deep/],
  ]
  t.teardown(() => (JSON.parse = parsed))
  JSON.parse = () => t.fail('it is parsed')
  for (const [what, text, message] of rows)
    t.throws(() => parseLocalInfo(text), { name: 'InvalidInputError', message }, what)
  JSON.parse = parsed
  t.end()
})

t.test('what agents of now and later send is taken', t => {
  const brackets = '[{,'.repeat(50_000)
  const time = '0001-01-01T00:00:00Z'
  const largest = Object.fromEntries(
    Array.from({ length: 5_000 }, (_, i) => [
      `${i}`.padStart(253, 'n'),
      { Normal: true, Hamc: '', Time: time },
    ]),
  )
  const rows: [what: string, text: string, size: number][] = [
    ['5000 nodes of the longest names', JSON.stringify(largest), 5_000],
    ['brackets in strings', JSON.stringify({ a: { Normal: true, x: `\\"${brackets}` } }), 1],
    ['fields that are lists and maps', '{"a":{"Normal":true,"x":[{"y":[{}]},[]]},"b":{}}', 2],
  ]
  for (const [what, text, size] of rows) {
    const [event] = new EventReader().push(Buffer.from(`data: ${text}\n\n`))
    t.equal(parseLocalInfo(event!.data).size, size, what)
  }
  t.end()
})

t.test('events are complete however the chunks are split', t => {
  const stream =
    'event: snapshot\nid: 1\ndata: {"a":"ä€"}\n\n: still here\n\ndata: 1\r\ndata: 2\r\n\r\nevent: x\n\nretry: 5\ndata\n\n'
  const expected = [
    { event: 'snapshot', data: '{"a":"ä€"}' },
    { event: 'message', data: '1\n2' },
    { event: 'message', data: '' },
  ]
  const bytes = Buffer.from(stream)
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), cuts => {
      const reader = new EventReader()
      const ends = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      const events = ends.slice(1).flatMap((end, i) => reader.push(bytes.subarray(ends[i], end)))
      t.strictSame(events, expected)
    }),
    { numRuns: 50 },
  )
  t.end()
})

t.test('an event that does not end is given up', t => {
  const reader = new EventReader()
  t.throws(() => reader.push(Buffer.alloc((2 << 20) + 1, 'x')), RangeError)
  t.end()
})

t.test('an event of lines without an end is given up, whatever they are', t => {
  const many = (line: string, bytes: number): Buffer =>
    Buffer.from(line.repeat(Math.ceil(bytes / line.length)))
  const rows: [what: string, first: string, line: string][] = [
    ['values', '', `data: ${'x'.repeat(1_000)}\n`],
    ['no values', '', 'data:\n'],
    ['comments after a value', 'data: 1\n', `: ${'x'.repeat(60_000)}\n`],
  ]
  for (const [what, first, line] of rows) {
    const reader = new EventReader()
    reader.push(Buffer.from(first))
    reader.push(many(line, 1 << 20))
    t.throws(() => reader.push(many(line, 2 << 20)), RangeError, what)
  }
  const reader = new EventReader()
  for (let i = 0; i < 9; i++) {
    t.equal(reader.push(Buffer.concat([many(rows[0]![2], 1 << 20), Buffer.from('\n')])).length, 1)
    reader.push(many(': comments between events hold nothing\n', 1 << 20))
  }
  t.end()
})

const nodes = (count: number, prefix: string, entry: object | null = {}): string =>
  JSON.stringify(
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, entry])),
  )

t.test('changes add up to no more nodes than a document may hold', t => {
  const known = new KnownHealth({ addressesOf: () => [], namesOf: () => [] })
  known.replace(parseLocalInfo(nodes(12_000, 'a')))
  known.change(parseLocalInfo(nodes(8_000, 'b')))
  t.throws(() => known.change(parseLocalInfo(nodes(1, 'c'))), {
    message: /must hold at most 20000 nodes, got 20001/,
  })
  t.strictSame([known.size, known.of('c0')], [20_000, 'unknown'], 'nothing of it is taken')
  t.equal(known.change(parseLocalInfo(nodes(100, 'b', { Normal: true }))).length, 100)
  known.change(parseLocalInfo(nodes(100, 'b', null)))
  known.change(parseLocalInfo(nodes(100, 'c')))
  t.equal(known.size, 20_000, 'there is room for others after some left')
  known.replace(parseLocalInfo(nodes(20_000, 'd')))
  t.strictSame([known.size, known.of('a0')], [20_000, 'unknown'], 'a whole document replaces all')
  t.end()
})

t.test('a name is no longer than names of Nodes', t => {
  const document = (length: number): string => JSON.stringify({ ['x'.repeat(length)]: {} })
  t.equal(parseLocalInfo(document(253)).size, 1)
  t.throws(() => parseLocalInfo(document(254)), {
    message: /a name must have at most 253 characters, got 254/,
  })
  t.end()
})

t.test('a node is known by its name or by any of its addresses', t => {
  const addresses: Record<string, string[]> = { a: ['10.0.0.1', 'fd00::1'], b: ['10.0.0.2'] }
  const known = new KnownHealth({
    addressesOf: name => addresses[name] ?? [],
    namesOf: address => Object.keys(addresses).filter(name => addresses[name]!.includes(address)),
  })
  const byAddress = { '10.0.0.1': {}, '10.0.0.2': { normal: true }, '10.0.0.9': {} }
  const first = known.replace(parseLocalInfo(JSON.stringify(byAddress)))
  t.strictSame(first, ['10.0.0.1', 'a', '10.0.0.2', 'b', '10.0.0.9'])
  t.strictSame(
    ['a', 'b', 'c', '10.0.0.9'].map(name => known.of(name)),
    ['dead', 'normal', 'unknown', 'dead'],
    'a node may even be called by its address',
  )
  t.strictSame(known.dead(), ['10.0.0.1', '10.0.0.9', 'a'])
  t.strictSame(known.change(parseLocalInfo('{"a":{"normal":true}}')), ['a'])
  t.equal(known.of('a'), 'normal', 'its name counts before its address')
  const changed = known.replace(parseLocalInfo('{"b":{"Normal":false}}'))
  t.strictSame([...changed].sort(), ['10.0.0.1', '10.0.0.2', '10.0.0.9', 'a', 'b'])
  t.strictSame([known.of('a'), known.of('b'), known.size], ['unknown', 'dead', 1])
  t.strictSame(known.replace(parseLocalInfo('{"b":{"Normal":false}}')), [], 'no change, no news')
  t.end()
})
