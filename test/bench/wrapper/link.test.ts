// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { barRow, countRows } from '../../../bench/wrapper/link.js'

t.test('a bar is of a day, of both ways', async t => {
  const entry = { end: 'apiserver', kind: 'watch', packets: 1 } as const
  const entries = [
    { ...entry, direction: 'sent', bytes: 400_000 },
    { ...entry, direction: 'received', bytes: 600_000 },
  ] as const
  const row = { what: 'x', bar: '≤ 10 MB a day', measured: '10.0 MB', isMet: true }
  t.strictSame(barRow('x', 10, { entries, seconds: 8_640 }), row)
  t.strictSame(barRow('x', 10, { entries, seconds: 8_600 }), { ...row, isMet: false })
})

t.test('where the meter has faults, each is a missed bar', async t => {
  t.strictSame(countRows(100, []), [])
  const faults = ['7 packets came too fast to be counted', 'another']
  t.match(
    countRows(100, faults),
    faults.map(measured => ({ what: /100 Nodes/, measured, isMet: false })),
  )
})
