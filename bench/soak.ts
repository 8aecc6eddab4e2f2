// SPDX-License-Identifier: Apache-2.0
// Whether an agent grows: its memory and its handles over a zone in which peers die and return, members come and go,
// configs are written anew and watches break, all of it each minute.
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { AgentProcess, buildBundle, bundle } from './agent/agent-process.js'
import { IMAGE_FLAGS } from '../sandbox/image.js'
import { quietFaults, worldOrder } from './agent/cost.js'
import { handlesOf, memoryOf } from './agent/proc.js'
import { AS_WORLD, WorldProcess } from './agent/world-process.js'
import { castOf } from './agent/world/cast.js'
import { runWorld } from './agent/world/main.js'
import { inColumns } from './scale/figures.js'
import { cycleMs, playCycle } from './soak/churn.js'
import { resourcesIn, watchHandles } from './soak/handles.js'
import { median, slopeOf } from './soak/slope.js'

const HELP = `usage: npm run soak -- [options]
  --minutes 60        of churn: one cycle each minute (each 20 s with --profile fast), at least 8. The first third is
                      for warming up
  --nodes 10
  --profile default   or fast
  --rss-limit 2       MiB per hour
  --handle-limit 2    of each kind, per hour
  --node PATH, --script FILE, --block 91, -o json
Exits with 1 when the 95 % interval of a slope lies above its limit, or when the zone is not well at the end.
`

const isWorld = process.argv[2] === AS_WORLD

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    nodes: { type: 'string', default: '10' },
    profile: { type: 'string', default: 'default' },
    'rss-limit': { type: 'string', default: '2' },
    'handle-limit': { type: 'string', default: '2' },
    node: { type: 'string', default: process.execPath },
    script: { type: 'string', default: bundle },
    block: { type: 'string', default: '91' },
    output: { type: 'string', short: 'o', default: 'text' },
    help: { type: 'boolean', short: 'h', default: false },
  },
  args: isWorld ? [] : process.argv.slice(2),
})

type Sample = Readonly<Record<string, number>>

const CYCLE_MS = cycleMs(values.profile)
/** In each cycle: between two acts there is time for several. */
const SAMPLES = 12
const LEAST_CYCLES = 8
/** After the last cycle everything heals. */
const HEAL_MS = 30_000

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const sampleOf = async (agent: AgentProcess): Promise<Sample> => {
  process.kill(agent.pid, 'SIGUSR2')
  await wait(200)
  const { rssMiB, anonMiB } = memoryOf(agent.pid)
  const { fds, sockets } = handlesOf(agent.pid)
  const resources = resourcesIn(agent.said) ?? {}
  return {
    'RSS MiB': rssMiB,
    'anonymous MiB': anonMiB,
    fds,
    sockets,
    timers: resources['Timeout'] ?? 0,
  }
}

/** One cycle's samples become one point: the median of each column. */
const pointOf = (samples: readonly Sample[]): Sample =>
  Object.fromEntries(
    Object.keys(samples[0] ?? {}).map(name => [name, median(samples.map(one => one[name]!))]),
  )

const soakCycles = async (
  world: WorldProcess,
  agent: AgentProcess,
  cycles: number,
): Promise<readonly Sample[]> => {
  const points: Sample[] = []
  for (let cycle = 0; cycle < cycles; cycle++) {
    const samples: Sample[] = []
    const over = playCycle(world, { nodes: Number(values.nodes), ms: CYCLE_MS }, cycle, wait)
    for (let sample = 0; sample < SAMPLES; sample++) {
      await wait(CYCLE_MS / (SAMPLES + 2))
      samples.push(await sampleOf(agent))
    }
    await over
    points.push(pointOf(samples))
    process.stderr.write(`cycle ${cycle + 1} of ${cycles}: ${JSON.stringify(points.at(-1))}\n`)
  }
  return points
}

interface Row {
  readonly name: string
  readonly limit: number
  readonly from: number
  readonly to: number
  readonly perHour: number
  readonly low: number
  readonly high: number
}

const rowsOf = (points: readonly Sample[]): readonly Row[] => {
  const kept = points.slice(Math.max(2, Math.floor(points.length / 3)))
  return Object.keys(kept[0] ?? {}).map(name => {
    const line = kept.map((point, i) => [(i * CYCLE_MS) / 3_600_000, point[name]!] as const)
    const { value, low, high } = slopeOf(line)
    const limit = Number(name.includes('MiB') ? values['rss-limit'] : values['handle-limit'])
    return { name, limit, from: line[0]![1], to: line.at(-1)![1], perHour: value, low, high }
  })
}

const rowsText = (rows: readonly Row[]): string =>
  inColumns(
    ['', 'first', 'last', 'per hour', '95 % from', 'to', 'limit', ''],
    rows.map(({ name, limit, from, to, perHour, low, high }) => [
      ...[name, from.toFixed(1), to.toFixed(1), perHour.toFixed(2), low.toFixed(2)],
      ...[high.toFixed(2), String(limit), low > limit ? 'GROWS' : 'ok'],
    ]),
  )

const main = async (): Promise<void> => {
  const cycles = Math.floor((Number(values.minutes) * 60_000) / CYCLE_MS)
  if (values.help || !(cycles >= LEAST_CYCLES)) {
    process.stdout.write(HELP)
    process.exitCode = values.help ? 0 : 2
    return
  }
  if (values.script === bundle) buildBundle()
  const nodes = Number(values.nodes)
  const [me] = castOf(nodes, Number(values.block)).members
  const world = new WorldProcess(fileURLToPath(import.meta.url), 0)
  const agent = new AgentProcess({
    ...{ node: values.node, script: values.script, profile: values.profile, core: 1 },
    ...{ name: me!.name, address: me!.address, more: [], log: undefined },
    flags: folder => [...IMAGE_FLAGS, watchHandles(folder)],
  })
  try {
    const stage = await world.call('begin', worldOrder(nodes, values.profile, Number(values.block)))
    await agent.warmCache()
    agent.start({ ...stage, access: stage.kubeconfig! })
    if ((await agent.ready(60_000)) === undefined) throw new Error(`not ready: ${agent.said}`)
    await world.call('play')
    const points = await soakCycles(world, agent, cycles)
    await wait(HEAL_MS)
    const rows = rowsOf(points)
    const faults = await quietFaults(agent, nodes)
    if (values.output === 'json')
      process.stdout.write(`${JSON.stringify({ rows, points, faults }, undefined, 2)}\n`)
    else
      process.stdout.write(
        `${nodes} nodes, profile ${values.profile}, ${cycles} cycles of churn, ${CYCLE_MS / 1_000} s each, load ${loadavg()[0]!.toFixed(1)}\n${rowsText(rows)}\n`,
      )
    for (const fault of faults) process.stderr.write(`at the end: ${fault}\n`)
    process.exitCode = faults.length > 0 || rows.some(({ low, limit }) => low > limit) ? 1 : 0
  } finally {
    await agent.stop()
    await world.end()
  }
}

if (isWorld) runWorld()
else await main()
