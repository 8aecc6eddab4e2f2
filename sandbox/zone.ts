// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, sleep } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import { type AgentStatus, type LocalInfo, readLocalInfo, readStatus } from './agent-view.js'
import { type ApiClient, makeApiClient } from './api-client.js'
import type { Cut } from './api/link.js'
import { type ApiServer, startApi } from './api/server.js'
import type { Ended } from './child.js'
import { type Lifecycle, startLifecycle } from './lifecycle.js'
import type { NodeObject } from './node-object.js'
import { recordNodeWrites, type NodeWrite } from './node-writes.js'
import { createZoneObjects, kubeconfigText } from './zone-objects.js'
import { clusterPeriods, type Profile, type Vouch, ZoneNode } from './zone-node.js'

export interface ZoneOptions {
  /** Loopback addresses, one per node. */
  readonly addresses: readonly string[]
  /** Value of the zone label. */
  readonly zone: string
  readonly profile: Profile
  readonly vouch: Vouch
  /** Interpreter and bundle that the nodes' processes run. */
  readonly command: string
  readonly script: string
  /** The environment of the processes. */
  readonly env: Readonly<Record<string, string>>
  /** A temporary folder is made in here, and removed at the end. */
  readonly tempDir: string
  /** Port of the embedded API; 0 takes a free one. */
  readonly apiPort: number
  /** Called when a process ended that was not stopped from here. */
  readonly onCrash: (ended: Ended) => void
}

interface ZoneSeams {
  readonly clock: Clock
  readonly log: Logger
}

const agentClient = (node: string): string => `agent:${node}`
const kubeletClient = (node: string): string => `kubelet:${node}`
const CONTROLLER = 'node-lifecycle-controller'

/** How many processes may start at the same time, how long each may take before the next, and how often to look. */
const START_BATCH = 6
const START_LIMIT_MS = 10_000
const START_LOOK_MS = 100

/** A zone on one machine: the embedded API, the cluster's own parts, and per node a kubelet and an agent. */
export class Zone {
  readonly nodes: readonly ZoneNode[]
  readonly dir: string
  readonly api: ApiServer
  readonly #clock: Clock
  readonly #admin: ApiClient
  readonly #clients: readonly ApiClient[]
  readonly #lifecycle: Lifecycle
  readonly #abort = new AbortController()
  #vouch: Vouch
  #stopping: Promise<void> | undefined

  constructor(
    parts: { dir: string; api: ApiServer; nodes: readonly ZoneNode[] },
    options: ZoneOptions,
    seams: ZoneSeams,
  ) {
    this.dir = parts.dir
    this.api = parts.api
    this.nodes = parts.nodes
    this.#clock = seams.clock
    this.#vouch = options.vouch
    // Every request to an agent adds a listener.
    setMaxListeners(0, this.#abort.signal)
    const client = (name: string): ApiClient =>
      makeApiClient(
        { server: parts.api.url, token: parts.api.addClient(name) },
        seams.clock,
        seams.log,
      )
    const controller = client(CONTROLLER)
    this.#admin = client('admin')
    this.#clients = [controller, this.#admin]
    const { monitorPeriodMs, graceMs } = clusterPeriods(options.profile)
    this.#lifecycle = startLifecycle(
      { monitorPeriodMs, graceMs, startupGraceMs: graceMs + 10_000, evictionPeriodMs: 100 },
      { api: controller, ...seams },
    )
  }

  /** Create the zone's objects and start all processes; agents come when their Nodes can be there. */
  async start(): Promise<void> {
    await createZoneObjects(this.#admin, randomBytes(32).toString('hex'), this.#abort.signal)
    for (const node of this.nodes) await node.prepare()
    await this.#inBatches(
      node => node.startKubelet(),
      node => Promise.resolve(this.object(node.name) !== undefined),
    )
    await this.#startAgents()
  }

  node(name: string): ZoneNode {
    const found = this.nodes.find(node => node.name === name)
    if (found === undefined) throw new Error(`no node ${name} in this zone`)
    return found
  }

  /** Start a killed node's processes again; its state folder is as it left it. */
  restart(node: ZoneNode): void {
    node.startKubelet()
    node.startAgent(this.#vouch)
  }

  /** Stop the agents as a rolling update would, and start them with another way of vouching. */
  async restartAgents(vouch: Vouch): Promise<void> {
    this.#vouch = vouch
    await Promise.all(this.nodes.map(node => node.stopAgent()))
    await this.#startAgents()
  }

  /** Kubelet and agent of the node lose the API, as behind a cut cable (`silent`) or a stopped server. */
  cutCloud(node: ZoneNode, how: Cut): void {
    node.isCut = true
    this.api.cutLink(agentClient(node.name), how)
    this.api.cutLink(kubeletClient(node.name), how)
  }

  healCloud(node: ZoneNode): void {
    node.isCut = false
    this.api.healLink(agentClient(node.name))
    this.api.healLink(kubeletClient(node.name))
  }

  localInfo(node: ZoneNode): Promise<LocalInfo | undefined> {
    return readLocalInfo(node.localUrl, this.#clock, this.#abort.signal)
  }

  status(node: ZoneNode): Promise<AgentStatus | undefined> {
    return readStatus(node.localUrl, this.#clock, this.#abort.signal)
  }

  /** The Node as the API has it now. */
  object(name: string): NodeObject | undefined {
    return this.api.store.get('nodes', undefined, name)
  }

  /** Record the agents' writes to Nodes from now on. Returns a function that reads what was recorded so far. */
  recordWrites(): () => readonly NodeWrite[] {
    return recordNodeWrites(this.api.requests)
  }

  /** Write a kubeconfig for people into the zone's folder. */
  async writeKubeconfig(): Promise<string> {
    const path = join(this.dir, 'kubeconfig')
    await writeFile(path, kubeconfigText(this.api.url, 'admin', undefined), { mode: 0o600 })
    return path
  }

  /** Ends every process of the zone and removes its folder. May be called twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    this.#abort.abort()
    await Promise.all(this.nodes.map(node => node.stop()))
    await this.#lifecycle.stop()
    await Promise.all(this.#clients.map(client => client.close()))
    await this.api.stop()
    await rm(this.dir, { recursive: true, force: true })
  }

  #startAgents(): Promise<void> {
    return this.#inBatches(
      node => node.startAgent(this.#vouch),
      async node => (await this.localInfo(node)) !== undefined,
    )
  }

  /** A few at a time: a hundred programs that start at once starve each other. */
  async #inBatches(
    start: (node: ZoneNode) => void,
    isUp: (node: ZoneNode) => Promise<boolean>,
  ): Promise<void> {
    const { nodes } = this
    for (let from = 0; from < nodes.length && !this.#abort.signal.aborted; from += START_BATCH) {
      const batch = nodes.slice(from, from + START_BATCH)
      for (const node of batch) start(node)
      // The caller waits for the last ones, if it wants to.
      if (from + START_BATCH < nodes.length) await this.#untilUp(batch, isUp)
    }
  }

  async #untilUp(
    nodes: readonly ZoneNode[],
    isUp: (node: ZoneNode) => Promise<boolean>,
  ): Promise<void> {
    const giveUpAt = this.#clock.now() + START_LIMIT_MS
    while (this.#clock.now() < giveUpAt) {
      const ups = await Promise.all(nodes.map(isUp))
      if (ups.every(up => up)) return
      if (!(await sleep(this.#clock, START_LOOK_MS, this.#abort.signal))) return
    }
  }
}

/**
 * Build a zone; `start` brings it up, and `stop` must be called in any case.
 * @throws ListenError when the API's port is taken.
 */
export const makeZone = async (options: ZoneOptions, seams: ZoneSeams): Promise<Zone> => {
  const api = await startApi({
    host: '127.0.0.1',
    port: options.apiPort,
    anonymous: 'kubectl',
    ...seams,
  })
  const dir = await mkdtemp(join(options.tempDir, 'edge-health-demo-'))
  const nodes = options.addresses.map((address, i) => {
    const name = `edge-${i + 1}`
    const identity = {
      name,
      address,
      dir: join(dir, name),
      agentToken: api.addClient(agentClient(name)),
      kubeletToken: api.addClient(kubeletClient(name)),
    }
    return new ZoneNode(identity, { ...options, server: api.url, clock: seams.clock })
  })
  return new Zone({ dir, api, nodes }, options, seams)
}
