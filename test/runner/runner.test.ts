// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

type Asked =
  | { readonly kind: 'help' | 'fast' }
  | { readonly kind: 'error'; readonly text: string }
  | { readonly kind: 'watch'; readonly folder: string; readonly rest: readonly string[] }
  | {
      readonly kind: 'checks'
      readonly steps: readonly string[]
      readonly rest: readonly string[]
      readonly isWhole: boolean
    }
interface Chosen {
  readonly chosen: readonly string[]
  readonly leftOut: readonly string[]
}
type Watch = (
  folders: readonly string[],
  again: () => Promise<void>,
  world: { readonly root: string; readonly signal: AbortSignal },
) => Promise<void>

const root = join(import.meta.dirname, '..', '..')

// Plain scripts, since `npm test` runs them before anything is compiled.
const from = async (name: string): Promise<unknown> => import(new URL(name, import.meta.url).href)
const { parseArguments, USAGE } = (await from('./arguments.mjs')) as {
  parseArguments: (list: readonly string[]) => Asked
  USAGE: string
}
const { fastTests, gathered, lanesOf, testsOfFolder, testsOfShare } = (await from(
  './choose.mjs',
)) as {
  gathered: (tests: readonly string[]) => {
    readonly alone: readonly string[]
    readonly groups: readonly { readonly name: string; readonly files: readonly string[] }[]
  }
  lanesOf: (
    rest: readonly string[],
    tests: readonly string[],
  ) => Readonly<Record<'zones' | 'others', readonly string[]>>
  fastTests: (changed: readonly string[], tests: readonly string[]) => Chosen
  testsOfFolder: (folder: string, tests: readonly string[]) => readonly string[]
  testsOfShare: (
    tests: readonly string[],
    how: { readonly isWhole: boolean; readonly changed?: readonly string[] },
  ) => Readonly<Record<'played' | 'whole', readonly string[]>>
}
const { reachedBy } = (await from('./reached.mjs')) as {
  reachedBy: (
    changed: readonly string[],
    files: readonly string[],
    read: (file: string) => string,
  ) => readonly string[]
}
const { watchFolders } = (await from('./watch.mjs')) as { watchFolders: Watch }

const every = ['format', 'lint', 'types', 'imports', 'unused', 'build', 'tests', 'coverage']
const asks: [line: string, want: Asked][] = [
  ['', { kind: 'checks', steps: every, rest: [], isWhole: false }],
  ['--all', { kind: 'checks', steps: every, rest: [], isWhole: true }],
  ['--only statics', { kind: 'checks', steps: every.slice(0, 6), rest: [], isWhole: false }],
  ['--only tests --all', { kind: 'checks', steps: ['tests'], rest: [], isWhole: true }],
  ['--only tests --bail', { kind: 'checks', steps: ['tests'], rest: ['--bail'], isWhole: false }],
  [
    '--only lint --only=tests x.ts',
    { kind: 'checks', steps: ['lint', 'tests'], rest: ['x.ts'], isWhole: true },
  ],
  ['a.ts', { kind: 'checks', steps: every, rest: ['a.ts'], isWhole: true }],
  ['--fast', { kind: 'fast' }],
  ['--watch ./agent/stages/', { kind: 'watch', folder: 'agent/stages', rest: [] }],
  ['--watch=vote --grep=x', { kind: 'watch', folder: 'vote', rest: ['--grep=x'] }],
  ['--only lint --help', { kind: 'help' }],
]
const refused: [line: string, text: RegExp][] = [
  ['--only lnt', /^--only must be one of statics, format, .*, got 'lnt'$/],
  ['--only', /^--only must be one of .*, got ''$/],
  ['--watch', /^--watch needs a folder/],
  ['--fast --only lint', /exclude each other/],
  ['--fast --watch vote', /exclude each other/],
  ['--fast --all', /^--fast and --all exclude each other$/],
  ['--fst', /^no option --fst \(did you mean --fast\?\)$/],
  ['--wacth=vote', /^no option --wacth=vote \(did you mean --watch\?\)$/],
  ['--only tests --helpp', /did you mean --help/],
  ['--nope', /^no option --nope; one of tap's needs --only tests$/],
  ['--all --only lint --jobs=1', /^no option --jobs=1; /],
  ['--fast a.test.ts', /^--fast chooses the tests itself, got 'a.test.ts'$/],
]
const words = (line: string) => line.split(' ').filter(word => word !== '')

t.test('arguments', async t => {
  for (const [line, want] of asks) t.strictSame(parseArguments(words(line)), want, line)
  for (const [line, text] of refused) t.match(parseArguments(words(line)), { kind: 'error', text })
  for (const option of ['--all', '--fast', '--watch', '--only', '--help'])
    t.ok(USAGE.includes(option))
})

const allTests = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.test.ts'))
  .map(name => `test/${name}`)

const tests = [
  'test/agent/stages/exchange/age.test.ts',
  'test/agent/stages/exchange/engine.test.ts',
  'test/agent/http.test.ts',
  'test/agent/stages/write/writer.test.ts',
  'test/kube/client.test.ts',
  'test/kube/pages.test.ts',
  'test/scenarios/crash.test.ts',
  'test/vote/judge.test.ts',
]
const always = ['test/vote/judge.test.ts']
const choices: [why: string, changed: string[], chosen: string[], leftOut: string[]][] = [
  ['pure folders always run', [], [], []],
  ['a test named for the file', ['kube/client.ts'], ['test/kube/client.test.ts'], []],
  [
    'else all tests of its folder',
    ['kube/codec.ts'],
    ['test/kube/client.test.ts', 'test/kube/pages.test.ts'],
    [],
  ],
  [
    'of the tests of its folder the slow ones are named',
    ['agent/stages/exchange/wire.ts'],
    ['test/agent/stages/exchange/age.test.ts'],
    ['test/agent/stages/exchange/engine.test.ts'],
  ],
  ['a test itself', ['test/agent/http.test.ts'], ['test/agent/http.test.ts'], []],
  ['a scenario is left to the whole run', [tests[6] ?? ''], [], [tests[6] ?? '']],
  ['a file of the top folder has no tests of its own', ['README.md', 'build.mjs'], [], []],
]
t.test('the inner loop chooses', async t => {
  for (const [why, changed, chosen, leftOut] of choices) {
    const want = { chosen: tests.filter(each => [...always, ...chosen].includes(each)), leftOut }
    t.strictSame(fastTests(changed, tests), want, why)
  }
  t.strictSame(testsOfFolder('test/vote', tests), always)
  t.strictSame(testsOfFolder('agent', tests), tests.slice(0, 4))
  t.strictSame(testsOfFolder('net', tests), [], 'and nothing for a folder without tests')
})

const demo = 'test/process/demo.test.ts'
const program = 'test/process/program.test.ts'
const judge = 'test/vote/judge.test.ts'
const lanes: [why: string, rest: string, zones: string[], others: string[]][] = [
  ['all files', '', [demo], [program, judge]],
  ['options are for both', '--bail', ['--bail', demo], ['--bail', program, judge]],
  ['a folder', './test/process/', [demo], [program]],
  ['a file that waits', 'test/deploy/calls.test.ts', ['test/deploy/calls.test.ts'], []],
  ['a file, and an option of two words', `--grep x ${judge}`, [], ['--grep', 'x', judge]],
  ['a zone alone', `--grep x ${demo}`, ['--grep', 'x', demo], []],
  ['what only tap understands', 'test/**/j*.ts', [], ['test/**/j*.ts']],
]
t.test('what takes real time has a lane of its own, and each of its files exists', async t => {
  const { zones } = lanesOf([], allTests)
  t.equal(zones.length, 10)
  for (const [why, rest, zones, others] of lanes)
    t.strictSame(lanesOf(words(rest), [demo, program, judge]), { zones, others }, why)
})

t.test('only a whole run has every file, and each file that is kept for it exists', async t => {
  const { whole } = testsOfShare(allTests, { isWhole: false })
  t.equal(whole.length, 9)
  t.strictSame(testsOfShare(allTests, { isWhole: true }), { played: allTests, whole: [] })
  t.strictSame(testsOfShare([demo, ...whole, judge], { isWhole: false }).played, [demo, judge])
  const chart = 'test/deploy/chart.test.ts'
  for (const changed of [['charts/edge-health/values.yaml'], [chart]])
    t.strictSame(testsOfShare([chart], { isWhole: false, changed }).played, [chart])
  t.notOk(testsOfShare([chart], { isWhole: false, changed: ['vote/majority.ts'] }).played.length)
})

t.test('small files of one kind share a process, and no file is lost', async t => {
  const rules = ['test/core/json.test.ts', 'test/plan/events.test.ts', judge]
  const alone = ['--grep', 'x', 'test/net/pace.test.ts', 'test/scenarios/crash.test.ts']
  const large = 'test/vote/properties.test.ts'
  t.strictSame(gathered([...rules, ...alone, large]), {
    alone: [...alone, large],
    groups: [{ name: 'rules', files: rules }],
  })
  const all = gathered(allTests)
  const played = [...all.alone, ...all.groups.flatMap(({ files }) => files)]
  t.strictSame([...played].sort(), [...allTests].sort())
})

t.test('a change reaches whoever imports it, directly or through others', async t => {
  const sources: Readonly<Record<string, string>> = {
    'core/ids.ts': '',
    'core/roster.ts': `import type { Id } from './ids.js'`,
    'vote/judge.ts': `import {\n  makeRoster,\n} from '../core/roster.js'`,
    'plan/plan.ts': `export * from '../vote/judge.js'`,
    'net/listen.ts': `const { idOf } = await import('../core/ids.js')`,
    'net/pace.ts': `import './circle.js'`,
    'net/circle.ts': `import './pace.js'\nimport 'node:net'`,
  }
  const reached = (...changed: string[]) =>
    reachedBy(changed, Object.keys(sources), file => sources[file] ?? '')
  t.strictSame(reached('README.md'), [])
  t.strictSame(reached('plan/plan.ts'), ['plan/plan.ts'])
  t.strictSame(reached('core/roster.ts'), ['core/roster.ts', 'vote/judge.ts', 'plan/plan.ts'])
  t.strictSame(reached('core/ids.ts', 'core/gone.ts'), Object.keys(sources).slice(0, 5))
  t.strictSame(reached('net/pace.ts'), ['net/pace.ts', 'net/circle.ts'])
})

t.test('a watched folder runs now, and again after each change', async t => {
  const root = t.testdir({ vote: { 'judge.ts': '' } })
  const ended = new AbortController()
  const made: string[] = []
  const again = async () => {
    // Each run makes the change that calls for the next one; the second arrives while a run goes on.
    made.push(`run ${made.length + 1}`)
    if (made.length === 3) ended.abort()
    else writeFileSync(join(root, 'vote', 'judge.ts'), made.join())
  }
  mkdirSync(join(root, 'test'))
  await watchFolders(['vote', 'missing'], again, { root, signal: ended.signal })
  t.strictSame(made, ['run 1', 'run 2', 'run 3'])
  await t.rejects(watchFolders(['missing'], again, { root, signal: ended.signal }), {
    message: 'no such folder: missing',
  })
})
