// SPDX-License-Identifier: Apache-2.0
// Which tests belong to what changed.
import { posix } from 'node:path'

/** Pure rules, and the pages that a changed name makes wrong: their tests always run in the inner loop. */
const ALWAYS = ['test/core/', 'test/vote/', 'test/plugins/', 'test/net/', 'test/docs/']

/** Zones, real processes, the lab, and the tests of the slowest units: for the whole run, or by name. */
const TOO_SLOW = [
  ...['test/scenarios/', 'test/process/', 'test/adversary/', 'test/bench/', 'test/lab/'],
  ...['test/build.test.ts', 'test/every-file.test.ts', 'test/deploy/calls.test.ts'],
  ...['test/agent/stages/exchange/engine.test.ts', 'test/kube/credentials.test.ts'],
]

/** Ten programs that must answer in time, each: one such file at a time. */
const ZONES = ['agent', 'demo', 'prometheus'].map(name => `test/process/${name}.test.ts`)

/** They compute little and wait for real time, one beside all that computes. */
const WAITING = [
  ...['admission/run/certificate-keeper', 'deploy/calls', 'process/wrapper'],
  ...['attack-guards', 'attack-writes', 'run/rows', 'run/rules'].map(name => `grids/${name}`),
].map(name => `test/${name}.test.ts`)

/**
 * Minutes beside a Prometheus, which many have not, large zones in virtual time, and what ships as a whole: for
 * `npm test -- --all`, by name, or where what differs from main begins like one of these.
 */
const WHOLE_RUN = {
  'test/process/prometheus.test.ts': [],
  'test/process/programs.test.ts': [],
  'test/scenarios/large.test.ts': [],
  'test/scenarios/kring-partition.test.ts': [],
  'test/scenarios/kring-backup-observers.test.ts': [],
  'test/scenarios/kring-switch.test.ts': ['agent/records/', 'agent/stages/node-list/'],
  'test/agent/stages/exchange/repeats.test.ts': [],
  'test/deploy/chart.test.ts': ['charts/', 'deploy/', 'testkit/helm', 'agent/options/'],
  'test/pack.test.ts': ['package', 'build', 'folders.mjs', 'cli/'],
}

/**
 * The tests of a run, and those that only a whole run has.
 * @param changed files that differ from main
 */
export const testsOfShare = (tests, { isWhole, changed = [] }) => {
  const isTouched = file => changed.some(each => startsWithOneOf(each, [file, ...WHOLE_RUN[file]]))
  const isPlayed = file => isWhole || WHOLE_RUN[file] === undefined || isTouched(file)
  return { played: tests.filter(isPlayed), whole: tests.filter(file => !isPlayed(file)) }
}

const startsWithOneOf = (file, beginnings) => beginnings.some(start => file.startsWith(start))

/** Folders and files whose tests share a process. Where coverage is demanded of one (coverage-map.mjs), it is of all of a group. */
const TOGETHER = {
  rules: ['core', 'vote', 'plan', 'plugins'],
  net: ['net'],
  'grids-model': ['grids/model', 'admission/model'],
  'bridge-model': ['bridge/model'],
  'wrapper-bytes': ['wrapper/wire', 'wrapper/prune'],
  'agent-rules': ['agent/identity', 'agent/text', 'agent/stages/identity', 'agent/stages/vote'],
  'agent-stages': ['agent/stages/check', 'agent/stages/node-list/node-list', 'agent/stages/write'],
  'agent-exchange': [
    ...['flood', 'security', 'signed-body', 'statement-record', 'superedge', 'urgent'].map(
      name => `agent/stages/exchange/${name}`,
    ),
  ],
  'agent-rest': [
    ...['adapters', 'history/ring', 'housekeeping', 'http-transport', 'http/metrics-app'].map(
      name => `agent/${name}`,
    ),
    ...['options', 'peer-listener', 'records', 'state-folder', 'suspension', 'zone-trap'].map(
      name => `agent/${name}`,
    ),
  ],
  cli: ['admission', 'bridge', 'grids', 'make-key', 'program', 'views', 'wrapper'].map(
    name => `cli/${name}`,
  ),
  deploy: ['dashboards', 'deploy', 'grids', 'names', 'wrapper'].map(name => `deploy/${name}`),
  'bridge-run': ['bridge/enroll', 'bridge/hub', 'bridge/run'],
  controller: ['controller', 'grids/run', 'kube'],
  sandbox: ['sandbox', 'testkit'],
  tools: ['bench', 'ci', 'docs', 'lab'],
  'wrapper-store': ['disk', 'health', 'options', 'status', 'store'].map(name => `wrapper/${name}`),
  'wrapper-proxy': [
    ...['certificates', 'neighbours', 'persistence', 'proxy', 'serve', 'server', 'tls'].map(
      name => `wrapper/${name}`,
    ),
    'wrapper/upstream',
  ],
}

/** More than a second or two by themselves, or what they do to their process is for no other. */
const ALONE = [
  ...['identity/entries', 'identity/member-statement', 'stages/write/confinement'].map(
    name => `test/agent/${name}.test.ts`,
  ),
  ...['enroll/routes', 'hub/attack', 'hub/fuzz', 'hub/hub', 'run/agents', 'run/downstream'].map(
    name => `test/bridge/${name}.test.ts`,
  ),
  ...['hard-edges', 'program', 'properties', 'recorder', 'sent', 'upstream/fuzz', 'vouch'].map(
    name => `test/bridge/run/${name}.test.ts`,
  ),
  ...['bench/scale', 'docs/runbook', 'docs/verdict', 'grids/run/rows', 'grids/run/rules'].map(
    name => `test/${name}.test.ts`,
  ),
  ...['controller/informer', 'controller/leader-election', 'controller/two-leaders'].map(
    name => `test/${name}.test.ts`,
  ),
  ...['kube/client/credentials', 'kube/client/many-watches', 'sandbox/conformance'].map(
    name => `test/${name}.test.ts`,
  ),
  ...['sandbox/lifecycle', 'testkit/share', 'vote/properties', 'net/atomic-file'].map(
    name => `test/${name}.test.ts`,
  ),
  ...['proxy/black-hole', 'proxy/proxy', 'serve/fuzz', 'serve/losses', 'serve/watch'].map(
    name => `test/wrapper/${name}.test.ts`,
  ),
  ...['fuzz', 'bytes', 'properties'].flatMap(name => [
    `test/wrapper/wire/${name}.test.ts`,
    `test/wrapper/prune/${name}.test.ts`,
  ]),
]

/** The tests that are played by themselves, and those that are not, in groups. */
export const gathered = tests => {
  const groupOf = file =>
    ALONE.includes(file)
      ? undefined
      : Object.keys(TOGETHER).find(name =>
          TOGETHER[name].some(each =>
            startsWithOneOf(file, [`test/${each}/`, `test/${each}.test.ts`]),
          ),
        )
  const groups = Object.keys(TOGETHER)
    .map(name => ({ name, files: tests.filter(file => groupOf(file) === name) }))
    .filter(({ files }) => files.length > 1)
  const together = groups.flatMap(({ files }) => files)
  return { alone: tests.filter(file => !together.includes(file)), groups }
}

/** The tests of a folder of the source, or of test/: `kube/client` has test/kube/client/ and test/kube/client-*.test.ts. */
export const testsOfFolder = (folder, tests) => {
  const mirror = folder.startsWith('test/') ? folder : `test/${folder}`
  return tests.filter(file =>
    startsWithOneOf(file, [`${mirror}/`, `${mirror}.test.ts`, `${mirror}-`]),
  )
}

/** By name where a test is named for the file, else all tests of its folder. */
const testsOfFile = (file, tests) => {
  if (tests.includes(file)) return [file]
  const { dir, name } = posix.parse(file)
  if (dir === '') return []
  const named = testsOfFolder(`${dir}/${name}`, tests)
  return named.length > 0 ? named : testsOfFolder(dir, tests)
}

/** The tests of the inner loop, and those that it leaves out though they belong to a changed file. */
export const fastTests = (changed, tests) => {
  const touched = new Set(changed.flatMap(file => testsOfFile(file, tests)))
  const isFast = file => !startsWithOneOf(file, TOO_SLOW)
  return {
    chosen: tests.filter(
      file => startsWithOneOf(file, ALWAYS) || (touched.has(file) && isFast(file)),
    ),
    leftOut: tests.filter(file => touched.has(file) && !isFast(file)),
  }
}

/** A folder's tests; anything else is for tap to understand. */
const filesOf = (argument, tests) => {
  const name = argument.replace(/^\.\//, '').replace(/\/+$/, '')
  const inside = tests.filter(file => file.startsWith(`${name}/`))
  if (inside.length > 0) return inside
  return [tests.includes(name) ? name : argument]
}

/**
 * Arguments for tap, without a file for all files → the arguments of two runs of tap: the files with a zone of real processes
 * and those that wait, one at a time; and all others. A run without files is empty.
 */
export const lanesOf = (rest, tests) => {
  const isPartial = rest.some(argument => !argument.startsWith('-'))
  const all = isPartial ? rest.flatMap(argument => filesOf(argument, tests)) : [...rest, ...tests]
  const isZone = argument => ZONES.includes(argument) || WAITING.includes(argument)
  const isOther = argument => tests.includes(argument) && !isZone(argument)
  const hasZones = all.some(isZone)
  return {
    zones: hasZones ? all.filter(argument => !isOther(argument)) : [],
    others: !hasZones || all.some(isOther) ? all.filter(argument => !isZone(argument)) : [],
  }
}
