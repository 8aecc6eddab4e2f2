// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { Ledger, type Sides } from '../../../testkit/meter/ledger.js'
import { parsePacket } from '../../../testkit/meter/packet.js'

const sides: Sides = {
  isOurs: ({ address }) => address === '10.0.0.1',
  endOf: (theirs, ours) => {
    if (theirs.port === 10_250) return 'kubelets'
    return theirs.port === 51_005 || ours.port === 51_005 ? 'peers' : undefined
  },
}

const ledgerOf = (...lines: readonly string[]): Ledger => {
  const ledger = new Ledger(sides)
  for (const line of lines) ledger.take(parsePacket(line))
  return ledger
}

t.test('a line of the program is a packet, anything else is refused', async t => {
  t.match(parsePacket('1700000000123456789 10.0.0.1 40000 10.0.0.2 443 24 5 6 90 38 1703030021'), {
    at: 1_700_000_000_123.456,
    from: { address: '10.0.0.1', port: 40_000 },
    to: { address: '10.0.0.2', port: 443 },
    ...{ flags: 24, seq: 5, ack: 6, bytes: 90, payload: 38 },
    head: Buffer.from('1703030021', 'hex'),
  })
  t.throws(() => parsePacket('1 10.0.0.1 40000'), { code: 'INVALID_INPUT' })
  t.throws(() => parsePacket('1 10.0.0.1 x 10.0.0.2 443 24 5 6 90 38 -'), { code: 'INVALID_INPUT' })
})

t.test('what is sent and received is apart, by other end and kind', async t => {
  const ledger = ledgerOf(
    '0 10.0.0.1 40000 10.0.0.2 10250 2 99 0 60 0 -',
    '0 10.0.0.2 10250 10.0.0.1 40000 18 899 100 60 0 -',
    '0 10.0.0.1 40000 10.0.0.2 10250 24 100 900 152 100 4745542f20',
    '0 10.0.0.2 10250 10.0.0.1 40000 24 900 200 252 200 4854545020',
    '0 10.0.0.3 50000 10.0.0.1 51005 2 99 0 60 0 -',
    '0 10.0.0.3 50000 10.0.0.1 51005 24 100 900 92 40 504f535420',
  )
  t.same(ledger.entries, [
    { end: 'kubelets', direction: 'sent', kind: 'handshake', packets: 1, bytes: 60 },
    { end: 'kubelets', direction: 'received', kind: 'handshake', packets: 1, bytes: 60 },
    { end: 'kubelets', direction: 'sent', kind: 'request', packets: 1, bytes: 152 },
    { end: 'kubelets', direction: 'received', kind: 'answer', packets: 1, bytes: 252 },
    { end: 'peers', direction: 'received', kind: 'handshake', packets: 1, bytes: 60 },
    { end: 'peers', direction: 'received', kind: 'request', packets: 1, bytes: 92 },
  ])
})

t.test(
  'packets of others, to oneself, and with ends that have no name are not counted',
  async t => {
    const ledger = ledgerOf(
      '0 10.0.0.2 40000 10.0.0.3 10250 2 99 0 60 0 -',
      '0 10.0.0.1 40000 10.0.0.1 10250 2 99 0 60 0 -',
      '0 10.0.0.1 40000 10.0.0.2 53 2 99 0 60 0 -',
    )
    t.same(ledger.entries, [])
  },
)

t.test('the same ports again are another connection', async t => {
  const ledger = ledgerOf(
    '0 10.0.0.1 40000 10.0.0.2 10250 2 99 0 60 0 -',
    '0 10.0.0.1 40000 10.0.0.2 10250 24 100 900 152 100 4745542f20',
    '0 10.0.0.1 40000 10.0.0.2 10250 2 5000 0 60 0 -',
    '0 10.0.0.1 40000 10.0.0.2 10250 16 5001 1 52 0 -',
  )
  t.same(
    ledger.entries.map(({ kind, packets }) => [kind, packets]),
    [
      ['handshake', 3],
      ['request', 1],
    ],
  )
})

t.test('of a connection that was open before, the lower port is the server', async t => {
  const ledger = ledgerOf(
    '0 10.0.0.2 10250 10.0.0.1 40000 24 900 200 252 200 4854545020',
    '0 10.0.0.1 40000 10.0.0.2 10250 24 100 900 152 100 4745542f20',
  )
  t.same(
    ledger.entries.map(({ kind, direction }) => [kind, direction]),
    [
      ['watch', 'received'],
      ['request', 'sent'],
    ],
  )
})

t.test('what is not TCP is counted, and packets longer than a card sends are reported', async t => {
  const ledger = new Ledger({ ...sides, endOf: () => 'all' })
  ledger.take(parsePacket('0 10.0.0.1 0 10.0.0.2 0 0 0 0 84 64 -'))
  ledger.take(parsePacket('0 10.0.0.1 40000 10.0.0.2 443 16 1 1 9000 8948 1703030021'))
  t.match(ledger.entries, [
    { kind: 'other', bytes: 84 },
    { kind: 'request', bytes: 9_000 },
  ])
  t.same(ledger.faults, ['1 packets were longer than a network card sends'])
  t.same(ledgerOf('0 10.0.0.1 40000 10.0.0.2 10250 2 99 0 1500 0 -').faults, [])
})

t.test(
  'of many connections those that were silent for a quarter of an hour are forgotten',
  async t => {
    const MINUTE = 60_000_000_000n
    const ledger = new Ledger({ ...sides, endOf: () => 'all' })
    const at = (minute: number, line: string): void =>
      ledger.take(parsePacket(`${BigInt(minute) * MINUTE} ${line}`))
    const silent = '10.0.0.1 40000 10.0.0.2 51005'
    const kept = '10.0.0.1 40001 10.0.0.2 51005'
    for (const opened of [silent, kept]) at(0, `${opened} 2 99 0 60 0 -`)
    at(10, `${kept} 24 100 900 152 100 504f535420`)
    for (let port = 0; port < 1_024; port++)
      at(20, `10.0.0.1 ${port + 41_000} 10.0.0.2 443 2 9 0 60 0 -`)
    const before = ledger.entries.filter(({ kind }) => kind !== 'handshake')
    t.match(before, [{ kind: 'request', packets: 1 }])
    at(20, `${kept} 24 200 900 152 100 504f535420`)
    // Nobody knows any more who opened it: the lower port counts as its server's.
    at(20, `${silent} 24 100 900 152 100 504f535420`)
    t.match(
      ledger.entries.filter(({ kind }) => kind !== 'handshake'),
      [
        { kind: 'request', packets: 2 },
        { kind: 'watch', packets: 1 },
      ],
    )
  },
)
