// SPDX-License-Identifier: Apache-2.0
// What `.ci/run` does when the packages are installed: `npm test -- --all`, the protocol's figures and more of the adversary in virtual
// time, the embedded API beside a real kube-apiserver, SuperEdge's objects beside ours, the webhook, and a few faults in a real zone. The last
// line adds all of them up.
//
// The control plane's programs are compiled meanwhile, at the lowest priority and only while nothing runs that measures
// time: the tests of real processes begin when the compiler has ended.
//   node test/ci/run.mjs [--only PART]...
import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { makeChildren } from '../runner/children.mjs'
import { addCounts, judgePart, parseCounts, showCounts } from './counts.mjs'
import { makeFailureReader } from './failures.mjs'

const root = join(import.meta.dirname, '..', '..')
const lab = join(root, 'test/lab/run.mjs')
const MINUTE = 60_000

/** Faults that cover deaths, cut links, vouching and partitions; a fixed seed, so that a run means the same to everybody. */
const QUICK = ['--nodes', '5', '--seed', '1', '--cells']
const CELLS = [
  ...['sigkill', 'cable-out', 'death-evicts', 'cut-vouched'],
  ...['cut-restarts', 'dies-vouched', 'zone-cut', 'partition', 'one-way-pair', 'cold-boot'],
]

/**
 * The version that shares a zone with this one. Nothing was released yet: the last commit whose agents know no keys of
 * their own. Later the last release of the minor version before.
 */
const OTHER = '371df8ae643d576b9cd62467c25190254c17e673'
const UPGRADE = ['--nodes', '5', '--seed', '1', '--identity', 'prefer', '--other', OTHER]

/** The sequences after those that `npm test -- --all` plays, as many as there is time for. */
const ATTACKS = ['--seed', '61', '--sequences', '4940', '--jobs', '2', '--minutes', '6']

/** Programs that the lab needs → Debian's packages, and what the tests of the agent's page need. */
const TOOLS = { ip: 'iproute2', iptables: 'iptables', unshare: 'util-linux', mount: 'mount' }

const BROWSER = { chromium: 'chromium' }

const PATH = [process.env['PATH'], '/usr/local/go/bin', '/usr/sbin', '/sbin'].join(delimiter)
const env = { ...process.env, PATH }

const isThere = program =>
  PATH.split(delimiter).some(folder => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })

const PARTS = [
  ...[
    'statics',
    'bench',
    'adversary',
    'tests',
    'conformance',
    'names',
    'confine',
    'chart',
    'grids',
    'admission',
    'cells',
    'upgrade',
  ],
]
const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
const unknown = values.only?.find(name => !PARTS.includes(name))
if (unknown !== undefined) {
  console.error(`--only must be one of ${PARTS.join(', ')}, got ${unknown}`)
  process.exit(2)
}
const wanted = name => values.only?.includes(name) ?? true

const startedAt = performance.now()
const since = from => {
  const seconds = Math.round((performance.now() - from) / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

const children = makeChildren()

/** Run a program to its end, its lines shown; whoever takes longer than `minutes` is ended, and has failed. */
const run = (command, args, { minutes, prefix = '', onLine = () => undefined }) =>
  new Promise(resolve => {
    const child = children.start(command, args, {
      ...{ cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] },
      timeout: minutes * MINUTE,
    })
    const hear = line => {
      if (onLine(line) !== true) console.log(`${prefix}${line}`)
    }
    createInterface({ input: child.stdout }).on('line', hear)
    createInterface({ input: child.stderr }).on('line', hear)
    child.on('error', error => hear(error.message))
    child.on('close', (code, signal) => {
      if (signal !== null) hear(`ended by ${signal}`)
      resolve(code)
    })
  })

let total = { passed: 0, failed: 0, skipped: 0 }
const failures = []

/** One part of the checks: a Node program whose last line counts. */
const part = async (name, args, minutes) => {
  if (!wanted(name)) return
  const from = performance.now()
  console.log(`--- ${name} (after ${since(startedAt)})`)
  let counts
  const reader = makeFailureReader()
  const onLine = line => {
    const found = parseCounts(line)
    counts = found ?? counts
    if (found === undefined) reader.line(line)
    return found !== undefined
  }
  const judged = judgePart(await run(process.execPath, args, { minutes, onLine }), counts)
  total = addCounts(total, judged)
  if (judged.failed > 0) failures.push(`--- failed in ${name}:`, ...reader.lines)
  console.log(`--- ${name}: ${showCounts(judged)} in ${since(from)}`)
}

const installTools = tools => {
  const missing = Object.keys(tools).filter(program => !isThere(program))
  if (missing.length === 0) return
  const packages = [...new Set(missing.map(program => tools[program]))]
  console.log(`${missing.join(', ')} not found: apt-get install ${packages.join(' ')}`)
  const install = ['install', '--yes', '--no-install-recommends', ...packages]
  // The lab, and the tests, say what is missing still.
  for (const args of [['update', '--quiet'], install])
    spawnSync('apt-get', args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
}

const buildControlPlane = () =>
  run('nice', ['-n', '19', process.execPath, lab, 'build'], {
    minutes: 25,
    prefix: 'control plane: ',
  })

/** What some tests run beside our own: they are skipped, and say so, where it cannot be had. */
const getTools = (...names) =>
  run('nice', ['-n', '19', process.execPath, 'testkit/tools.mjs', ...names], {
    minutes: 25,
    prefix: 'tools: ',
  })

/** Alerts that no Prometheus has evaluated are not tried: a run without it has failed. */
const demandPrometheus = async () => {
  if ((await getTools('prometheus')) === 0) return
  const why = '--- no prometheus: its test is skipped, which counts as a failure here'
  console.log(why)
  failures.push(why)
  total = addCounts(total, { passed: 0, failed: 1, skipped: 0 })
}

const needsControlPlane = [
  ...['conformance', 'names', 'confine', 'chart', 'grids', 'admission', 'cells', 'upgrade'],
].some(wanted)
installTools({ ...(needsControlPlane ? TOOLS : {}), ...(wanted('tests') ? BROWSER : {}) })
const built = needsControlPlane ? buildControlPlane() : undefined
const tools = wanted('tests') ? getTools() : wanted('chart') ? getTools('helm') : undefined
await part('statics', ['test/run.mjs', '--all', '--only', 'statics'], 15)
await part('bench', ['bench/run.mjs', 'scale', '--quick'], 15)
await part('adversary', ['test/adversary/run.mjs', ...ATTACKS], 15)
if (built !== undefined) {
  const from = performance.now()
  const code = await built
  console.log(
    `--- the control plane is ${code === 0 ? 'built' : 'not built'} (waited ${since(from)})`,
  )
}
await tools
if (wanted('tests')) await demandPrometheus()
await part('tests', ['test/run.mjs', '--all', '--only', 'tests', '--only', 'coverage'], 30)
await part('conformance', [lab, 'conformance'], 10)
await part('names', [lab, 'names'], 10)
await part('confine', [lab, 'confine'], 10)
// Where other work took the time that it needs to be compiled beside the rest.
if (wanted('chart')) await getTools('helm')
await part('chart', [lab, 'chart'], 10)
await part('grids', ['bench/run.mjs', 'grids', '--quick'], 10)
await part('admission', [lab, 'admission', '--cells', 'nothing,webhook-pods'], 10)
await part('cells', [lab, ...QUICK, CELLS.join(',')], 15)
const hasOther =
  spawnSync('git', ['cat-file', '-e', `${OTHER}^{commit}`], { cwd: root }).status === 0
if (hasOther) await part('upgrade', [lab, ...UPGRADE, '--cells', 'upgrade'], 15)
else if (wanted('upgrade')) {
  console.log(`--- upgrade is left out: this clone has no commit ${OTHER} (git fetch --unshallow)`)
  total = addCounts(total, { passed: 0, failed: 0, skipped: 1 })
}

for (const line of failures) console.log(line)
console.log(`all of it took ${since(startedAt)}`)
process.exitCode = total.failed > 0 ? 1 : 0
console.log(showCounts(total))
