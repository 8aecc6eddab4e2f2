// SPDX-License-Identifier: Apache-2.0
import t from 'tap'

interface Counts {
  readonly total: number
  readonly pass: number
  readonly fail: number
  readonly todo: number
  readonly skip: number
}
interface Reader {
  line(line: string): void
  readonly summary: Counts | undefined
  readonly leftOut: { readonly cases: number; readonly files: number }
  readonly rest: readonly string[]
}
// A plain script, since `npm test` runs it before anything is compiled.
const { parseSummary, makeTapReader } = (await import(
  new URL('./tap-output.mjs', import.meta.url).href
)) as {
  parseSummary: (text: string) => Counts | undefined
  makeTapReader: (print: (line: string) => void) => Reader
}

const summaries: [why: string, text: string, want: Partial<Counts> | undefined][] = [
  ['all passed', 'total: 3, pass: 3', { pass: 3, fail: 0 }],
  [
    'every kind',
    'total: 7, pass: 3, fail: 2, todo: 1, skip: 1',
    { pass: 3, fail: 2, todo: 1, skip: 1 },
  ],
  ['nothing was asserted', 'total: 0, pass: 0', undefined],
  ['numbers that do not add up', 'total: 9, pass: 3', undefined],
  ['an unknown kind', 'total: 1, pass: 1, lost: 0', undefined],
  ['not a number', 'total: x', undefined],
]
for (const [why, text, want] of summaries) t.match(parseSummary(text), want, why)

const read = (lines: string) => {
  const printed: string[] = []
  const reader = makeTapReader(line => printed.push(line))
  for (const line of lines.split('\n')) reader.line(line)
  return { printed: printed.join('\n'), reader }
}

t.test('a file that passed is one line', t => {
  const { printed, reader } = read(`TAP version 14
1..1
# Subtest: test/a.test.ts
    ok 1 - fine
    1..1
ok 1 - test/a.test.ts # time=1204.1ms

# { total: 1, pass: 1 }
# time=1300ms`)
  t.equal(printed, '    ok        1.2 s  test/a.test.ts')
  t.equal(reader.summary?.pass, 1)
  t.end()
})

t.test('of a file that failed, what passed is left out and the failure is whole', t => {
  const { printed, reader } = read(`# Subtest: test/a.test.ts
    ok 1 - fine
    # Subtest: good
        ok 1 - fine too
        1..1
    ok 2 - good
    # Subtest: bad
        ok 1 - still fine
        not ok 2 - one is two
          ---
          diff: |
            -2
            +1
          ...
        1..2
        # failed 1 of 2 tests
    not ok 3 - bad
    1..3
not ok 1 - test/a.test.ts # time=20ms
# { total: 4, pass: 3, fail: 1 }`)
  t.match(printed, /not ok {4}0\.0 s {2}test\/a\.test\.ts\n/)
  t.match(
    printed,
    /# Subtest: bad\n +not ok 2 - one is two\n +---\n +diff: \|\n +-2\n +\+1\n +\.\.\.\n/,
  )
  t.notMatch(printed, /fine|good/)
  t.equal(reader.summary?.fail, 1)
  t.end()
})

t.test('what tests left out is told with their file, and counted', async t => {
  const { printed, reader } = read(`# Subtest: test/a.test.ts
    # left out: 3 of 4 zones
    # Subtest: rows
        # left out: 20 of 21 rows
        ok 1 - fine
        1..1
    ok 1 - rows
    # what is left out: 9 of 9 words is no count
    1..1
ok 1 - test/a.test.ts # time=20ms
# Subtest: test/b.test.ts
    ok 1 - fine
    1..1
ok 2 - test/b.test.ts # time=20ms
# { total: 2, pass: 2 }`)
  t.equal(
    printed,
    `    ok        0.0 s  test/a.test.ts (left out: 3 of 4 zones, 20 of 21 rows)
    ok        0.0 s  test/b.test.ts`,
  )
  t.strictSame(reader.leftOut, { cases: 23, files: 1 })
})

t.test('files that share a process are one line each', async t => {
  const { printed, reader } = read(`# Subtest: .cache/together/core.mjs
    # Subtest: test/a.test.ts
        # left out: 3 of 4 zones
        ok 1 - fine
        1..1
    ok 1 - test/a.test.ts # time=20ms
    # Subtest: test/b.test.ts
        # Subtest: rows
            not ok 1 - one is two
              ---
              diff: one
              ...
            1..1
            # failed 1 test
        not ok 1 - rows
        1..1
    not ok 2 - test/b.test.ts # time=1500ms
    # Subtest: test/c.test.ts
        ok 1 - fine
        1..1
    ok 3 - test/c.test.ts # time=10ms
    1..3
not ok 1 - .cache/together/core.mjs # time=2000ms
# Subtest: test/d.test.ts
    ok 1 - test/e.test.ts # time=10ms
    1..1
ok 2 - test/d.test.ts # time=20ms
# { total: 4, pass: 3, fail: 1 }`)
  const lines = printed.split('\n').map(line => line.trim())
  t.strictSame(lines, [
    'ok        0.0 s  test/a.test.ts (left out: 3 of 4 zones)',
    'not ok    1.5 s  test/b.test.ts',
    ...['# Subtest: test/b.test.ts', '# Subtest: rows', 'not ok 1 - one is two'],
    ...['---', 'diff: one', '...', '# failed 1 test', 'not ok 1 - rows'],
    'ok        0.0 s  test/c.test.ts',
    'not ok    2.0 s  .cache/together/core.mjs',
    'ok        0.0 s  test/d.test.ts',
  ])
  t.strictSame(reader.leftOut, { cases: 3, files: 1 })
})

t.test('a run that broke off has no counts and shows what it had', t => {
  const { reader } = read(`# Subtest: test/a.test.ts
    not ok 1 - broken`)
  t.equal(reader.summary, undefined)
  t.match(reader.rest.join('\n'), /not ok 1 - broken/)
  t.end()
})
