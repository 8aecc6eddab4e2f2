// SPDX-License-Identifier: Apache-2.0
// What `npm test` runs: every check of the repository, going on after a failure. The last line is the result,
// `N passed, N failed[, N skipped]`: each step counts once, and so does every assertion of the tests.
//   npm test [-- --only STEP]... [-- ARGUMENTS OF TAP]
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { availableParallelism, freemem, setPriority } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { makeTapReader } from './tap-output.mjs'

const root = join(import.meta.dirname, '..')
const STEP_LIMIT_MS = 900_000
const GIB = 2 ** 30

const folders = [
  'core',
  'vote',
  'plugins',
  'net',
  'kube',
  'options',
  'agent',
  'sandbox',
  'wrapper',
  'cli',
  'bench',
  'test',
]
const present = folders.filter(folder => existsSync(join(root, folder)))

/** The file behind a package's command, so that no shell and no npx stands between. */
const binary = (name, command = name) => {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : bin[command])
}

const statics = [
  { name: 'format', run: () => [binary('prettier'), '--check', '.'] },
  { name: 'lint', run: () => [binary('eslint'), '.'] },
  { name: 'types', run: () => [binary('typescript', 'tsc')] },
  { name: 'imports', run: () => [binary('dependency-cruiser', 'depcruise'), ...present] },
  { name: 'unused', run: () => [binary('knip')] },
  { name: 'build', run: () => [join(root, 'build.mjs')] },
]
const staticNames = statics.map(step => step.name)
const stepNames = [...staticNames, 'tests', 'coverage']

const parseArguments = list => {
  const only = []
  const rest = []
  for (let i = 0; i < list.length; i++) {
    if (list[i] === '--only') only.push(list[++i])
    else if (list[i].startsWith('--only=')) only.push(list[i].slice('--only='.length))
    else rest.push(list[i])
  }
  const known = ['statics', ...stepNames]
  const unknown = only.find(name => !known.includes(name))
  if (unknown !== undefined || only.includes(undefined)) {
    console.error(`--only must be one of ${known.join(', ')}, got ${unknown ?? 'nothing'}`)
    process.exit(2)
  }
  const steps = only.flatMap(name => (name === 'statics' ? staticNames : [name]))
  return { wanted: name => steps.length === 0 || steps.includes(name), rest }
}

const result = { passed: 0, failed: 0, skipped: 0 }
const { wanted, rest } = parseArguments(process.argv.slice(2))

/** Run a Node program to its end; `onLine` gets its output, otherwise it is kept. */
const run = (args, { onLine, niceness = 0 } = {}) =>
  new Promise(resolve => {
    const output = []
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: '0' },
      timeout: STEP_LIMIT_MS,
    })
    if (niceness > 0 && child.pid !== undefined) setPriority(child.pid, niceness)
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

const runStatic = async (step, niceness = 0) => {
  const startedAt = performance.now()
  const { code, signal, output } = await run(step.run(), { niceness })
  if (signal !== null) output.push(`ended by ${signal}`)
  report(step.name, code === 0, startedAt, output)
}

/** Two at a time where there are cores and memory for it: lint and types take about 1 GiB each. */
const runStatics = async steps => {
  const width = availableParallelism() > 1 && freemem() > 3 * GIB ? 2 : 1
  const queue = [...steps]
  const worker = async () => {
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) await runStatic(step)
  }
  await Promise.all(Array.from({ length: width }, worker))
}

const runTests = async () => {
  console.log('       tests')
  const startedAt = performance.now()
  const reader = makeTapReader(line => console.log(line))
  const args = ['--reporter=tap', '--allow-incomplete-coverage', '--coverage-report=none', ...rest]
  const { code, signal, output } = await run([binary('tap'), ...args], {
    onLine: line => reader.line(line),
  })
  const { summary } = reader
  const failures = summary?.fail ?? 0
  result.passed += summary?.pass ?? 0
  result.failed += failures
  result.skipped += (summary?.skip ?? 0) + (summary?.todo ?? 0)
  // A failed assertion explains a failed run; a run that failed without one, or that asserted nothing, is a failure.
  const isExplained = summary !== undefined && (code === 0 || failures > 0)
  if (!isExplained) {
    result.failed++
    console.log(`    tap ended with ${signal ?? code} and ${summary?.total ?? 'no'} assertions`)
    for (const line of reader.rest) console.log(`    ${line}`)
  }
  if (code !== 0 || !isExplained) for (const line of output) console.log(`    ${line}`)
  const verdict = isExplained && failures === 0 ? 'ok    ' : 'not ok'
  console.log(`${verdict} tests      ${seconds(startedAt)}`)
}

/** Chosen files cover what they cover: the demand is on the whole run. */
const isPartialRun = rest.some(argument => !argument.startsWith('-'))

const runCoverage = async () => {
  const startedAt = performance.now()
  const { code, output } = await run([binary('tap'), 'report', 'text', '--no-show-full-coverage'])
  report('coverage', code === 0, startedAt, output)
}

const asked = statics.filter(step => wanted(step.name))
if (wanted('tests')) {
  // Tests of real processes wait most of the time: the longest of the statics is done beside them, behind everything else.
  await runStatics(asked.filter(step => step.name !== 'lint'))
  const behind = asked.filter(step => step.name === 'lint').map(step => runStatic(step, 19))
  await Promise.all([runTests(), ...behind])
} else await runStatics(asked)
if (wanted('coverage') && !isPartialRun) await runCoverage()

const { passed, failed, skipped } = result
process.exitCode = failed > 0 ? 1 : 0
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
