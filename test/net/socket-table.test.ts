// SPDX-License-Identifier: Apache-2.0
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MAX_TABLE_BYTES, readTable, usersOf } from '../../net/socket-table.js'

const row = (i: number, remote: string, user: number, local = '0100007F:9C40'): string =>
  `${String(i).padStart(4)}: ${local} ${remote} 01 00000000:00000000 00:00000000 00000000 ${String(user).padStart(5)}        0 ${i + 1} 1 0`

const PORTS = new Set([51_006])

t.test('a table is read in pieces of whole lines, however long it is', async t => {
  const file = join(t.testdir(), 'tcp')
  for (const lines of [0, 1, 1_000, 5_000]) {
    const text = Array.from({ length: lines }, (_, i) => `${row(i, '0100007F:C73E', i)}\n`).join('')
    writeFileSync(file, text)
    const pieces = [...readTable(file)]
    t.equal(pieces.join(''), text)
    for (const piece of pieces) t.match(piece, /^$|\n$/)
  }
  writeFileSync(file, `${row(1, '0100007F:C73E', 1)}\n${row(2, '0100007F:C7', 1)}`)
  t.equal([...readTable(file)].join(''), `${row(1, '0100007F:C73E', 1)}\n`, 'a part of one is none')
  writeFileSync(file, 'x'.repeat(200_000))
  t.equal([...readTable(file)].join(''), '')
})

t.test('without a table there are no lines', async t => {
  t.strictSame([...readTable('/nowhere/net/tcp')], [])
  t.strictSame([...readTable('/')], [], 'what cannot be read is empty')
})

t.test(
  'a table that is not read to its end is closed',
  { skip: process.platform !== 'linux' },
  async t => {
    const file = join(t.testdir(), 'tcp')
    writeFileSync(file, 'x\n'.repeat(200_000))
    const open = () => readdirSync('/proc/self/fd').length
    const before = open()
    for (const piece of readTable(file)) {
      t.match(piece, /^x\n/)
      t.equal(open(), before + 1)
      break
    }
    t.equal(open(), before)
  },
)

t.test('users are those of sockets that are connected to one of the ports', async t => {
  const table = [
    row(1, '0100007F:C73E', 5),
    row(2, '0100007F:C73F', 6, '0100007F:9C41'),
    row(3, '0100007F:9C40', 7, '0100007F:C73E'),
    row(4, '0200007F:C73E', 8, '0100007F:C73E'),
  ].join('\n')
  const { users, isWhole } = usersOf([`${table}\n`, `${row(5, '0100007F:C73E', 9, 'A')}\n`], PORTS)
  t.strictSame(Object.fromEntries(users), {
    '0100007F:9C40 0100007F:C73E': 5,
    '0100007F:C73E 0200007F:C73E': 8,
    'A 0100007F:C73E': 9,
  })
  t.ok(isWhole)
  t.equal(usersOf([table], new Set([51_006, 51_007])).users.size, 3)
})

t.test('of connections to our port only those count that a program may have', async t => {
  const ends = '0100007F:9C40 0100007F:C73E'
  const queues = '00000000:00000000 00:00000000 00000000'
  for (let state = 1; state <= 12; state++)
    for (const inode of ['0', '7', '4294967295']) {
      const text = state.toString(16).toUpperCase().padStart(2, '0')
      const rows = [
        ` 123: 0100007F:C73E 0100007F:9C40 ${text} ${queues}     0        0 ${inode} 1 0`,
        `12345: ${ends} ${text} ${queues}  1000        0 ${inode} 1 0`,
        `12346: 0200007F:C73E 00000000:0000 ${text} ${queues}     0        0 ${inode} 1 0\n`,
      ].join('\n')
      const isHeld = [1, 4, 5, 8].includes(state) && inode !== '0'
      const expected = isHeld ? { [ends]: 1000 } : {}
      t.strictSame(Object.fromEntries(usersOf([rows], PORTS).users), expected, `${text} ${inode}`)
    }
})

t.test('a row that is cut off or is none names nobody', async t => {
  const whole = row(1, '0100007F:C73E', 5)
  for (let length = 0; length < whole.lastIndexOf('2 1 0'); length++)
    t.equal(usersOf([`${whole.slice(0, length)}\n`], PORTS).users.size, 0)
  t.equal(usersOf([whole.replace('    5 ', ' root ')], PORTS).users.size, 0)
})

t.test('a table as long as allowed is whole, a longer one is not', async t => {
  const piece = 'x'.repeat(MAX_TABLE_BYTES / 4)
  const last = row(1, '0100007F:C73E', 5)
  const full = usersOf([piece, piece, piece, piece], PORTS)
  t.ok(full.isWhole)
  const { isWhole, users } = usersOf([last, piece, piece, piece, piece, last], PORTS)
  t.notOk(isWhole)
  t.equal(users.size, 1, 'what came before counts')
})
