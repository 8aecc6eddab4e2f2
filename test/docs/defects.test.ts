// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')
const page = readFileSync(join(root, 'docs', 'defects.md'), 'utf8')
const rows = [...page.matchAll(/^\| ([DCSW]\d+) +\| (.*?) +\| (.*?) +\|$/gm)].map(
  ([, number = '', , tests = '']) => ({ number, tests }),
)

t.test('every number has its row', t => {
  const counts = { D: 18, C: 23, S: 8, W: 21 }
  const wanted = Object.entries(counts).flatMap(([letter, count]) =>
    Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
  )
  t.strictSame(
    rows.map(({ number }) => number),
    wanted,
  )
  t.end()
})

t.test('every test that is named exists', t => {
  for (const { number, tests } of rows) {
    for (const cell of tests.split('<br>')) {
      if (/^no test: ./.test(cell)) continue
      const [, file = '', name = ''] = /^`(.+)`: (.+)$/.exec(cell) ?? []
      const path = join(root, file)
      const text = file !== '' && existsSync(path) ? readFileSync(path, 'utf8') : ''
      const isNamed = [`'${name}`, `"${name}`, `\`${name}`].some(opening => text.includes(opening))
      t.ok(name !== '' && isNamed, `${number}: ${file}: ${name}`)
    }
  }
  t.end()
})
