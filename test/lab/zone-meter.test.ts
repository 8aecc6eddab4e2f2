// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parsePacket } from '../../testkit/meter/packet.js'
import { sumOf } from '../../testkit/meter/traffic.js'
import { drawNodeTraffic } from './traffic-table.js'
import { trafficBetween, ZoneLedger } from './zone-meter.js'

/** edge-1 and edge-2 are at .11 and .12 of the peers' network and of the cloud's. */
const LINES = [
  // edge-1 says something to edge-2, and probes its kubelet.
  '0 10.202.0.11 52000 10.202.0.12 51005 24 1 1 152 100 504f535420',
  '0 10.202.0.11 40001 10.202.0.12 10250 24 1 1 95 43 4745542f20',
  // edge-2 and its kubelet ask the apiserver.
  '0 10.201.0.12 40000 10.201.0.1 6443 24 1 1 120 68 1703030021',
  '0 10.201.0.12 40001 10.201.0.2 6443 24 1 1 300 248 1703030021',
  // Somebody who is no member asks edge-1 for something else.
  '0 10.202.0.211 40000 10.202.0.11 80 24 1 1 80 28 4745542f20',
  // Two who are no members.
  '0 10.202.0.211 40000 10.202.0.212 80 24 1 1 80 28 4745542f20',
]

const counted = (): ZoneLedger => {
  const ledger = new ZoneLedger(['edge-1', 'edge-2'])
  for (const line of LINES) ledger.take(parsePacket(line))
  return ledger
}

t.test('a packet counts at the node that sends it and at the one that it is for', async t => {
  const { reading, faults } = counted()
  const rows = [...reading].map(([node, entries]) => [
    node,
    Object.fromEntries(entries.map(({ end, direction, bytes }) => [`${end} ${direction}`, bytes])),
  ])
  t.same(rows, [
    ['edge-1', { 'peers sent': 152, 'kubelets sent': 95, 'others received': 80 }],
    [
      'edge-2',
      {
        'peers received': 152,
        'kubelets received': 95,
        'apiserver sent': 120,
        'apiserver (own kubelet) sent': 300,
      },
    ],
  ])
  t.same(faults, [])
})

t.test('a cell has what came while it was played', async t => {
  const ledger = counted()
  const from = ledger.reading
  ledger.take(parsePacket('0 10.202.0.12 51005 10.202.0.11 52000 24 1 101 252 200 4854545020'))
  const traffic = trafficBetween(from, ledger.reading, 10)
  t.same(
    traffic.map(({ node, seconds, entries }) => [
      node,
      seconds,
      entries.length,
      sumOf(entries).bytes,
    ]),
    [
      ['edge-1', 10, 1, 252],
      ['edge-2', 10, 1, 252],
    ],
  )
  const html = drawNodeTraffic(traffic)
  const cells = [...html.matchAll(/<t[dh]>([^<]*)/g)].map(([, text]) => text!)
  t.same(cells.slice(0, 4), ['node', 'other end', 'what', 'sent B/s'])
  t.same(cells.slice(8, 24), [
    ...['edge-1', 'peers', 'all', '0.0', '0.00', '25.2', '0.10', '2.18'],
    ...['', '', 'answer', '0.0', '0.00', '25.2', '0.10', '2.18'],
  ])
  t.equal(drawNodeTraffic([]), '', 'where nobody counted there is no table')
})

t.test('what a card would not send so is said, with the node', async t => {
  const ledger = counted()
  ledger.take(parsePacket('0 10.201.0.12 40000 10.201.0.1 6443 24 69 1 9000 8948 1703030021'))
  t.same(ledger.faults, ['edge-2: 1 packets were longer than a network card sends'])
})
