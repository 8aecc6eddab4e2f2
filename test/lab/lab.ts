// SPDX-License-Identifier: Apache-2.0
// A real zone under a real control plane, and what can be done to it.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sleep, systemClock } from '../../core/clock.js'
import { conditionsOf, type NodeObject } from '../../sandbox/node-object.js'
import type { Binaries } from './control-plane/programs.js'
import type { ServingPair } from './control-plane/certificates.js'
import { type ControlPlane, makeControlPlane } from './control-plane/control-plane.js'
import { LabNode, type Vouch } from './lab-node.js'
import { type Link, openNetwork, type Rule, ruleArguments, setCable } from './network.js'
import { applyDeploy, createAgentPod, daemonTemplate, renewShopPod } from './objects.js'
import { Observer } from './observer.js'
import type { LabOptions } from './options.js'

interface LabParts {
  readonly binaries: Binaries
  readonly dir: string
  readonly serving: ServingPair
  readonly onCrash: (what: string) => void
}

const START_MS = 60_000
const STAGGER_MS = 300

const nodeName = (index: number): string => `edge-${index + 1}`

const isReady = (node: NodeObject | undefined): boolean =>
  node !== undefined &&
  conditionsOf(node).some(({ type, status }) => type === 'Ready' && status === 'True') &&
  (node.spec?.taints ?? []).length === 0

export class Lab {
  readonly plane: ControlPlane
  readonly nodes: readonly LabNode[]
  readonly observer: Observer
  readonly #kubeletTokens: ReadonlyMap<string, string>

  constructor(
    parts: { plane: ControlPlane; nodes: readonly LabNode[]; observer: Observer },
    kubeletTokens: ReadonlyMap<string, string>,
  ) {
    this.plane = parts.plane
    this.nodes = parts.nodes
    this.observer = parts.observer
    this.#kubeletTokens = kubeletTokens
  }

  get names(): readonly string[] {
    return this.nodes.map(node => node.name)
  }

  node(name: string): LabNode {
    const found = this.nodes.find(node => node.name === name)
    if (found === undefined) throw new Error(`no node ${name}`)
    return found
  }

  /** Kubelets first; agents when their Nodes are Ready, as a scheduler would have it. */
  async start(signal: AbortSignal): Promise<void> {
    for (const node of this.nodes) {
      await node.prepareKubelet(this.#kubeletTokens.get(node.name)!)
      node.startKubelet()
    }
    await this.until(() => this.names.every(name => isReady(this.observer.nodes.get(name))), signal)
    const template = await daemonTemplate(this.plane.admin, signal)
    for (const node of this.nodes) {
      const token = await createAgentPod(this.plane.admin, node.name, template, signal)
      await node.mountAccount(token)
      node.startAgent()
      await this.renewPod(node, signal)
      await sleep(systemClock, STAGGER_MS, signal)
    }
  }

  /** Wait until something holds. @throws Error after a minute. */
  async until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    const end = performance.now() + START_MS
    while (!holds()) {
      signal.throwIfAborted()
      if (performance.now() > end) {
        const seen = this.plane.lastLines(5).join('\n')
        throw new Error(`the zone is not up after ${START_MS / 1000} s\n${seen}`)
      }
      await sleep(systemClock, 100, signal)
    }
  }

  renewPod(node: LabNode, signal: AbortSignal): Promise<void> {
    return renewShopPod(this.plane, node.name, node.address, signal)
  }

  async cable(name: string, link: Link, isUp: boolean): Promise<void> {
    await setCable(this.node(name).index, link, isUp)
  }

  /** Add a rule to a node's firewall. */
  async block(name: string, rule: Rule): Promise<void> {
    await this.node(name).space.run('iptables', ruleArguments(rule))
  }

  /** Nothing passes on this link, either way, and nobody is told. */
  async silence(name: string, link: Link): Promise<void> {
    await this.block(name, { chain: 'INPUT', link, answer: 'DROP' })
    await this.block(name, { chain: 'OUTPUT', link, answer: 'DROP' })
    if (link === 'cloud') this.node(name).isCut = true
  }

  /** Nothing passes between the two groups. */
  async partition(one: readonly string[], other: readonly string[]): Promise<void> {
    const pairs = one.flatMap(a => other.map(b => [a, b] as const))
    await Promise.all(pairs.flatMap(([a, b]) => [this.#deafen(a, b), this.#deafen(b, a)]))
  }

  /** `to` does not hear `from`. */
  async #deafen(to: string, from: string): Promise<void> {
    const peer = this.node(from).address
    await this.block(to, { chain: 'INPUT', link: 'peer', peer, answer: 'DROP' })
  }

  /** All cables in, all firewalls empty. */
  async mendNetwork(): Promise<void> {
    for (const node of this.nodes) {
      await node.space.run('iptables', ['-F'])
      await this.cable(node.name, 'peer', true)
      await this.cable(node.name, 'cloud', true)
      node.isCut = false
    }
  }

  /** All agents at once, as after a change of the DaemonSet. */
  async restartAgents(vouch: Vouch): Promise<void> {
    await Promise.all(this.nodes.map(node => node.stopAgent()))
    for (const node of this.nodes) {
      node.vouch = vouch
      node.startAgent()
      await new Promise(resolve => setTimeout(resolve, STAGGER_MS))
    }
  }

  /**
   * Whatever was done: undone, and agents that remember nothing of it. They damp a node that falls again and again, so
   * what one cell did would otherwise show in the next.
   */
  async mend(signal: AbortSignal): Promise<void> {
    await this.mendNetwork()
    await Promise.all(this.nodes.map(node => node.killAgent()))
    for (const node of this.nodes) {
      if (node.state === 'frozen') node.thaw()
      if (node.state === 'killed') node.startKubelet()
      node.vouch = 'lease'
      node.startAgent()
      await node.setSick(false).catch(() => undefined)
      await this.renewPod(node, signal)
    }
  }

  async stop(): Promise<void> {
    await this.observer.stop()
    await Promise.all(this.nodes.map(node => node.stop()))
    await this.plane.stop()
  }
}

/** Start a control plane, lay the cables, apply deploy/base and bring up all nodes. `stop` it in any case. */
export const openLab = async (
  options: LabOptions,
  parts: LabParts,
  signal: AbortSignal,
): Promise<Lab> => {
  const { binaries, dir, serving, onCrash } = parts
  const names = Array.from({ length: options.nodes }, (_, i) => nodeName(i))
  const tokens = new Map(names.map(name => [name, randomBytes(16).toString('hex')]))
  const users = [...tokens].map(([name, token]) => ({
    token,
    name: `system:node:${name}`,
    groups: ['system:nodes'],
  }))
  const crashed = ({ title }: { title: string }, lines: readonly string[]): void =>
    onCrash([`${title} ended by itself`, ...lines].join('\n  '))
  const plane = await makeControlPlane({
    ...{ binaries, dir, serving, users, onCrash: crashed },
    graceMs: options.graceMs,
  })
  try {
    const [spaces] = await Promise.all([openNetwork(options.nodes), plane.start(signal)])
    await applyDeploy(plane)
    const args = (await daemonTemplate(plane.admin, signal)).spec.containers[0]!.args
    const script = join(process.cwd(), 'dist/edge-health.cjs')
    const settings = { script, args, profile: options.profile, ca: serving.cert, onCrash: crashed }
    const nodes = spaces.map(
      (space, index) => new LabNode({ name: names[index]!, index, space }, settings),
    )
    const observer = new Observer(nodes, plane.admin, plane.auditLog)
    return new Lab({ plane, nodes, observer }, tokens)
  } catch (error) {
    await plane.stop()
    throw error
  }
}
