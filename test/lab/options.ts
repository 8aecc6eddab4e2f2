// SPDX-License-Identifier: Apache-2.0
import { accessSync, constants, statSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { reasonOf } from '../../core/errors.js'
import { type Program, programs } from '../../testkit/control-plane/programs.js'
import { MANY_NODES, MOST_NODES } from './places.js'

export type Profile = 'fast' | 'default'
export const IDENTITIES = ['off', 'prefer', 'require'] as const
export type Identity = (typeof IDENTITIES)[number]

/** What the lab is asked to do. */
export interface LabOptions {
  readonly command:
    | 'cells'
    | 'wrapper'
    | 'grids'
    | 'takeover'
    | 'informers'
    | 'kubectl'
    | 'fuzz'
    | 'grid-rows'
    | 'superedge'
    | 'conformance'
    | 'names'
    | 'confine'
    | 'bridge'
    | 'admission'
    | 'chart'
    | 'newcomer'
    | 'build'
    | 'list'
    | 'merge'
    | 'help'
  /** Versions of Kubernetes, one after the other: `1.33` or `1.33.13`; none is the default. */
  readonly kubernetes: readonly string[]
  /** What `build` is asked for; none is what a control plane needs. */
  readonly programs: readonly Program[]
  /** Folders of reports to merge. */
  readonly merge: readonly string[]
  readonly nodes: number
  /** Names of cells; none runs all. */
  readonly cells: readonly string[]
  readonly trials: number
  /** Of a fuzz run. */
  readonly requests: number
  readonly seed: number
  readonly profile: Profile
  /** The agents' `--identity`. */
  readonly identity: Identity
  /** The node-lifecycle controller's patience with a silent node. */
  readonly graceMs: number
  /** How long the service's Pods bear the NoExecute taint. */
  readonly tolerationMs: number
  /** Of a run of confine: whether each rule of the policies is taken out in turn. */
  readonly mutants: boolean
  /** SuperEdge's agent. */
  readonly agent: string | undefined
  /** Another version, which the agents of every second node run: its dist/edge-health.cjs, or a git revision. */
  readonly other: string | undefined
  /** Folder for report.json and index.html. */
  readonly report: string | undefined
}

/** A bad argument. */
export class UsageError extends Error {}

export const USAGE = `npm run lab [-- FLAGS]              the chaos cells
npm run lab -- conformance          the rows of test/sandbox/conformance-rows.ts on a real apiserver and ours
npm run lab -- wrapper              the cells with kube-proxy behind the wrapper, and one straight at the apiserver
npm run lab -- grids                a ServiceGrid under kube-proxies behind the wrapper, on nodes of two units
npm run lab -- takeover             ours takes over the children of SuperEdge's controller: the very same objects
npm run lab -- informers            client-go through the wrapper and beside it, over 5 000 random changes
npm run lab -- kubectl              kubectl through the wrapper and beside it, command by command
npm run lab -- fuzz                 odd objects and odd requests through the wrapper and beside it
npm run lab -- grid-rows            what SuperEdge's controller of grids was seen to do, row by row, and what ours does
npm run lab -- superedge --agent PATH  a zone of our agents and of SuperEdge's, v0.9.0, built by you at PATH
npm run lab -- names                SuperEdge's objects beside ours, and the moves of the docs
npm run lab -- bridge               simulated edges behind a bridge: enrolled, Ready, with Pods, through floods, restarts and an apiserver that is away
npm run lab -- confine              allowed and refused writes of our accounts' tokens, with the policies of deploy/
npm run lab -- admission            what becomes of a node that is not heard, with the webhook and without: times, row by row
npm run lab -- chart                the Helm chart: dry runs, and a release that makes its key, from install to uninstall
npm run lab -- newcomer             the chart as somebody sees it for the first time; --report docs writes docs/first-zone.md
npm run lab -- list                 the cells and what each must show
npm run lab -- build [PROGRAM…]     build the control plane, or these of ${programs.join(', ')}, and say where they are
npm run lab -- merge A B --report C one report of several runs' reports

  --nodes N          nodes of the zone, 2 to ${MOST_NODES} (default 5); above ${MANY_NODES} with --profile default
  --cells a,b        only these cells
  --trials N         play each cell N times (default 1)
  --requests N       of a fuzz run (default 3000)
  --seed N           who plays which part (default: drawn, and printed)
  --profile NAME     the agents' periods: fast or default (default fast)
  --identity NAME    whether agents sign with keys of their own: off, prefer or require (default require;
                     with superedge prefer, and not require)
  --grace SECONDS    the control plane's node-monitor-grace-period (default 12 with fast, 50 with default)
  --kubernetes a,b   these versions, one after the other (default: the newest that is pinned)
  --toleration S     seconds that Pods bear an unreachable node (default 3 with fast, 300 with default)
  --mutants          of confine: take each rule out of the policies in turn; some write must show it
  --agent PATH       SuperEdge's edge-health, a program
  --other WHICH      another version, as its dist/edge-health.cjs or as a revision of this repository, which is built:
                     every second agent of the cells runs it, and the cell upgrade replaces one by the other
  --report FOLDER    write FOLDER/index.html and FOLDER/report.json; of several versions, into a folder for each

Linux; root, or a user who may make user namespaces. The control plane is built from the Go modules pinned in
testkit/control-plane, or taken from the folder in KUBEBUILDER_ASSETS.
Exit codes: 0 all held, 1 something did not, 2 a bad argument or a machine that lacks something, 130 interrupted.
`

const whole = (name: string, text: string, min: number, max: number): number => {
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min || value > max)
    throw new UsageError(`${name} must be a whole number from ${min} to ${max}, got ${text}`)
  return value
}

const FLAGS = {
  nodes: { type: 'string', default: '5' },
  cells: { type: 'string', default: '' },
  trials: { type: 'string', default: '1' },
  requests: { type: 'string', default: '3000' },
  seed: { type: 'string' },
  profile: { type: 'string', default: 'fast' },
  identity: { type: 'string' },
  grace: { type: 'string' },
  kubernetes: { type: 'string', default: '' },
  toleration: { type: 'string' },
  agent: { type: 'string' },
  other: { type: 'string' },
  report: { type: 'string' },
  mutants: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const

const parse = (args: readonly string[]) => {
  try {
    return parseArgs({ args: [...args], options: FLAGS, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const COMMANDS = [
  'cells',
  'wrapper',
  'grids',
  'takeover',
  'informers',
  'kubectl',
  'fuzz',
  'grid-rows',
  'superedge',
  'conformance',
  'names',
  'confine',
  'bridge',
  'admission',
  'chart',
  'newcomer',
  'build',
  'list',
  'merge',
  'help',
] as const

const listOf = (text: string): readonly string[] => text.split(',').filter(name => name !== '')

const versionsOf = (text: string): readonly string[] => {
  const versions = listOf(text)
  for (const version of versions)
    if (!/^\d+\.\d+(?:\.\d+)?$/.test(version))
      throw new UsageError(`--kubernetes must be versions such as 1.33 or 1.33.13, got ${version}`)
  return versions
}

const isProgram = (name: string): name is Program => programs.some(each => each === name)

const programsOf = (names: readonly string[]): readonly Program[] =>
  names.map(name => {
    if (isProgram(name)) return name
    throw new UsageError(`build takes ${programs.join(', ')}, got ${name}`)
  })

/** It must be there before a zone is built around it. */
const checkFile = (rule: string, path: string, mode: number): void => {
  try {
    if (!statSync(path).isFile()) throw new Error('not a file')
    accessSync(path, mode)
  } catch (error) {
    throw new UsageError(`${rule} (${reasonOf(error)}), got ${path}`)
  }
}

/** SuperEdge's program is asked for where it is needed. */
const checkAgent = (command: string, path: string | undefined): void => {
  if (command !== 'superedge') {
    if (path !== undefined) throw new UsageError(`--agent goes with superedge, not with ${command}`)
    return
  }
  if (path === undefined)
    throw new UsageError("superedge needs --agent PATH, SuperEdge's edge-health v0.9.0")
  checkFile('--agent must be a program', path, constants.X_OK)
}

const checkOther = (command: string, other: string | undefined): void => {
  if (other !== undefined && command !== 'cells')
    throw new UsageError(`--other goes with cells, not with ${command}`)
}

/** What SuperEdge's agents say nobody signs. */
const identityOf = (command: string, text: string | undefined): Identity => {
  const isMixed = command === 'superedge'
  const identity = IDENTITIES.find(each => each === (text ?? (isMixed ? 'prefer' : 'require')))
  if (identity === undefined)
    throw new UsageError(`--identity must be one of ${IDENTITIES.join(', ')}, got ${text}`)
  if (isMixed && identity === 'require')
    throw new UsageError('superedge goes with --identity off or prefer, got require')
  return identity
}

/** @throws UsageError that names the flag. */
export const parseLabOptions = (args: readonly string[]): LabOptions => {
  const { values, positionals } = parse(args)
  const [word = 'cells', ...more] = positionals
  const command = COMMANDS.find(name => name === word)
  if (command === undefined || (more.length > 0 && command !== 'build' && command !== 'merge'))
    throw new UsageError(`one of ${COMMANDS.join(', ')}, got ${positionals.join(' ')}`)
  const { profile } = values
  if (profile !== 'fast' && profile !== 'default')
    throw new UsageError(`--profile must be fast or default, got ${profile}`)
  if (command === 'merge' && (more.length === 0 || values.report === undefined))
    throw new UsageError('merge takes folders of reports, and --report for the new one')
  checkAgent(command, values.agent)
  checkOther(command, values.other)
  const nodes = whole('--nodes', values.nodes, command === 'superedge' ? 4 : 2, MOST_NODES)
  if (nodes > MANY_NODES && profile === 'fast')
    throw new UsageError(
      `--nodes above ${MANY_NODES} needs --profile default (fast probes every pair each second), got ${nodes}`,
    )
  const grace = values.grace ?? (profile === 'fast' ? '12' : '50')
  const toleration = values.toleration ?? (profile === 'fast' ? '3' : '300')
  const seed = values.seed ?? String(Date.now() % 1_000_000)
  return {
    command: values.help ? 'help' : command,
    kubernetes: versionsOf(values.kubernetes),
    programs: command === 'build' ? programsOf(more) : [],
    merge: command === 'merge' ? more : [],
    nodes,
    cells: listOf(values.cells),
    trials: whole('--trials', values.trials, 1, 1_000),
    requests: whole('--requests', values.requests, 1, 10_000_000),
    seed: whole('--seed', seed, 0, 2 ** 32 - 1),
    profile,
    identity: identityOf(command, values.identity),
    graceMs: 1_000 * whole('--grace', grace, 4, 600),
    tolerationMs: 1_000 * whole('--toleration', toleration, 0, 3_600),
    mutants: values.mutants,
    agent: values.agent,
    other: values.other,
    report: values.report,
  }
}
