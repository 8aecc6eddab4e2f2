// SPDX-License-Identifier: Apache-2.0
// A real zone under a real control plane, and what can be done to it.
import { type ChildProcess, spawn } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { sleep, systemClock } from '../../core/clock.js'
import { conditionsOf, type NodeObject } from '../../sandbox/node-object.js'
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'
import type { WebhookReplicas } from './admission/replicas.js'
import {
  accountTokens,
  askWith,
  isComponentFree,
  untilConfined,
  whoIsFree,
  type AccountTokens,
  type Component,
} from './confine/bite.js'
import type { LabNode, Vouch } from './lab-node.js'
import { type Link, type Namespace, type Rule, ruleArguments, setCable } from './network.js'
import {
  agentPod,
  createAgentPod,
  daemonTemplate,
  type Template,
} from '../../testkit/deploy/agent-pod.js'
import type { Keys } from './objects.js'
import { writeKustomization } from './names/installed.js'
import type { Observer } from './observer.js'
import type { LabOptions } from './options.js'
import { Props } from './props.js'
import { Foes } from './rogue/foes.js'
import { FairTime } from './slowness.js'
import type { ProxyZone } from './wrapper/proxy-zone.js'
import type { ZoneMeter } from './zone-meter.js'

const START_MS = 60_000
const STAGGER_MS = 300

const isReady = (node: NodeObject | undefined): boolean =>
  node !== undefined &&
  conditionsOf(node).some(({ type, status }) => type === 'Ready' && status === 'True') &&
  (node.spec?.taints ?? []).length === 0

interface Whole {
  readonly plane: ControlPlane
  readonly nodes: readonly LabNode[]
  readonly observer: Observer
  readonly proxies: ProxyZone
  readonly stranger: Namespace
  readonly keys: Keys
  readonly kubeletTokens: ReadonlyMap<string, string>
  readonly meter: ZoneMeter | undefined
  readonly webhook: WebhookReplicas
}

export class Lab {
  readonly settings: LabOptions
  readonly plane: ControlPlane
  readonly nodes: readonly LabNode[]
  readonly observer: Observer
  readonly foes: Foes
  readonly props: Props
  readonly proxies: ProxyZone
  /** Undefined where it cannot be built. */
  readonly meter: ZoneMeter | undefined
  readonly webhook: WebhookReplicas
  readonly #kubeletTokens: ReadonlyMap<string, string>
  #accounts: AccountTokens | undefined
  /** Components beside deploy/base. */
  #deployed: readonly string[] = []
  #burners: readonly ChildProcess[] = []

  constructor(settings: LabOptions, parts: Whole) {
    this.settings = settings
    this.plane = parts.plane
    this.nodes = parts.nodes
    this.observer = parts.observer
    this.proxies = parts.proxies
    this.meter = parts.meter
    this.webhook = parts.webhook
    this.#kubeletTokens = parts.kubeletTokens
    const { nodes, stranger } = parts
    this.props = new Props(parts.plane, parts.keys, settings.tolerationMs / 1_000)
    this.foes = new Foes({ nodes, stranger, dir: parts.plane.dir, key: () => this.props.key })
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
      await node.mountState()
      await this.#makeAgentPod(node, template, signal)
      node.startAgent()
      await this.props.renewShop(node, signal)
      await sleep(systemClock, STAGGER_MS, signal)
    }
    await untilConfined(() => this.whoIsFree(signal), signal)
  }

  async #makeAgentPod(node: LabNode, template: Template, signal: AbortSignal): Promise<void> {
    const token = await createAgentPod(this.plane.admin, node.name, template, signal)
    if (node === this.nodes[0])
      this.#accounts = await accountTokens(this.plane.admin, token, signal)
    await node.mountAccount(token)
  }

  /** A Node is deleted, with its Pods, and its kubelet registers it again: its disk is as it was. */
  async remakeNode(name: string): Promise<void> {
    const { signal } = new AbortController()
    const node = this.node(name)
    await node.kill()
    await this.plane.kubectl(['delete', 'node', name])
    const pod = ['delete', 'pod', agentPod(name), '-n', 'edge-system']
    await this.plane.kubectl([...pod, '--ignore-not-found', '--force', '--grace-period=0'])
    await this.until(() => !this.observer.nodes.has(name), signal)
    node.startKubelet()
    await this.until(() => isReady(this.observer.nodes.get(name)), signal)
    await this.#makeAgentPod(node, await daemonTemplate(this.plane.admin, signal), signal)
    node.startAgent()
    await this.props.renewShop(node, signal)
  }

  /** Wait until the policies of a component's account are in force; until then the audit log does not count. */
  async confined(account: Component): Promise<void> {
    const { signal } = new AbortController()
    const look = () => isComponentFree(this.plane, account, signal)
    this.observer.warmSince = Infinity
    await untilConfined(look, signal)
    this.observer.warmSince = Date.now()
    // Once more, now that it counts.
    await look()
  }

  /** Which of our accounts could write what is not its job, in words: must be none. */
  whoIsFree(signal: AbortSignal): Promise<readonly string[]> {
    return whoIsFree(askWith(this.plane, this.#accounts!, signal), this.names[0]!)
  }

  /** Wait until something holds. @throws Error after a minute; on a busy machine after more. */
  async until(holds: () => boolean, signal: AbortSignal): Promise<void> {
    const patience = new FairTime()
    patience.restart(performance.now())
    while (!holds()) {
      signal.throwIfAborted()
      if (patience.spentAt(performance.now()) > START_MS) {
        const seen = this.plane.lastLines(5).join('\n')
        throw new Error(`the zone is not up after ${START_MS / 1000} s\n${seen}`)
      }
      await sleep(systemClock, 100, signal)
    }
  }

  /** Time passes. */
  pause(ms: number): Promise<void> {
    return new Promise(resolve => setTimeout(resolve, ms))
  }

  /**
   * The apiserver starts anew on a compacted store. Until it has read its rules it denies whatever it is asked (403),
   * also what they allow.
   */
  async forgetPast(): Promise<void> {
    this.observer.warmSince = Infinity
    await this.plane.forget(new AbortController().signal)
    this.observer.warmSince = Date.now()
  }

  /** Done, and seen by the observer, when this resolves; the control plane may have put it back meanwhile. */
  async takeTaintOff(name: string): Promise<void> {
    const taint = ['taint', 'node', name, 'node.kubernetes.io/unreachable:NoExecute-']
    const version = await this.plane.kubectl([...taint, '-o=jsonpath={.metadata.resourceVersion}'])
    const seen = (): number => Number(this.observer.nodes.get(name)?.metadata.resourceVersion)
    await this.until(() => seen() >= Number(version), new AbortController().signal)
  }

  /** Every core is busy with something else; or not any more. */
  async load(isOn: boolean): Promise<void> {
    for (const burner of this.#burners) burner.kill('SIGKILL')
    const program = 'for(;;);'
    this.#burners = isOn
      ? cpus().map(() => spawn(process.execPath, ['-e', program], { stdio: 'ignore' }))
      : []
    return Promise.resolve()
  }

  /** A way from one node to another's address, or none: sending fails at once. */
  async setRoute(from: string, to: string, isThere: boolean): Promise<void> {
    const route = ['prohibit', `${this.node(to).address}/32`]
    await this.node(from).space.run('ip', ['route', isThere ? 'del' : 'replace', ...route])
  }

  /** All agents start anew, each with a wall clock that can be set. */
  ownClocks(): Promise<void> {
    for (const node of this.nodes) node.hasOwnClock = true
    return this.restartAgents('lease')
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

  /** All cables in, all firewalls empty, no route forbidden. */
  async mendNetwork(): Promise<void> {
    const clear = 'iptables -F; iptables -t nat -F PREROUTING; ip route flush type prohibit'
    await Promise.all(
      this.nodes.map(async node => {
        await node.space.run('sh', ['-c', clear])
        await this.cable(node.name, 'peer', true)
        await this.cable(node.name, 'cloud', true)
        node.isCut = false
      }),
    )
  }

  /** Apply deploy/base with these components, the webhook with its Pods; agents hear of their own options by `restartAgents`. */
  async deployWith(components: readonly string[]): Promise<void> {
    this.#deployed = components
    const folder = writeKustomization(join(this.plane.dir, 'deployed'), components)
    await this.plane.kubectl(['apply', '-k', folder])
    if (!components.includes('webhook')) return
    await this.confined('webhook')
    await this.webhook.open()
    await this.webhook.start(1)
  }

  /** deploy/base alone again. */
  async #deployBase(): Promise<void> {
    if (this.#deployed.length === 0) return
    if (this.#deployed.includes('keep'))
      await this.plane.kubectl(['delete', '-k', 'deploy/components/keep'])
    for (const name of ['webhook', 'webhook-pods'].filter(each => this.#deployed.includes(each)))
      await this.plane.kubectl(['delete', '-f', `deploy/components/${name}/registration.yaml`])
    await this.webhook.stop()
    await this.plane.kubectl(['apply', '-k', 'deploy/base'])
    this.#deployed = []
  }

  /** All agents at once, as after a change of the DaemonSet. */
  async restartAgents(vouch: Vouch): Promise<void> {
    await Promise.all(this.nodes.map(node => node.stopAgent()))
    for (const node of this.nodes) {
      node.vouch = vouch
      node.startAgent()
      await this.pause(STAGGER_MS)
    }
  }

  /**
   * Whatever was done: undone, and agents that remember nothing of it. They damp a node that falls again and again, so
   * what one cell did would otherwise show in the next.
   */
  async mend(signal: AbortSignal): Promise<void> {
    this.plane.thawServer()
    await this.foes.stop()
    await this.load(false)
    await this.#deployBase()
    await this.proxies.close()
    await this.props.clear()
    await this.mendNetwork()
    await Promise.all(this.nodes.map(node => node.killAgent()))
    await Promise.all(this.nodes.map(node => this.#mendNode(node, signal)))
  }

  async #mendNode(node: LabNode, signal: AbortSignal): Promise<void> {
    node.hasOwnClock = false
    node.isOther = node.isOtherAtFirst
    await node.throttle(undefined)
    await node.fillState(false)
    if (node.state === 'frozen') node.thaw()
    if (node.state === 'killed') node.startKubelet()
    node.vouch = 'lease'
    node.startAgent()
    await node.setSick(false).catch(() => undefined)
    if (this.observer.podOn(node.name) !== 'ready') await this.props.renewShop(node, signal)
  }

  /** @returns why the meter's sums are not the whole truth; empty when they are. */
  async stop(): Promise<readonly string[]> {
    // First, so that no end of a process is counted.
    const uncounted = (await this.meter?.close()) ?? []
    await this.load(false)
    await this.foes.stop()
    await this.webhook.close()
    await this.observer.stop()
    await this.proxies.close().catch(() => undefined)
    await Promise.all(this.nodes.map(node => node.stop()))
    await this.plane.stop()
    return uncounted
  }
}
