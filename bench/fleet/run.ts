// SPDX-License-Identifier: Apache-2.0
// A fleet before a real apiserver, which is killed and started anew, and then cut off for a while.
import { execFileSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { systemClock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'
import { silentLog } from '../../core/log.js'
import type { Member } from '../../core/roster.js'
import { createZoneObjects } from '../../sandbox/zone-objects.js'
import { AGENT_ACCOUNT, API_PORT, WRAPPER_ACCOUNT } from '../../testkit/control-plane/flags.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'
import { buildMeter, cutPackets, Meter } from '../../testkit/meter/meter.js'
import { sumOf } from '../../testkit/meter/traffic.js'
import { cpuMs } from '../agent/proc.js'
import { castOf } from '../agent/world/cast.js'
import { Cluster } from '../agent/world/cluster.js'
import { openPlane } from '../grids/plane.js'
import { auditPolicyFor, figuresOf, type Figures, parseAudit } from './audit.js'
import { combined, type Counts } from './counts.js'
import { type ClientPlan, type Kind, KINDS } from './plan.js'
import { type Fleet, type FleetOrder, startClientGo, startOurs } from './programs.js'
import { type Disk, SettledKeys } from './settled-keys.js'

/** Who asks. */
export const PROGRAMS = ['edge-health', 'client-go'] as const
export type ProgramName = (typeof PROGRAMS)[number]

/** What happens to them. */
export type Occasion = 'start' | 'restart' | 'outage'

export interface FleetSize {
  readonly clients: number
  /** Nodes of a zone. */
  readonly zone: number
  readonly only: readonly ProgramName[]
  /** How long nobody gets through. */
  readonly outageS: number
  /** How long is looked at after each occasion. */
  readonly watchS: number
}

/** What one occasion came to. */
export interface Measured extends Figures {
  readonly program: ProgramName
  readonly occasion: Occasion
  /** Why watches could not be resumed, so that lists had to be, and how often. Undefined where nobody counts that. */
  readonly relists: Counts | undefined
  /** IP packets whole. */
  readonly sentBytes: number
  readonly receivedBytes: number
  /** CPU of the apiserver, beyond what it takes where nobody asks. */
  readonly serverCpuS: number
  /** CPU of all clients together. */
  readonly clientsCpuS: number
}

const BLOCK = 92
/** By which the clients alone ask. */
const ADDRESS = '127.93.0.1'
const ACCOUNTS: Readonly<Record<Kind, string>> = {
  agent: 'edge-health-agent',
  wrapper: 'edge-health-wrapper',
}
const SERVICES = 20
/** Clients begin within this time, each at a moment of its own. */
const SPREAD_MS = 15_000
const TOKENS_AT_ONCE = 8
/** A thousand clients keep it busy from its first moment. */
const READY_MS = 300_000

const never = new AbortController().signal
const wait = (seconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, seconds * 1_000))

const tokenOf = async (plane: ControlPlane, kind: Kind): Promise<string> => {
  const path = `/api/v1/namespaces/edge-system/serviceaccounts/${ACCOUNTS[kind]}/token`
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }
  const answer = (await plane.admin.post(path, request, never)) as {
    readonly status: { readonly token: string }
  }
  return answer.status.token
}

/** Half of the clients are an agent's, half a wrapper's, one of each on a node. */
const membersOf = (clients: number): readonly Member[] =>
  castOf(Math.ceil(clients / KINDS.length), BLOCK).members

/** Everybody who asks, with the keys of their zones. */
const planOf = async (
  plane: ControlPlane,
  { clients, zone }: FleetSize,
  keys: SettledKeys,
): Promise<readonly ClientPlan[]> => {
  const names = membersOf(clients).map(({ name }) => name)
  const diskOf = (kind: Kind, node: NodeName, i: number): Disk => {
    if (kind !== 'agent') return {}
    const first = i - (i % zone)
    return keys.diskOf(
      node,
      names.slice(first, first + zone).filter(other => other !== node),
    )
  }
  const wanted = names.flatMap((node, i) =>
    KINDS.map(kind => ({ kind, node, zone: zoneName(i, zone), disk: diskOf(kind, node, i) })),
  )
  const plans: ClientPlan[] = []
  const left = wanted.slice(0, clients).values()
  const lane = async (): Promise<void> => {
    for (const one of left) plans.push({ ...one, token: await tokenOf(plane, one.kind) })
  }
  await Promise.all(Array.from({ length: TOKENS_AT_ONCE }, lane))
  return plans
}

const zoneName = (index: number, size: number): string => `zone-${Math.floor(index / size)}`

/** Whether packets between the clients and the apiserver are thrown away. */
const setCut = (isCut: boolean): void => {
  for (const way of ['-d', '-s'])
    execFileSync('iptables', ['-w', isCut ? '-I' : '-D', 'OUTPUT', way, ADDRESS, '-j', 'DROP'])
}

interface Moment {
  readonly at: number
  readonly relists: Counts | undefined
  readonly bytes: { readonly sent: number; readonly received: number }
  readonly serverMs: number
  readonly clientsMs: number
}

interface Bed {
  readonly plane: ControlPlane
  readonly meter: Meter
  readonly size: FleetSize
  readonly order: FleetOrder
  readonly say: (line: string) => void
}

/** CPU of an apiserver whom nobody asks but the kubelets. */
interface Unasked {
  /** From when it is started until it was looked at for long enough. */
  readonly restartMs: number
  readonly msPerSecond: number
}

const measureUnasked = async ({ plane, size, say }: Bed): Promise<Unasked> => {
  say('an apiserver whom nobody asks …')
  await plane.restartServer(never)
  await wait(size.watchS)
  const restartMs = cpuMs(plane.serverPid)
  await wait(size.watchS)
  return { restartMs, msPerSecond: (cpuMs(plane.serverPid) - restartMs) / size.watchS }
}

class Trial {
  readonly #bed: Bed
  readonly #program: ProgramName
  readonly #unasked: Unasked
  readonly #fleet: Fleet
  readonly #logFrom: number
  readonly #taken: { occasion: Occasion; from: Moment; to: Moment; serverMs: number }[] = []

  constructor(bed: Bed, program: ProgramName, unasked: Unasked) {
    this.#bed = bed
    this.#program = program
    this.#unasked = unasked
    this.#logFrom = statSync(bed.plane.auditLog).size
    this.#fleet = (program === 'edge-health' ? startOurs : startClientGo)(bed.order)
  }

  async run(): Promise<readonly Measured[]> {
    try {
      await this.#start()
      await this.#restart()
      await this.#outage()
    } finally {
      await this.#fleet.stop()
    }
    return this.#figures()
  }

  async #moment(): Promise<Moment> {
    const { plane, meter } = this.#bed
    const { entries } = meter
    return {
      at: Date.now(),
      relists: await this.#fleet.relists(),
      bytes: {
        sent: sumOf(entries, { direction: 'sent' }).bytes,
        received: sumOf(entries, { direction: 'received' }).bytes,
      },
      serverMs: cpuMs(plane.serverPid),
      clientsMs: this.#fleet.cpuMs,
    }
  }

  /** @param serverMs CPU of the apiserver for them */
  #take(occasion: Occasion, from: Moment, to: Moment, serverMs: number): void {
    this.#taken.push({ occasion, from, to, serverMs })
  }

  async #start(): Promise<void> {
    this.#bed.say(`${this.#program}: ${this.#bed.size.clients} clients begin …`)
    const from = await this.#moment()
    await this.#fleet.ready()
    await wait(this.#bed.size.watchS)
    const to = await this.#moment()
    this.#take('start', from, to, to.serverMs - from.serverMs - this.#idleMs(from, to))
  }

  async #restart(): Promise<void> {
    const { plane, size, say } = this.#bed
    say(`${this.#program}: the apiserver is killed and started …`)
    const from = await this.#moment()
    await plane.restartServer(never)
    say(`  it answered after ${((Date.now() - from.at) / 1_000).toFixed(1)} s`)
    await wait(size.watchS)
    const to = await this.#moment()
    this.#take('restart', from, to, to.serverMs - this.#unasked.restartMs)
  }

  async #outage(): Promise<void> {
    const { size, say } = this.#bed
    say(`${this.#program}: nothing gets through for ${size.outageS} s …`)
    const relists = await this.#fleet.relists()
    setCut(true)
    await wait(size.outageS)
    // Some clients decide while nothing gets through what they will ask for.
    const from = { ...(await this.#moment()), relists }
    setCut(false)
    await wait(size.watchS)
    const to = await this.#moment()
    this.#take('outage', from, to, to.serverMs - from.serverMs - this.#idleMs(from, to))
  }

  #idleMs(from: Moment, to: Moment): number {
    return (this.#unasked.msPerSecond * (to.at - from.at)) / 1_000
  }

  #figures(): readonly Measured[] {
    const text = readFileSync(this.#bed.plane.auditLog).subarray(this.#logFrom).toString('utf8')
    const asked = parseAudit(text)
    return this.#taken.map(({ occasion, from, to, serverMs }) => ({
      ...{ program: this.#program, occasion },
      ...figuresOf(asked, { from: from.at, to: to.at }),
      relists:
        to.relists === undefined || from.relists === undefined
          ? undefined
          : combined(to.relists, from.relists, (after, before) => after - before),
      sentBytes: to.bytes.sent - from.bytes.sent,
      receivedBytes: to.bytes.received - from.bytes.received,
      serverCpuS: serverMs / 1_000,
      clientsCpuS: (to.clientsMs - from.clientsMs) / 1_000,
    }))
  }
}

const fill = async (plane: ControlPlane, size: FleetSize, keys: SettledKeys): Promise<Cluster> => {
  await createZoneObjects(plane.admin, 'the key of a bench, which nobody uses', never)
  await plane.kubectl(['apply', '-k', 'deploy/base'])
  for (let i = 0; i < SERVICES; i++)
    await plane.kubectl(['create', 'service', 'clusterip', `shop-${i}`, '--tcp=80:80'])
  const members = membersOf(size.clients)
  const zones = new Map(members.map(({ name }, i) => [name, zoneName(i, size.zone)]))
  const access = { server: plane.url, token: plane.adminToken, ca: plane.ca }
  const seams = { clock: systemClock, log: silentLog }
  const cluster = await Cluster.make(seams, access, ({ name }) => zones.get(name)!)
  await cluster.fill(members, '', (node, uid) => keys.publish(node, uid))
  return cluster
}

/** In a network of its own, whose loopback it may change. */
export const measureFleets = async (
  size: FleetSize,
  say: (line: string) => void,
): Promise<readonly Measured[]> => {
  cutPackets('lo')
  const auditPolicy = auditPolicyFor([AGENT_ACCOUNT, WRAPPER_ACCOUNT, 'system:anonymous'])
  const opened = await openPlane(say, [ADDRESS], { auditPolicy, readyMs: READY_MS })
  const { plane } = opened
  const sides = {
    isOurs: ({ address }: { readonly address: string }) => address !== ADDRESS,
    endOf: () => 'apiserver',
  }
  const meter = await Meter.open(buildMeter(process.env), 'lo', sides)
  try {
    const keys = new SettledKeys()
    const cluster = await fill(plane, size, keys)
    try {
      const clients = await planOf(plane, size, keys)
      const server = `https://${ADDRESS}:${API_PORT}`
      const order = { server, ca: plane.ca, clients, spreadMs: SPREAD_MS }
      const bed = { plane, meter, size, order, say }
      const unasked = await measureUnasked(bed)
      const all: Measured[] = []
      for (const program of size.only) all.push(...(await new Trial(bed, program, unasked).run()))
      return all
    } finally {
      await cluster.stop()
    }
  } finally {
    for (const fault of (await meter.close()).faults) say(`  ${fault}`)
    await opened.stop()
  }
}
