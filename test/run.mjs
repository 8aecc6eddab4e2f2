// SPDX-License-Identifier: Apache-2.0
// What `npm test` runs: every check of the repository, going on after a failure. The last line is the result,
// `N passed, N failed[, N skipped]`: each step counts once, and so does every assertion of the tests. What only
// `npm test -- --all` plays is told in the line before.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, freemem, getPriority, setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PROGRAM_FOLDERS, SOURCE_FOLDERS } from '../folders.mjs'
import { namesFiles, parseArguments, USAGE } from './runner/arguments.mjs'
import { makeChildren } from './runner/children.mjs'
import { fastTests, gathered, lanesOf, testsOfFolder, testsOfShare } from './runner/choose.mjs'
import { reachedBy } from './runner/reached.mjs'
import { writeGroups } from './runner/together.mjs'
import { watchFolders } from './runner/watch.mjs'
import { makeTapReader } from './tap-output.mjs'

const root = join(import.meta.dirname, '..')
const STEP_LIMIT_MS = 1_800_000
const GIB = 2 ** 30

/** The file behind a package's command, so that no shell and no npx stands between. */
const binary = (name, command = name) => {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

const PRETTIER = ['--ignore-unknown', '--cache', '--cache-location=.cache/prettier']
const ESLINT_CACHE = ['--cache', '--cache-strategy=content', '--cache-location=.cache/eslint']
const ESLINT = ['--no-warn-ignored', ...ESLINT_CACHE]

/** Steps by name → the program, for all files or for some. */
const statics = {
  format: (files = ['.']) => [binary('prettier'), '--check', ...PRETTIER, ...files],
  lint: (files = ['.']) => [binary('eslint'), ...ESLINT, ...files],
  types: () => [binary('typescript', 'tsc')],
  imports: () => [binary('dependency-cruiser', 'depcruise'), ...SOURCE_FOLDERS],
  unused: () => [binary('knip')],
  build: () => [join(root, 'build.mjs')],
}

/** The compiler that a whole run takes has an API, which the linter needs; this one has the same rules and is four times as fast. */
const NATIVE_TYPES = [
  binary('@typescript/native-preview', 'tsgo'),
  '--tsBuildInfoFile',
  '.cache/native.tsbuildinfo',
]

const result = { passed: 0, failed: 0, skipped: 0 }
const leftOut = { cases: 0, files: 0, whole: [], other: [] }

const children = makeChildren()

/** Run a Node program to its end; `onLine` gets its output, otherwise it is kept. */
const run = (args, { onLine, niceness = 0, env = {} } = {}) =>
  new Promise(resolve => {
    const output = []
    const child = children.start(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0', ...env },
      timeout: STEP_LIMIT_MS,
    })
    if (niceness > 0 && child.pid !== undefined)
      setPriority(child.pid, Math.min(19, getPriority() + niceness))
    createInterface({ input: child.stdout }).on('line', onLine ?? (line => output.push(line)))
    createInterface({ input: child.stderr }).on('line', line => output.push(line))
    child.on('error', error => output.push(String(error)))
    child.on('close', (code, signal) => resolve({ code, signal, output }))
  })

const seconds = since => `${((performance.now() - since) / 1000).toFixed(1)} s`

const report = (name, isGood, startedAt, output) => {
  result[isGood ? 'passed' : 'failed']++
  console.log(`${isGood ? 'ok    ' : 'not ok'} ${name.padEnd(10)} ${seconds(startedAt)}`)
  if (!isGood) for (const line of output) console.log(`    ${line}`)
}

/** Compilers and linters make much garbage that lives long enough to be moved. */
const FOR_STATICS = '--max-semi-space-size=64'

const runStatic = async (name, { files, niceness = 0, program = statics[name](files) } = {}) => {
  const startedAt = performance.now()
  const { code, signal, output } = await run([FOR_STATICS, ...program], { niceness })
  if (signal !== null) output.push(`ended by ${signal}`)
  report(name, code === 0, startedAt, output)
}

/** What says how all files are to be formatted. */
const FORMAT_RULES = ['.prettierrc.json', '.prettierignore', 'package-lock.json']

/** A share: what differs from main. Nothing else changes how a file is to look. */
const formatShare = async () => {
  const files = changedFiles()
  if (files === undefined || FORMAT_RULES.some(rule => files.includes(rule)))
    return await runStatic('format')
  leftOut.other.push('format of unchanged files')
  if (files.length > 0) await runStatic('format', { files })
}

/** The statics that a share does otherwise. */
const shared = {
  format: formatShare,
  types: () => runStatic('types', { program: NATIVE_TYPES }),
}

/** Two at a time where there are cores and memory for it: lint and types take about 1 GiB each. */
const runStatics = async (names, { isWhole }) => {
  const width = availableParallelism() > 1 && freemem() > 3 * GIB ? 2 : 1
  const queue = [...names]
  const runNext = name => (isWhole ? undefined : shared[name])?.() ?? runStatic(name)
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await runNext(name)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

const WITH_COVERAGE = ['--allow-incomplete-coverage', '--coverage-report=none']
const WITHOUT_COVERAGE = ['--disable-coverage']

/** Added to the niceness of all other tests: what a zone of real processes does cannot wait, but it does little. */
const BEHIND_ZONES = 10

/** One run of tap: its files to their end. `onPlan` is called when it has tidied its folder and begins. */
const runTap = async (args, { isWhole, onPlan = () => undefined, niceness = 0 }) => {
  const reader = makeTapReader(line => console.log(line))
  const onLine = line => {
    if (/^1\.\.\d/.test(line)) onPlan()
    reader.line(line)
  }
  const tap = [binary('tap'), '--reporter=tap', ...args]
  const env = { TEST_SHARE: isWhole ? '' : '1' }
  const { code, signal, output } = await run(tap, { onLine, niceness, env })
  onPlan()
  const { summary } = reader
  const failures = summary?.fail ?? 0
  result.passed += summary?.pass ?? 0
  result.failed += failures
  result.skipped += (summary?.skip ?? 0) + (summary?.todo ?? 0)
  leftOut.cases += reader.leftOut.cases
  leftOut.files += reader.leftOut.files
  // A failed assertion explains a failed run; a run that failed without one, or that asserted nothing, is a failure.
  const isExplained = summary !== undefined && (code === 0 || failures > 0)
  if (!isExplained) {
    result.failed++
    console.log(`    tap ended with ${signal ?? code} and ${summary?.total ?? 'no'} assertions`)
    for (const line of reader.rest) console.log(`    ${line}`)
  }
  if (code !== 0 || !isExplained) for (const line of output) console.log(`    ${line}`)
  return isExplained && failures === 0
}

let transpiled

/** Once for all: a test that finds a file changed after this compiles it itself. */
const transpileAll = () => {
  const asked = async () => {
    const { code, output } = await run([join(root, 'test', 'runner', 'transpiled.mjs')])
    if (code !== 0) for (const line of output) console.log(`    ${line}`)
  }
  return (transpiled ??= asked())
}

/**
 * Files with zones of real processes, and others that wait for real time, one after the other; all others beside them at a lower
 * priority. A zone uses half a core on average, but two that start at the same time are too slow for their own limits.
 */
const runTests = async (rest, { isWhole, areNamed = namesFiles(rest) }) => {
  console.log('       tests')
  const startedAt = performance.now()
  const { played, whole } = testsOfShare(testFiles(), {
    isWhole: isWhole || namesFiles(rest),
    changed: changedFiles(),
  })
  leftOut.whole = whole
  const { zones, others: chosen } = lanesOf(rest, played)
  const { alone, groups } = areNamed ? { alone: chosen, groups: [] } : gathered(chosen)
  const others = [...alone, ...writeGroups(groups)]
  await transpileAll()
  const runs = []
  if (zones.length > 0)
    // The next run's coverage would be tidied away with the last one's.
    await new Promise(onPlan => {
      runs.push(runTap([...WITHOUT_COVERAGE, '--jobs=1', ...zones], { isWhole, onPlan }))
    })
  if (others.length > 0) {
    // Chosen files cover what they cover, often nothing that must be.
    const coverage = namesFiles(rest) ? WITHOUT_COVERAGE : WITH_COVERAGE
    runs.push(runTap([...coverage, ...others], { isWhole, niceness: BEHIND_ZONES }))
  }
  const isGood = (await Promise.all(runs)).every(Boolean)
  console.log(`${isGood ? 'ok    ' : 'not ok'} tests      ${seconds(startedAt)}`)
}

const runCoverage = async () => {
  const startedAt = performance.now()
  const { code, output } = await run([binary('tap'), 'report', 'text', '--no-show-full-coverage'])
  report('coverage', code === 0, startedAt, output)
}

const git = (...args) => {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 ? stdout.split('\n').filter(line => line !== '') : undefined
}

/**
 * Files that differ from where this branch left main, also what is not yet committed; without main, from the last commit.
 * Undefined where git does not tell.
 */
const changedFiles = () => {
  const main = ['main', 'origin/main'].map(name => git('merge-base', 'HEAD', name)?.[0])
  const since = main.find(commit => commit !== undefined) ?? 'HEAD'
  const differing = git('diff', '--name-only', '--diff-filter=d', since)
  const untracked = git('ls-files', '--others', '--exclude-standard')
  return differing && untracked && [...differing, ...untracked]
}

const isCode = file => /\.(ts|mjs|cjs|js)$/.test(file)

/** What says how files are linted, wherever they are. */
const LINT_RULES = ['eslint.config.js', 'tsconfig.json', 'package-lock.json']

const programFiles = () =>
  PROGRAM_FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .map(name => `${folder}/${name.replaceAll('\\', '/')}`),
  )

/** A share: what differs from main, and of the programs what a change reaches, since rules know types. Undefined is all. */
const filesToLint = () => {
  const changed = changedFiles()
  if (changed === undefined || LINT_RULES.some(rule => changed.includes(rule))) return undefined
  const programs = programFiles()
  const reached = reachedBy(changed, programs, file => readFileSync(join(root, file), 'utf8'))
  return [...reached, ...changed.filter(file => isCode(file) && !programs.includes(file))]
}

/** Each file anew: a rule that knows types may judge an unchanged file otherwise after a change of another one. */
const lintAnew = async ({ isWhole }) => {
  rmSync(join(root, '.cache', 'eslint'), { force: true })
  const files = isWhole ? undefined : filesToLint()
  if (files !== undefined) leftOut.other.push('lint of files that no change reaches')
  if (files?.length !== 0) await runStatic('lint', { files, niceness: BEHIND_ZONES })
}

const runChecks = async ({ steps, rest, isWhole }) => {
  const asked = Object.keys(statics).filter(name => steps.includes(name))
  if (steps.includes('tests')) {
    // Tests of real processes wait most of the time: the longest of the statics is done beside them.
    const before = asked.filter(name => name !== 'lint')
    await Promise.all([runStatics(before, { isWhole }), transpileAll()])
    await Promise.all([
      runTests(rest, { isWhole }),
      ...(asked.includes('lint') ? [lintAnew({ isWhole })] : []),
    ])
  } else await runStatics(asked, { isWhole: true })
  if (steps.includes('coverage') && !namesFiles(rest)) await runCoverage()
}

const testFiles = () =>
  readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts'))
    .map(name => `test/${name.replaceAll('\\', '/')}`)
    .sort()

const runFast = async () => {
  const changed = changedFiles()
  if (changed === undefined) throw new Error('--fast asks git what changed, and git failed')
  const { chosen, leftOut } = fastTests(changed, testFiles())
  const code = changed.filter(isCode)
  const checks = async () => {
    await shared.types()
    if (changed.length > 0) await runStatic('format', { files: changed })
    if (code.length > 0) await runStatic('lint', { files: code })
  }
  await Promise.all([checks(), runTests(chosen, { isWhole: false, areNamed: false })])
  for (const file of leftOut) console.log(`       left out, too slow: ${file}`)
}

const runWatch = async ({ folder, rest }) => {
  const again = async () => {
    const tests = testsOfFolder(folder, testFiles())
    if (tests.length === 0) throw new Error(`no test mirrors ${folder}`)
    await runTests([...tests, ...rest], { isWhole: true })
    console.log(`       waiting for a change in ${folder}; Ctrl-C ends it`)
  }
  const mirror = folder.startsWith('test/') ? folder : `test/${folder}`
  const source = mirror.slice('test/'.length)
  // Tests of a folder may stand beside it: test/kube/client-*.test.ts.
  const beside = existsSync(join(root, mirror)) ? mirror : join(mirror, '..')
  await watchFolders([source, beside, 'testkit'], again, {
    root,
    signal: new AbortController().signal,
  })
}

const main = async asked => {
  if (asked.kind === 'checks') return await runChecks(asked)
  if (asked.kind === 'fast') return await runFast()
  return await runWatch(asked)
}

const tellLeftOut = () => {
  const { cases, files, whole, other } = leftOut
  const parts = [
    ...(cases > 0 ? [`${cases} cases of ${files} test files, named above`] : []),
    ...(whole.length > 0 ? [whole.join(', ')] : []),
    ...other,
  ]
  if (parts.length > 0) console.log(`left out without --all: ${parts.join('; ')}`)
}

const asked = parseArguments(process.argv.slice(2))
if (asked.kind === 'help') console.log(USAGE)
else if (asked.kind === 'error') {
  console.error(asked.text)
  process.exitCode = 2
} else {
  try {
    await main(asked)
  } catch (error) {
    console.error(error.message)
    result.failed++
  }
  tellLeftOut()
  const { passed, failed, skipped } = result
  process.exitCode = failed > 0 ? 1 : 0
  console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
}
