// SPDX-License-Identifier: Apache-2.0
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../core/clock.js'
import type { Child, Ended } from './child.js'
import { AGENT_FLAGS, IMAGE_ENV } from './image.js'
import { NodeProcesses, startChild } from './node-processes.js'
import { kubeconfigText, ZONE_LABEL } from './zone-objects.js'

/** Periods of the cluster's own components, in ms. */
export interface ClusterPeriods {
  readonly monitorPeriodMs: number
  readonly graceMs: number
  readonly renewMs: number
}

export type Profile = 'default' | 'fast' | 'superedge'
export type Vouch = 'lease' | 'taint' | 'off'

/** The periods of Kubernetes itself; the fast profile shrinks them about as much as the agent's. */
export const clusterPeriods = (profile: Profile): ClusterPeriods =>
  profile === 'fast'
    ? { monitorPeriodMs: 1_000, graceMs: 10_000, renewMs: 2_000 }
    : { monitorPeriodMs: 5_000, graceMs: 50_000, renewMs: 10_000 }

/** What each node of a zone has in common with the others. */
export interface NodeSettings {
  /** The program that knows `agent` and `sandbox-kubelet`. */
  readonly command: string
  readonly script: string
  readonly env: Readonly<Record<string, string>>
  readonly server: string
  readonly zone: string
  readonly profile: Profile
  readonly clock: Clock
  readonly onCrash: (ended: Ended) => void
}

/** Who a node is. */
export interface NodeIdentity {
  readonly name: string
  readonly address: string
  readonly dir: string
  readonly agentToken: string
  readonly kubeletToken: string
}

export const PEER_PORT = 51005
export const LOCAL_PORT = 51006
export const HEALTHZ_PORT = 10248
export const SECURE_PORT = 10250
export const NODE_PORTS: readonly number[] = [PEER_PORT, LOCAL_PORT, HEALTHZ_PORT, SECURE_PORT]

const STATUS_MS = 300_000

/**
 * Arguments of `agent`: all agents share one machine, so each gets its own address, and its local listener another
 * port.
 */
const agentArguments = (node: NodeIdentity, profile: Profile, vouch: Vouch): readonly string[] => [
  'agent',
  `--node-name=${node.name}`,
  `--node-address=${node.address}`,
  `--port=${PEER_PORT}`,
  `--local-address=${node.address}`,
  `--local-port=${LOCAL_PORT}`,
  `--kubeconfig=${join(node.dir, 'kubeconfig')}`,
  `--state-dir=${join(node.dir, 'state')}`,
  `--self-report-url=http://${node.address}:${HEALTHZ_PORT}/healthz`,
  `--profile=${profile}`,
  `--vouch=${vouch}`,
  // Who requires identities cannot hear SuperEdge's agents, which that profile is for.
  `--identity=${profile === 'superedge' ? 'prefer' : 'require'}`,
]

/** One node: its kubelet and its agent, each a process of its own. */
export class ZoneNode extends NodeProcesses {
  readonly identity: NodeIdentity
  readonly #settings: NodeSettings

  constructor(identity: NodeIdentity, settings: NodeSettings) {
    super()
    this.identity = identity
    this.#settings = settings
  }

  get name(): string {
    return this.identity.name
  }

  /** Where its agent answers the own node. */
  get localUrl(): string {
    return `http://${this.identity.address}:${LOCAL_PORT}`
  }

  /** Write what its processes read; only the own user may read it. */
  async prepare(): Promise<void> {
    const { name, address, dir, agentToken, kubeletToken } = this.identity
    const { server, zone, profile } = this.#settings
    await mkdir(join(dir, 'state'), { recursive: true, mode: 0o700 })
    const { renewMs } = clusterPeriods(profile)
    const kubelet = {
      nodeName: name,
      address,
      labels: { [ZONE_LABEL]: zone },
      server,
      token: kubeletToken,
      healthz: { host: address, port: HEALTHZ_PORT },
      secure: { host: address, port: SECURE_PORT },
      leaseSeconds: Math.max(1, Math.round((renewMs * 4) / 1_000)),
      renewMs,
      statusMs: STATUS_MS,
    }
    const secret = { mode: 0o600 }
    await writeFile(join(dir, 'kubelet.json'), JSON.stringify(kubelet), secret)
    await writeFile(join(dir, 'kubeconfig'), kubeconfigText(server, name, agentToken), secret)
  }

  /** Start it unless it runs: it keeps running when only the agent is stopped. */
  startKubelet(): void {
    if (this.kubelet !== undefined && this.kubelet.end === undefined) return
    this.kubelet = this.#start('kubelet', [
      'sandbox-kubelet',
      `--config=${join(this.identity.dir, 'kubelet.json')}`,
    ])
  }

  startAgent(vouch: Vouch): void {
    const args = agentArguments(this.identity, this.#settings.profile, vouch)
    this.agent = this.#start('agent', args, AGENT_FLAGS)
    this.state = 'running'
  }

  async stopAgent(): Promise<void> {
    await this.endAgent(this.#settings.clock)
  }

  async stop(): Promise<void> {
    await Promise.all([this.stopAgent(), this.kubelet?.stop(this.#settings.clock)])
  }

  /** How its agent ended; undefined while it runs. */
  get agentEnd(): Ended | undefined {
    return this.agent?.end
  }

  /** Process ids, agent first. */
  get pids(): readonly number[] {
    return [this.agent?.pid, this.kubelet?.pid].filter(pid => pid !== undefined)
  }

  #start(what: string, args: readonly string[], flags: readonly string[] = []): Child {
    const { command, script, env, onCrash } = this.#settings
    return startChild(
      {
        title: `${what} ${this.name}`,
        command,
        args: [...flags, script, ...args],
        env: { ...IMAGE_ENV, ...env },
      },
      onCrash,
    )
  }
}
