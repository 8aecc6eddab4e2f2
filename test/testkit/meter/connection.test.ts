// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Connection, type Kind } from '../../../testkit/meter/connection.js'
import { FLAG, type Packet } from '../../../testkit/meter/packet.js'

const { syn, ack, fin, rst } = FLAG

/** A packet of a side; the sides' numbers begin at 100 and 900. */
type Seen = Partial<Omit<Packet, 'head'>> & {
  readonly by: 'client' | 'server'
  readonly head?: string
}

const play = (connection: Connection, packets: readonly Seen[]): readonly Kind[] =>
  packets.map(({ by, head = '', ...packet }) =>
    connection.take(by, {
      from: { address: '10.0.0.1', port: 40_000 },
      to: { address: '10.0.0.2', port: 443 },
      ...{ at: 0, flags: ack, seq: 0, ack: 0, bytes: 52 + (packet.payload ?? 0), payload: 0 },
      ...packet,
      head: Buffer.from(head, 'hex'),
    }),
  )

const OPENING: readonly Seen[] = [
  { by: 'client', flags: syn, seq: 99 },
  { by: 'server', flags: syn | ack, seq: 899, ack: 100 },
  { by: 'client', seq: 100, ack: 900 },
]

t.test('plain: the first bytes of the client are a request', async t => {
  const kinds = play(new Connection(false), [
    ...OPENING,
    { by: 'client', seq: 100, payload: 50, head: '4745542020' },
    { by: 'server', seq: 900, ack: 150 },
    { by: 'server', at: 1_999, seq: 900, ack: 150, payload: 70, head: '4854545020' },
    { by: 'client', seq: 150, ack: 970 },
    { by: 'server', at: 2_001, seq: 970, ack: 150, payload: 30, head: '7b22747920' },
    { by: 'client', flags: fin | ack, seq: 150 },
    { by: 'server', flags: rst, seq: 1_000 },
  ])
  t.same(kinds, [
    ...['handshake', 'handshake', 'handshake'],
    ...['request', 'ack', 'answer', 'ack', 'watch', 'handshake', 'handshake'],
  ])
})

t.test(
  'TLS 1.3: the request is what follows Finished; tickets belong to the handshake',
  async t => {
    const kinds = play(new Connection(false), [
      ...OPENING,
      { by: 'client', seq: 100, payload: 300, head: '1603010127' },
      { by: 'server', seq: 900, ack: 400, payload: 1_000, head: '160303007a' },
      { by: 'client', seq: 400, ack: 1_900 },
      // A change of ciphers, then Finished.
      { by: 'client', seq: 400, payload: 64, head: `140303000101170303003${'5'.padEnd(90, '0')}` },
      { by: 'server', seq: 1_900, ack: 464, payload: 255, head: '17030300fa' },
      { by: 'client', seq: 464, payload: 200, head: '17030300c3' },
      // It was on its way before the request came.
      { by: 'server', seq: 2_155, ack: 464, payload: 255, head: '17030300fa' },
      { by: 'server', seq: 2_410, ack: 664, payload: 500, head: '17030301ef' },
    ])
    t.same(kinds.slice(3), [
      ...['handshake', 'handshake', 'handshake', 'handshake', 'handshake'],
      ...['request', 'handshake', 'answer'],
    ])
  },
)

t.test('TLS 1.3: a request in the packet of Finished opens the connection too', async t => {
  const finished = `1403030001011703030035${'00'.repeat(0x35)}`
  const kinds = play(new Connection(false), [
    ...OPENING,
    { by: 'client', seq: 100, payload: 300, head: '1603010127' },
    { by: 'server', seq: 900, ack: 400, payload: 1_000, head: '160303007a' },
    { by: 'client', seq: 400, payload: 264, head: `${finished}17030300c3` },
    { by: 'server', seq: 1_900, ack: 464, payload: 255, head: '17030300fa' },
    { by: 'server', seq: 2_155, ack: 664, payload: 255, head: '17030300fa' },
    { by: 'client', seq: 664, payload: 200, head: '17030300c3' },
  ])
  t.same(kinds.slice(5), ['handshake', 'handshake', 'answer', 'request'])
})

t.test('TLS 1.3 without a change of ciphers, and TLS 1.2', async t => {
  const plain = play(new Connection(false), [
    ...OPENING,
    { by: 'client', seq: 100, payload: 300, head: '1603010127' },
    { by: 'server', seq: 900, ack: 400, payload: 1_000, head: '160303007a' },
    { by: 'client', seq: 400, payload: 58, head: '1703030035' },
    { by: 'client', seq: 458, payload: 200, head: '17030300c3' },
  ])
  t.same(plain.slice(5), ['handshake', 'request'])
  const old = play(new Connection(false), [
    ...OPENING,
    { by: 'client', seq: 100, payload: 300, head: '1603010127' },
    { by: 'server', seq: 900, ack: 400, payload: 1_000, head: '160303007a' },
    { by: 'client', seq: 400, payload: 126, head: '1603030046' },
    { by: 'server', seq: 1_900, ack: 526, payload: 51, head: '1403030001' },
    { by: 'client', seq: 526, payload: 200, head: '17030300c3' },
    { by: 'server', seq: 1_951, ack: 726, payload: 200, head: '17030300c3' },
  ])
  t.same(old.slice(5), ['handshake', 'handshake', 'request', 'answer'])
})

t.test('a keepalive repeats a number that was passed, and has one answer', async t => {
  const connection = new Connection(false)
  play(connection, [...OPENING, { by: 'client', seq: 100, payload: 50, head: '4745542020' }])
  const kinds = play(connection, [
    { by: 'client', seq: 149 },
    { by: 'server', seq: 900, ack: 150 },
    { by: 'server', seq: 900, ack: 150 },
    { by: 'server', seq: 899, ack: 150 },
    { by: 'client', seq: 150, ack: 900 },
  ])
  t.same(kinds, ['keepalive', 'keepalive', 'ack', 'keepalive', 'keepalive'])
})

t.test("HTTP/2's PING is a keepalive on both ways, and no request", async t => {
  const connection = new Connection(false)
  play(connection, [
    ...OPENING,
    { by: 'client', seq: 100, payload: 300, head: '1603010127' },
    { by: 'client', seq: 400, payload: 58, head: '1703030035' },
    { by: 'client', seq: 458, payload: 200, head: '17030300c3' },
  ])
  const kinds = play(connection, [
    { by: 'client', at: 10_000, seq: 658, payload: 39, head: '1703030022' },
    { by: 'server', at: 10_000, seq: 900, ack: 697, payload: 39, head: '1703030022' },
    { by: 'server', at: 10_001, seq: 939, ack: 697, payload: 400, head: '170303018b' },
  ])
  t.same(kinds, ['keepalive', 'keepalive', 'watch'])
})

t.test('numbers wrap at 2³²', async t => {
  const last = 2 ** 32 - 1
  const kinds = play(new Connection(false), [
    { by: 'client', flags: syn, seq: last - 10 },
    { by: 'server', flags: syn | ack, seq: last, ack: last - 9 },
    { by: 'client', seq: last - 9, payload: 10, head: '4745542020' },
    { by: 'client', seq: last },
    { by: 'client', seq: last - 1 },
    { by: 'server', seq: 0, ack: 0, payload: 10, head: '4854545020' },
  ])
  t.same(kinds.slice(2), ['request', 'keepalive', 'ack', 'answer'])
})

t.test('of a connection that was open before, what comes first is no handshake', async t => {
  const kinds = play(new Connection(true), [
    { by: 'server', seq: 5_000, ack: 3_000_000_000, payload: 100, head: '1703030100' },
    { by: 'client', seq: 3_000_000_000, payload: 100, head: '1703030100' },
    { by: 'server', seq: 5_100, ack: 3_000_000_100, payload: 100, head: '1703030100' },
  ])
  t.same(kinds, ['watch', 'request', 'answer'])
})
