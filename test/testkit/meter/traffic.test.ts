// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Entry } from '../../../testkit/meter/ledger.js'
import { between, megabytesADay, sumOf, trafficRows } from '../../../testkit/meter/traffic.js'

const FIRST: readonly Entry[] = [
  { end: 'peers', direction: 'sent', kind: 'request', packets: 1, bytes: 100 },
]
const LATER: readonly Entry[] = [
  { end: 'peers', direction: 'sent', kind: 'request', packets: 11, bytes: 1_100 },
  { end: 'peers', direction: 'received', kind: 'answer', packets: 10, bytes: 3_000 },
  { end: 'apiserver', direction: 'received', kind: 'watch', packets: 5, bytes: 5_000 },
]

t.test('between two readings is what the first one had not', async t => {
  t.same(between(FIRST, LATER), [
    { end: 'peers', direction: 'sent', kind: 'request', packets: 10, bytes: 1_000 },
    { end: 'peers', direction: 'received', kind: 'answer', packets: 10, bytes: 3_000 },
    { end: 'apiserver', direction: 'received', kind: 'watch', packets: 5, bytes: 5_000 },
  ])
})

t.test('sums are of what is named', async t => {
  t.same(sumOf(LATER), { packets: 26, bytes: 9_100 })
  t.same(sumOf(LATER, { end: 'peers' }), { packets: 21, bytes: 4_100 })
  t.same(sumOf(LATER, { end: 'peers', direction: 'sent' }), { packets: 11, bytes: 1_100 })
  t.same(sumOf(LATER, { kind: 'keepalive' }), { packets: 0, bytes: 0 })
})

t.test('a day is 86 400 seconds like these', async t => {
  t.equal(megabytesADay(1_000, 1), 86.4)
  t.equal(megabytesADay(1_000, 10), 8.64)
})

t.test('a row for each other end, then one for each kind that occurred', async t => {
  t.same(trafficRows(between(FIRST, LATER), 10), [
    ['apiserver', 'all', '0.0', '0.00', '500.0', '0.50', '43.20'],
    ['', 'watch', '0.0', '0.00', '500.0', '0.50', '43.20'],
    ['peers', 'all', '100.0', '1.00', '300.0', '1.00', '34.56'],
    ['', 'request', '100.0', '1.00', '0.0', '0.00', '8.64'],
    ['', 'answer', '0.0', '0.00', '300.0', '1.00', '25.92'],
  ])
})
