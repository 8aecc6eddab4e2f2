// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { barRow, countRows } from '../../../bench/wrapper/link.js'
import { drawTable, rowsText } from '../../../bench/wrapper/table.js'

const entry = { end: 'apiserver', kind: 'watch', packets: 1 } as const
/** A megabyte. */
const entries = [
  { ...entry, direction: 'sent', bytes: 400_000 },
  { ...entry, direction: 'received', bytes: 600_000 },
] as const

t.test('a bar is of a day, of both ways', async t => {
  const row = { what: 'x', bar: '≤ 10 MB a day', measured: '10.0 MB' }
  const day = { entries, seconds: 8_640 }
  t.strictSame(barRow('x', 10, day), { ...row, isMet: true, link: day })
  const shorter = { entries, seconds: 8_600 }
  t.strictSame(barRow('x', 10, shorter), { ...row, isMet: false, link: shorter })
})

t.test('in JSON a bar has the bytes of each direction and kind', async t => {
  const rows = [barRow('x', 10, { entries, seconds: 8_640 }), ...countRows(100, ['lost'])]
  const [bar, fault] = JSON.parse(rowsText(rows, 'json')) as Record<string, unknown>[]
  t.strictSame(bar, {
    ...{ what: 'x', bar: '≤ 10 MB a day', measured: '10.0 MB', isMet: true },
    link: { entries, seconds: 8_640 },
  })
  t.match(fault, { measured: 'lost', isMet: false })
  t.equal(rowsText(rows, 'text'), drawTable(rows))
})

t.test('where the meter has faults, each is a missed bar', async t => {
  t.strictSame(countRows(100, []), [])
  const faults = ['7 packets came too fast to be counted', 'another']
  t.match(
    countRows(100, faults),
    faults.map(measured => ({ what: /100 Nodes/, measured, isMet: false })),
  )
})
