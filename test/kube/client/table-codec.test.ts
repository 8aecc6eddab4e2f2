// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { InvalidInputError, KubeStatusError, KubeUnreachableError } from '../../../core/errors.js'
import { tableCodec, TableRow } from '../../../kube/client/table-codec.js'

const columns = [
  { name: 'Status', type: 'string', format: '' },
  { name: 'Name', type: 'string', format: 'name' },
  { name: 'Internal-IP', type: 'string', format: '', priority: 1 },
]
const table = (version: string, rows: readonly unknown[][], named = true): object => ({
  kind: 'Table',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { resourceVersion: version },
  columnDefinitions: named ? columns : null,
  rows: rows.map(cells => ({ cells, object: null })),
})
const page = (body: unknown) =>
  tableCodec.parsePage('/x', { type: '', bytes: Buffer.from(JSON.stringify(body)) })
const rowText = (raw: unknown): string => {
  const row = raw as TableRow
  return `${row.name} ${row.text('Status')} ${row.text('Internal-IP')}`
}

t.test('columns are found by what the server calls them, wherever they stand', async t => {
  const { items, version, next } = page(
    table('7', [
      ['Ready', 'a', '10.0.0.1'],
      ['NotReady,SchedulingDisabled', 'b', '<none>'],
    ]),
  )
  t.same(items.map(rowText), ['a Ready 10.0.0.1', 'b NotReady,SchedulingDisabled <none>'])
  t.same([version, next], ['7', ''])
  t.equal(tableCodec.keyOf(items[0]), 'a')
  const more = table('7', [])
  t.equal(page({ ...more, metadata: { resourceVersion: '7', continue: 'c' } }).next, 'c')
  t.same(page({ ...more, rows: null }).items, [])
})

t.test('a server that makes no Tables sends objects', async t => {
  const node = { metadata: { name: 'a', resourceVersion: '1' } }
  const { items } = page({ kind: 'NodeList', metadata: { resourceVersion: '2' }, items: [node] })
  t.same(items, [node])
  t.equal(tableCodec.keyOf(node), 'a')
  const reader = tableCodec.makeReader('nodes', '')
  const line = Buffer.from(`${JSON.stringify({ type: 'ADDED', object: node })}\n`)
  t.same([...reader.push(line)], [{ type: 'ADDED', version: '1', object: node }])
})

t.test('a watch names its columns once', async t => {
  const reader = tableCodec.makeReader('nodes', '')
  const push = (type: string, object: object) => [
    ...reader.push(Buffer.from(`${JSON.stringify({ type, object })}\n`)),
  ]
  const [first] = push('ADDED', table('1', [['Ready', 'a', '10.0.0.1']]))
  t.ok(first?.type === 'ADDED' && rowText(first.object) === 'a Ready 10.0.0.1')
  const [second] = push('MODIFIED', table('2', [['NotReady', 'a', '10.0.0.2']], false))
  t.ok(second?.type === 'MODIFIED' && rowText(second.object) === 'a NotReady 10.0.0.2')
  t.same(push('DELETED', table('3', [['Ready', 'a', 'x']], false)), [
    { type: 'DELETED', version: '3', key: 'a' },
  ])
  t.same(push('BOOKMARK', table('4', [['', '', '']], false)), [{ type: 'BOOKMARK', version: '4' }])
  t.equal(reader.pending, 0)
  t.throws(() => push('ERROR', { kind: 'Status', code: 410, reason: 'Expired' }), KubeStatusError)
})

t.test('a bookmark that comes first names the columns', async t => {
  const reader = tableCodec.makeReader('nodes', '')
  const push = (type: string, object: object) => [
    ...reader.push(Buffer.from(`${JSON.stringify({ type, object })}\n`)),
  ]
  t.same(push('BOOKMARK', table('1', [['', '', '']])), [{ type: 'BOOKMARK', version: '1' }])
  const [event] = push('MODIFIED', table('2', [['Ready', 'a', '10.0.0.1']], false))
  t.ok(event?.type === 'MODIFIED' && rowText(event.object) === 'a Ready 10.0.0.1')
})

t.test('what is no Table that we can read ends the watch, or the list', async t => {
  const rows: [why: string, object: object][] = [
    ['nobody named the columns', table('1', [['Ready', 'a', 'x']], false)],
    ['no column is the name', { ...table('1', [['Ready', 'a', 'x']]), columnDefinitions: [] }],
    ['no name', table('1', [['Ready', '', 'x']])],
    ['a name that is none', table('1', [['Ready', 7, 'x']])],
    ['a name without end', table('1', [['Ready', 'a'.repeat(2_000), 'x']])],
    ['no row', table('1', [])],
    [
      'two rows',
      table('1', [
        ['Ready', 'a', 'x'],
        ['Ready', 'b', 'x'],
      ]),
    ],
    ['cells without end', table('1', [Array.from({ length: 65 }, () => 'x')])],
    ['no version', table('', [['Ready', 'a', 'x']])],
    ['rows that are none', { ...table('1', []), rows: [{ cells: 'abc' }] }],
  ]
  for (const [why, object] of rows) {
    const reader = tableCodec.makeReader('nodes', '')
    const line = Buffer.from(`${JSON.stringify({ type: 'ADDED', object })}\n`)
    t.throws(() => [...reader.push(line)], { message: /^watch of nodes/ }, why)
    if (!/row$|rows$/.test(why)) t.throws(() => page(object), KubeUnreachableError, why)
  }
})

t.test('a cell is a short text', t => {
  const row = new TableRow(
    'a',
    new Map<string, unknown>([
      ['n', 7],
      ['long', 'x'.repeat(1_025)],
    ]),
  )
  for (const column of ['n', 'long', 'absent'])
    t.throws(() => row.text(column), InvalidInputError, column)
  t.end()
})
