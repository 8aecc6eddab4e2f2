// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CAPACITY, HistoryRing } from '../../../agent/history/ring.js'
import { parseHistory, saveHistory } from '../../../agent/history/saved.js'

const died = (name: string) =>
  ({ kind: 'class', nodes: [name], from: 'healthy', to: 'dead' }) as const

t.test('the ring keeps the newest, by number', t => {
  const ring = new HistoryRing()
  for (let i = 1; i <= CAPACITY + 10; i++) ring.add(died(`n${i}`), i)
  t.equal(ring.entries.length, CAPACITY)
  t.match(ring.entries[0], { id: 11, nodes: ['n11'], at: 11 })
  t.equal(ring.lastId, CAPACITY + 10)
  t.end()
})

t.test('and by size: the longest names take less than half a MiB', t => {
  const ring = new HistoryRing()
  const nodes = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(253, 'x'))
  const entry = ring.add({ ...died(''), nodes, note: 'y'.repeat(100_000) }, 0)
  t.match(entry, { count: 1_000, nodes: { length: 16 }, note: 'y'.repeat(200) }, 'one is bounded')
  for (let i = 0; i < CAPACITY; i++) ring.add({ ...died(''), nodes }, i)
  const bytes = saveHistory(ring.entries, { now: 0, wall: 0 }).length
  t.ok(bytes < 512 << 10, `${bytes} bytes`)
  t.ok(ring.entries.length > 40)
  t.equal(ring.lastId, CAPACITY + 1, 'ids go on')
  t.end()
})

t.test('what is saved is read again, at the same time by the wall clock', t => {
  const ring = new HistoryRing()
  ring.add(died('a'), 4_000)
  ring.add({ kind: 'brake', to: 'on', note: '3 of 5' }, 5_000)
  const text = saveHistory(ring.entries, { now: 6_000, wall: 1_000_000 })
  const later = parseHistory(text, { now: 50, wall: 1_010_000 })
  t.match(later, [
    { id: 1, at: 50 - 12_000, kind: 'class', nodes: ['a'], count: 1, from: 'healthy', to: 'dead' },
    { id: 2, at: 50 - 11_000, kind: 'brake', nodes: [], count: 0, from: null, note: '3 of 5' },
  ])
  const inThePast = parseHistory(text, { now: 50, wall: 0 })
  t.equal(inThePast[1]?.at, 50, 'a machine that boots in 1970 has no history of the future')
  const next = new HistoryRing()
  next.restore(later)
  t.equal(next.add(died('b'), 60).id, 3, 'ids go on')
  t.end()
})

t.test('a file that is no history is refused whole', t => {
  const good = {
    id: 1,
    at: 0,
    kind: 'class',
    nodes: ['a'],
    count: 1,
    from: null,
    to: 'x',
    note: '',
  }
  const rows: [string, RegExp][] = [
    ['', /remembered history/],
    ['{"version":2,"entries":[]}', /version/],
    [JSON.stringify({ version: 1, entries: [{ ...good, kind: 'gossip' }] }), /kind/],
    [JSON.stringify({ version: 1, entries: [good, good] }), /must have growing ids/],
    [JSON.stringify({ version: 1, entries: [{ ...good, id: 1e300 }] }), /id/],
    [JSON.stringify({ version: 1, entries: [{ ...good, note: 'x'.repeat(201) }] }), /note/],
    [JSON.stringify({ version: 1, entries: [{ ...good, nodes: Array(17).fill('a') }] }), /nodes/],
    [JSON.stringify({ version: 1, entries: Array(1_025).fill(good) }), /entries/],
  ]
  for (const [text, want] of rows)
    t.throws(() => parseHistory(text, { now: 0, wall: 0 }), want, text.slice(0, 80))
  t.end()
})
