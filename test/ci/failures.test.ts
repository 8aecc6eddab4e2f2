// SPDX-License-Identifier: Apache-2.0
import t from 'tap'

// A plain script, since it runs before anything is compiled.
const { makeFailureReader } = (await import(new URL('./failures.mjs', import.meta.url).href)) as {
  makeFailureReader: () => { line: (line: string) => void; readonly lines: string[] }
}

const linesOf = (...lines: string[]): string[] => {
  const reader = makeFailureReader()
  for (const line of lines) reader.line(line)
  return reader.lines
}

t.test('what failed, and what is said of it, is kept', async t => {
  const failed = ['  not ok 1.0 s  test/a.test.ts', '    not ok 3 - it holds', '      found: 3']
  t.strictSame(linesOf('ok    build', ...failed, '  ok     2.0 s  test/b.test.ts'), failed)
})

t.test('without a failed line the last ones are kept', async t => {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`)
  t.strictSame(linesOf(...lines), lines.slice(10))
  t.strictSame(linesOf(), [])
})

t.test('however much fails, and however much is said of it, there is a limit', async t => {
  const details = Array.from({ length: 20 }, (_, i) => `  detail ${i}`)
  t.equal(linesOf('not ok a', ...details).length, 13)
  const many = Array.from({ length: 50 }, (_, i) => `not ok ${i}`)
  t.strictSame(linesOf(...many), [...many.slice(0, 40), 'and 10 more lines'])
})
