// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import type { Member } from '../../core/roster.js'
import { buildMeter, Meter } from '../../testkit/meter/meter.js'
import { castOf } from './world/cast.js'
import { KEY, type WorldOrder } from './world/world.js'
import { AgentProcess, read } from './agent-process.js'
import {
  beliefFaults,
  increaseOf,
  refusalsIn,
  provedMembers,
  type Belief,
  type Identity,
  type ShownStatus,
} from './belief.js'
import { makeCgroup, type Cgroup } from './cgroup.js'
import { apiAddress, sidesOf, type LinkTraffic } from './link.js'
import { memoryOf, type Memory } from './proc.js'
import { rates, readAll, type Bed, type Reading, type Traffic } from './readings.js'
import { openRealApi, type RealApi } from './real-api.js'
import { WorldProcess } from './world-process.js'

export interface CostOrder {
  readonly nodes: number
  readonly minutes: number
  readonly profile: string
  readonly identity: Identity
  readonly isInCgroup: boolean
  readonly node: string
  readonly flags: readonly string[]
  readonly script: string
  readonly agentCore: number
  readonly worldCore: number
  readonly block: number
  /** A file for what the agent says. */
  readonly log: string | undefined
  readonly options: readonly string[]
  /** Whether the apiserver is a real one, and what passes the interface is counted: in a network of the bench's own. */
  readonly isReal: boolean
  /** The bench's own file, to run the world with. */
  readonly bench: string
  readonly say: (line: string) => void
}

/** What one run measured; rates are of the time behind the settling, memory is at its end. */
export interface Cost extends Memory {
  readonly nodes: number
  readonly version: string
  readonly seconds: number
  readonly readyMs: number
  readonly cpuMsPerSecond: number
  readonly startCpuMs: number
  /** Ready to run, but waiting for the core; in ms per second. */
  readonly waitedMsPerSecond: number
  readonly wakeupsPerSecond: number
  readonly exchange: Traffic
  /** Of the agent's requests and answers, without HTTP. */
  readonly bodyBytesPerSecond: number
  readonly belief: Belief
  readonly probe: Traffic
  /** At the interface; undefined when it was not counted. */
  readonly link: LinkTraffic | undefined
  readonly probesPerSecond: number
  readonly longestGapMs: number
  readonly missedRounds: number
  /** Share of its core. */
  readonly worldCpu: number
  /** Shares of the agent's core that others used. */
  readonly othersCpu: number
  readonly niceCpu: number
  /** Why the run does not count, or what it shows to be wrong. */
  readonly faults: readonly string[]
}

const READY_LIMIT_MS = 60_000
const CGROUP_READY_MS = 10_000
const MOST_WORLD = 0.7
const MOST_OTHERS = 0.2

const PERIODS: Readonly<
  Record<
    string,
    Pick<WorldOrder, 'checkPeriodMs'> & {
      readonly mesh: number
      readonly rings: number
      readonly meshMax: number
      readonly linkSlotMs: number
    }
  >
> = {
  default: { checkPeriodMs: 10_000, mesh: 5_000, rings: 2_000, meshMax: 64, linkSlotMs: 1_000 },
  fast: { checkPeriodMs: 1_000, mesh: 500, rings: 500, meshMax: 16, linkSlotMs: 500 },
  superedge: {
    ...{ checkPeriodMs: 10_000, mesh: 10_000, rings: 2_000, meshMax: 10_000 },
    linkSlotMs: 1_000,
  },
}

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** The world that fits a profile of the agent. */
export const worldOrder = (
  nodes: number,
  profile: string,
  block: number,
  identity: Identity = 'off',
): WorldOrder => {
  const periods = PERIODS[profile]
  if (periods === undefined)
    throw new RangeError(`profile must be default, fast or superedge, got ${profile}`)
  const { checkPeriodMs, mesh, rings, meshMax, linkSlotMs } = periods
  return {
    ...{ nodes, block, checkPeriodMs },
    exchangePeriodMs: nodes <= meshMax ? mesh : rings,
    topology: { meshMax, ringObservers: 10 },
    linkSlotMs: identity === 'off' ? undefined : linkSlotMs,
  }
}

const statusOf = async (agent: AgentProcess): Promise<ShownStatus | undefined> => {
  const text = await read(`${agent.url}/status`)
  return text === undefined ? undefined : (JSON.parse(text) as ShownStatus)
}

/** What must be true of a zone in which nothing happened. */
export const quietFaults = async (
  agent: AgentProcess,
  nodes: number,
): Promise<readonly string[]> => {
  const info = await statusOf(agent)
  return info === undefined ? ['the agent does not answer /status'] : zoneFaults(info, nodes)
}

const zoneFaults = (info: ShownStatus, nodes: number): readonly string[] => {
  const faults: string[] = []
  if (info.zone.members !== nodes) faults.push(`the agent sees ${info.zone.members} members`)
  const ill = info.nodes.filter(({ verdict }) => verdict !== 'healthy').map(({ name }) => name)
  if (ill.length > 0) faults.push(`not healthy: ${ill.slice(0, 5).join(', ')} (${ill.length})`)
  return faults
}

const validity = (cost: ReturnType<typeof rates>): readonly string[] => {
  const faults: string[] = []
  const percent = (share: number): string => `${(100 * share).toFixed(0)} %`
  if (cost.worldCpu > MOST_WORLD)
    faults.push(`invalid: the world used ${percent(cost.worldCpu)} of its core`)
  if (cost.othersCpu > MOST_OTHERS)
    faults.push(`invalid: others used ${percent(cost.othersCpu)} of the agent's core`)
  return faults
}

const agentOf = (order: CostOrder, me: Member): AgentProcess =>
  new AgentProcess({
    ...{ node: order.node, script: order.script, core: order.agentCore, log: order.log },
    ...{ profile: order.profile, name: me.name, address: me.address },
    more: [`--identity=${order.identity}`, ...order.options],
    flags: () => order.flags,
  })

/** What is true of a run that can be wrong with it. */
const faultsOf = async (
  { agent, meter }: Bed,
  order: CostOrder,
  cost: ReturnType<typeof rates> & { readonly readyMs: number; readonly belief: Belief },
): Promise<readonly string[]> => {
  const faults = [
    ...validity(cost),
    ...(await quietFaults(agent, order.nodes)),
    ...beliefFaults(cost.belief, order.nodes, order.identity),
  ]
  if (cost.missedRounds > 0)
    faults.push(
      `${cost.missedRounds} probe rounds came late, ${cost.longestGapMs.toFixed(0)} ms apart`,
    )
  if (order.isInCgroup && cost.readyMs > CGROUP_READY_MS)
    faults.push(
      `ready after ${(cost.readyMs / 1_000).toFixed(1)} s, the bar is ${CGROUP_READY_MS / 1_000} s`,
    )
  return [...faults, ...((await meter?.close())?.faults ?? [])]
}

/** Play the agent in its world for so long. */
export const measureCost = async (order: CostOrder): Promise<Cost> => {
  const me = castOf(order.nodes, order.block).members[0]!
  const api = order.isReal ? await openRealApi(apiAddress(order.block), KEY, order.say) : undefined
  const meter = order.isReal
    ? await Meter.open(buildMeter(process.env), 'lo', sidesOf(me, order.block))
    : undefined
  const bed = { agent: agentOf(order, me), world: new WorldProcess(order.bench, order.worldCore) }
  let cgroup: Cgroup | undefined
  try {
    cgroup = order.isInCgroup ? makeCgroup() : undefined
    return await play(order, { ...bed, meter }, me, { api, cgroup })
  } finally {
    await bed.agent.stop()
    cgroup?.remove()
    await bed.world.end()
    await meter?.close()
    await api?.stop()
  }
}

type Refusals = ReturnType<typeof refusalsIn>

/** Of the agent, since its start. It works for this, so it is asked before and behind what is measured. */
const refusalsOf = async (agent: AgentProcess): Promise<Refusals> =>
  refusalsIn((await read(`${agent.url}/metrics`)) ?? '')

/** Read behind the run, too. */
const beliefOf = async (
  agent: AgentProcess,
  from: Reading & { readonly refused: Refusals },
  to: Reading,
): Promise<Belief> => {
  const refused = increaseOf(from.refused, await refusalsOf(agent))
  const status = await statusOf(agent)
  const { exchange: before } = from.world
  const { exchange: after } = to.world
  return {
    proved: status === undefined ? 0 : provedMembers(status),
    refused,
    refusedByWorld: after.refused - before.refused,
    failedOfWorld: after.failed - before.failed,
  }
}

const play = async (
  order: CostOrder,
  bed: Bed,
  me: Member,
  { api, cgroup }: { readonly api: RealApi | undefined; readonly cgroup: Cgroup | undefined },
): Promise<Cost> => {
  const { agent, world } = bed
  const played = worldOrder(order.nodes, order.profile, order.block, order.identity)
  const stage = await world.call('begin', { ...played, apiserver: api?.access })
  const access = stage.kubeconfig ?? (await api!.accountOf(me.name))
  await agent.warmCache()
  agent.start({ ...stage, access }, cgroup?.command)
  const readyMs = await agent.ready(READY_LIMIT_MS)
  if (readyMs === undefined) throw new Error(`the agent did not become ready: ${agent.said}`)
  await world.call('play')
  const settlingMs = Math.min(60_000, order.minutes * 12_000)
  await wait(settlingMs)
  await world.call('forgetGaps')
  const refused = await refusalsOf(agent)
  await wait(1_000)
  const from = { ...(await readAll(bed, order.agentCore)), refused }
  await wait(order.minutes * 60_000 - settlingMs)
  const to = await readAll(bed, order.agentCore)
  const memory = memoryOf(agent.pid)
  const cost = { ...rates(from, to), readyMs, belief: await beliefOf(agent, from, to) }
  const faults = await faultsOf(bed, order, cost)
  const version = spawnSync(order.node, ['--version'], { encoding: 'utf8' }).stdout.trim()
  return { nodes: order.nodes, version, startCpuMs: from.cpu, ...cost, ...memory, faults }
}
