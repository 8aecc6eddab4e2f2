// SPDX-License-Identifier: Apache-2.0
// The lab from inside its own namespaces: process 1 of them, so that all that runs here ends with it.
import { setMaxListeners } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, release } from 'node:os'
import { join } from 'node:path'
import { runAdmission } from './admission/admission.js'
import { SERVER_FLAGS } from './admission/replicas.js'
import { runChart } from './chart/chart.js'
import { runConfine } from './confine/confine.js'
import { runBridge } from './bridge/scene.js'
import { runConformance } from './conformance.js'
import { binariesIn } from '../../testkit/control-plane/programs.js'
import { auditPolicy, OWN_ACCOUNTS } from '../../testkit/control-plane/flags.js'
import { type ControlPlane, makeControlPlane } from '../../testkit/control-plane/control-plane.js'
import type { Played } from './cell.js'
import { runGridRows } from './grid-rows.js'
import { runTakeover } from './grids/takeover.js'
import { Newcomer } from './newcomer/newcomer.js'
import { runNames } from './names/names.js'
import { openLab } from './open-lab.js'
import { audited, sayTallies } from './confine/audited.js'
import { type Figure, figuresOf } from './figures.js'
import { writeReport } from './report.js'
import { type LabOptions, parseLabOptions } from './options.js'
import { NOT_PLAYED } from './cells/all.js'
import { chooseCells, runCells } from './run-cells.js'
import { command } from './shell.js'
import { runFuzz } from './wrapper/fuzz/fuzz.js'
import { runInformers } from './wrapper/informers.js'
import { runSuperEdge } from './superedge.js'
import { runKubectl } from './wrapper/kubectl.js'

const dir = process.env['LAB_DIR']!
const script = join(process.cwd(), 'dist/edge-health.cjs')
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const stop = new AbortController()
// Everything that waits listens to it, and all of them take their listeners back.
setMaxListeners(0, stop.signal)
const interrupt = (): void => stop.abort(new Error('interrupted'))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt)
process.stdin.on('end', interrupt).on('error', interrupt).resume().unref()

const trouble: string[] = []
const crashed = (what: string): void => {
  if (stop.signal.aborted) return
  say(what)
  trouble.push(what)
}

const how = { say, signal: stop.signal }

const meter = process.env['LAB_METER']

const parts = {
  meter,
  other: process.env['LAB_OTHER'],
  binaries: binariesIn(process.env['LAB_BINARIES']!),
  dir,
  serving: {
    key: readFileSync(join(dir, 'serving.key'), 'utf8'),
    cert: readFileSync(join(dir, 'serving.pem'), 'utf8'),
  },
}

/** An API without nodes and controllers, for as long as this takes. */
const withApi = async (
  act: (plane: ControlPlane) => Promise<boolean>,
  admission: readonly string[] = [],
  serverFlags: readonly string[] = [],
): Promise<boolean> => {
  const plane = await makeControlPlane({
    ...parts,
    ...{ admission, serverFlags, auditPolicy: auditPolicy(OWN_ACCOUNTS) },
    users: [],
    graceMs: undefined,
    onCrash: ({ title }, lines) => {
      crashed([`${title} ended by itself`, ...lines].join('\n  '))
      stop.abort(new Error('the control plane is gone'))
    },
  })
  try {
    await plane.start(stop.signal)
    return await act(plane)
  } finally {
    await plane.stop()
  }
}

/** Who sets owners must have rights on them, too. */
const OPENSHIFT = ['OwnerReferencesPermissionEnforcement']

const conformance = (): Promise<boolean> =>
  withApi(plane => runConformance(plane, say, stop.signal))

const informers = ({ seed }: LabOptions): Promise<boolean> =>
  withApi(plane =>
    runInformers({
      ...{ plane, seed, say, script, signal: stop.signal },
      program: process.env['LAB_INFORMER']!,
    }),
  )

/** Over several trials one wants to know the spread. */
const sayFigure = (figure: Figure, { trials }: LabOptions): void => {
  if (trials === 1 || (figure.kind !== 'becomes' && figure.kind !== 'measured')) return
  const [p50, p99, max] = [figure.p50, figure.p99, figure.max].map(ms => (ms / 1_000).toFixed(1))
  const held = `${figure.held}/${figure.trials}`
  say(`${figure.cell}: ${figure.claim}: held ${held}, p50 ${p50} s, p99 ${p99} s, max ${max} s`)
}

const cells = async (options: LabOptions): Promise<boolean> => {
  chooseCells(options)
  const startedAt = performance.now()
  const results: Played[] = []
  let uncounted: readonly string[] = []
  const lab = await openLab(options, { ...parts, onCrash: crashed }, stop.signal)
  let version = ''
  try {
    await lab.start(stop.signal)
    version = String((await lab.plane.admin.get('/version', stop.signal))['gitVersion'])
    const took = ((performance.now() - startedAt) / 1_000).toFixed(1)
    say(`${options.nodes} nodes and a control plane, up after ${took} s`)
    await runCells(lab, options, {
      say,
      signal: stop.signal,
      trouble: () => trouble[0],
      onPlayed: played => results.push(played),
    })
    await lab.observer.readAudit()
  } catch (error) {
    // What was played until then is told all the same.
    if (!stop.signal.aborted || results.length === 0) throw error
  } finally {
    uncounted = await lab.stop()
    for (const fault of uncounted) say(`bytes are not all counted: ${fault}`)
  }
  const failed = results.filter(played => !played.ok).length
  const writes = lab.observer.tallies.all
  const isConfined = sayTallies(writes, say)
  const ok = failed + trouble.length === 0 && isConfined
  for (const figure of figuresOf(results)) sayFigure(figure, options)
  if (options.report !== undefined) {
    const [cpu] = cpus()
    const run = {
      command: `npm run lab -- ${process.argv.slice(2).join(' ')}`,
      date: new Date().toISOString(),
      kubernetes: version,
      machine: `${cpus().length} × ${cpu?.model ?? 'unknown'}, Linux ${release()}, Node ${process.version}`,
      options,
      durationMs: Math.round(performance.now() - startedAt),
      writes,
    }
    const played = results.map(result => ({ ...result, uncounted }))
    writeReport(options.report, { ok, runs: [run], notPlayed: NOT_PLAYED, cells: played })
    say(`report: ${join(options.report, 'index.html')}`)
  }
  for (const line of NOT_PLAYED) say(`not played: ${line}`)
  const broke = trouble.length > 0 ? '; a process broke down' : ''
  say(`${results.length - failed} cells held, ${failed} did not${broke} (seed ${options.seed})`)
  say(
    `${results.length - failed} passed, ${failed + Math.min(trouble.length, 1) + (isConfined ? 0 : 1)} failed`,
  )
  return ok
}

const superedge = async (options: LabOptions): Promise<boolean> => {
  const lab = await openLab(options, { ...parts, onCrash: crashed }, stop.signal)
  try {
    await lab.start(stop.signal)
    return await runSuperEdge(lab, { agent: options.agent!, say, signal: stop.signal })
  } finally {
    await lab.stop()
  }
}

const names = async (): Promise<boolean> => withApi(plane => runNames(plane, say, stop.signal))

const newcomer = async (options: LabOptions): Promise<boolean> => {
  const { signal } = stop
  const scene = new Newcomer({ kubectl: parts.binaries.kubectl, script }, say)
  const lab = await openLab(options, { ...parts, onCrash: crashed }, signal, scene.install)
  try {
    await lab.start(signal)
    await scene.play(lab, signal)
  } finally {
    await lab.stop()
  }
  const { passed, failed } = scene.claims
  if (options.report !== undefined && failed === 0) scene.write(options.report)
  say(`${passed} passed, ${failed} failed`)
  return failed === 0
}

const main = async (): Promise<boolean> => {
  const options = parseLabOptions(process.argv.slice(2))
  await command('ip', ['link', 'set', 'lo', 'up'])
  // Else a connection of the apiserver's own may have taken the port that a wrapper is to listen on.
  writeFileSync('/proc/sys/net/ipv4/ip_local_reserved_ports', '51005-51009')
  switch (options.command) {
    case 'conformance':
      return conformance()
    case 'informers':
      return informers(options)
    case 'names':
      return names()
    case 'confine':
      return withApi(plane => runConfine(plane, { ...options, say }, stop.signal))
    case 'chart':
      return withApi(plane => runChart({ plane, script }, say, stop.signal))
    case 'bridge':
      return withApi(plane =>
        audited(plane, 'bridge', how, () => runBridge(plane, say, stop.signal)),
      )
    case 'takeover':
      return withApi(plane =>
        audited(plane, 'grids', how, () => runTakeover({ plane, script }, say, stop.signal)),
      )
    case 'kubectl':
      return withApi(plane => runKubectl({ plane, say, script, signal: stop.signal }))
    case 'grid-rows':
      return withApi(plane => runGridRows(plane, say, stop.signal), OPENSHIFT)
    case 'fuzz': {
      const { seed, requests } = options
      const { signal } = stop
      return withApi(plane => runFuzz({ plane, say, script, seed, requests, signal }))
    }
    case 'admission': {
      const { cells: chosen } = options
      const act = (plane: ControlPlane) =>
        audited(plane, 'webhook', how, () =>
          runAdmission({ plane, script, say, cells: chosen }, stop.signal),
        )
      return withApi(act, [], SERVER_FLAGS)
    }
    case 'newcomer':
      return newcomer(options)
    case 'superedge':
      return superedge(options)
    default:
      return cells(options)
  }
}

try {
  const ok = await main()
  if (stop.signal.aborted) say((stop.signal.reason as Error).message)
  process.exit(stop.signal.aborted ? 130 : ok ? 0 : 1)
} catch (error) {
  if (!stop.signal.aborted) throw error
  say((stop.signal.reason as Error).message)
  process.exit(130)
}
