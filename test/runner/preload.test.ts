// SPDX-License-Identifier: Apache-2.0
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

const root = join(import.meta.dirname, '..', '..')

const { textOfGroup } = (await import(new URL('./together.mjs', import.meta.url).href)) as {
  textOfGroup: (files: readonly string[]) => string
}
const preload = pathToFileURL(join(root, 'test', 'runner', 'preload.mjs')).href

interface Played {
  readonly isGood: boolean
  readonly out: string
}
/** What tap gives to node before the file. */
const tapArguments = ['typescript', 'mock', 'processinfo'].map(
  name =>
    `--import=${pathToFileURL(join(root, `node_modules/@tapjs/${name}/dist/esm/import.mjs`)).href}`,
)

/** A file as `tap` starts one whose coverage is demanded (1) or not (0). */
const run = (path: string, coverage: '0' | '1' = '0'): Promise<Played> => {
  const env = {
    ...{ ...process.env, TAP: '1', NODE_OPTIONS: `--import=${preload}` },
    _TAPJS_PROCESSINFO_COVERAGE_: coverage,
    _TAPJS_PROCESSINFO_CWD_: dirname(path),
  }
  const args = [...tapArguments, path]
  return new Promise(resolve => {
    execFile(process.execPath, args, { cwd: root, env }, (error, out) =>
      resolve({ isGood: error === null, out }),
    )
  })
}

/** A test file of these lines. */
const play = (path: string, lines: string, coverage: '0' | '1' = '0'): Promise<Played> => {
  writeFileSync(path, `import t from 'tap'\n${lines}\n`)
  return run(path, coverage)
}

t.test('what nobody catches fails the file', async t => {
  const folder = t.testdir({})
  const rows: [what: string, lines: string, isGood: boolean][] = [
    ['nothing', `t.test('a', async t => { t.ok(true) })`, true],
    ['an awaited throw', `t.test('a', async () => { throw new Error('no') })`, false],
    [
      'a throw in a timer',
      `t.test('a', t => { setTimeout(() => { throw new Error('no') }, 1); setTimeout(() => t.end(), 50) })`,
      false,
    ],
    [
      'a rejection that nobody awaits',
      `t.test('a', t => { void Promise.reject(new Error('no')); setTimeout(() => t.end(), 50) })`,
      false,
    ],
    ['a failed assertion', `t.test('a', async t => { t.equal(1, 2) })`, false],
    [
      'programs that a test starts load nothing beside',
      `import { execFileSync } from 'node:child_process'
      t.equal(execFileSync(process.execPath, ['-p', 'process.env.NODE_OPTIONS'], { encoding: 'utf8' }), 'undefined\\n')`,
      true,
    ],
  ]
  const played = rows.map(([, lines], place) => play(join(folder, `${place}.test.ts`), lines))
  for (const [place, { isGood, out }] of (await Promise.all(played)).entries())
    t.equal(isGood, rows[place]![2], rows[place]![0], { out })
})

t.test('a changed file is compiled anew, with a map to its own lines', async t => {
  const path = join(t.testdir({}), 'it.test.ts')
  const lines = (word: string): string => `interface A { a: string }\nt.equal('${word}', 'yes')`
  t.match(await play(path, lines('yes')), { isGood: true })
  t.match(await play(path, lines('no')), { isGood: false, out: /lineNumber: 3/ })
  const kept = join(root, '.cache', 'transpiled', `${relative(root, path)}.js`)
  t.notMatch(readFileSync(kept, 'utf8'), 'interface')
})

t.test('what a file runs is recorded where its coverage is demanded, and nowhere else', async t => {
  for (const coverage of ['0', '1'] as const) {
    const folder = t.testdir({})
    t.match(await play(join(folder, 'it.test.ts'), 't.pass()', coverage), { isGood: true })
    const recorded = existsSync(join(folder, '.tap', 'coverage'))
    t.equal(recorded, coverage === '1', coverage)
  }
})

t.test('files that share a process have a tap, a folder and an end of their own', async t => {
  const folder = t.testdir({
    'a.test.ts': `import t from 'tap'
      const place = t.testdir({ mine: '' })
      t.teardown(() => console.log('ended: ' + place))
      t.test('later', async t => t.equal(t.parent?.name.endsWith('a.test.ts'), true))`,
    'b.test.ts': `import t from 'tap'
      t.setTimeout(9_000)
      const place = t.testdir({})
      t.test('first', async t => t.fail('b is wrong: ' + place))`,
    'c.test.ts': `throw new Error('c does not load')`,
    'd.test.ts': `import t from 'tap'
      t.pass('d is well')`,
  })
  const files = ['a', 'b', 'c', 'd'].map(name => relative(root, join(folder, `${name}.test.ts`)))
  const group = join(root, '.cache', 'together', `${process.pid}.mjs`)
  t.teardown(() => rmSync(group))
  mkdirSync(dirname(group), { recursive: true })
  writeFileSync(group, textOfGroup(files))
  const { out } = await run(group)
  const [, ended = ''] = /ended: (.*)/.exec(out) ?? []
  t.ok(ended.includes('a.test.ts'))
  t.notOk(existsSync(ended))
  t.ok(out.indexOf('ended: ') < out.indexOf('b is wrong'), 'one after the other')
  t.notMatch(/b is wrong: (.*)/.exec(out)?.[1], ended)
  t.match(out, /not ok \d+ - c does not load/)
  const verdicts = [...out.matchAll(/^(ok|not ok) \d+ - (\S+) #/gm)].map(([, is, of = '']) => [
    is,
    of.at(-9),
  ])
  t.strictSame(verdicts, [
    ['ok', 'a'],
    ['not ok', 'b'],
    ['not ok', 'c'],
    ['ok', 'd'],
  ])
})
