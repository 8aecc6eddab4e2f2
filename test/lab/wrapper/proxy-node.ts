// SPDX-License-Identifier: Apache-2.0
// What stands on a node beside kubelet and agent: a shop with a customer, kube-proxy, and the wrapper between it and
// the apiserver, or not.
import { resolve } from 'node:path'
import { systemClock } from '../../../core/clock.js'
import { Child, type Ended } from '../../../sandbox/child.js'
import type { LabNode } from '../lab-node.js'
import { type Backends, type Mode, RULES } from './rules.js'

/** How a node's kube-proxy is set up. */
export interface ProxyPlan {
  /** Whom it asks: the wrapper of its node, or the apiserver itself. */
  readonly asks: 'wrapper' | 'apiserver'
  readonly mode: Mode
  /** Streaming lists, as kube-proxy of today asks for, or list and watch as before. */
  readonly lists: 'streamed' | 'plain'
  /** How it reaches the wrapper. A client sends its token over TLS only. */
  readonly link: 'http' | 'tls'
}

/** One connection to the Service; times are this process's `performance.now()`. */
export interface Connection {
  readonly begunAt: number
  readonly tookMs: number
  /** Who answered; undefined when nobody did. */
  readonly by: string | undefined
  readonly reason: string
}

/** What the kernel was told, from this moment until the next such moment. */
export interface RulesMoment {
  readonly at: number
  readonly backends: Backends
}

/** What all nodes have in common. */
export interface ProxySettings {
  readonly kubeProxy: string
  /** The bundle. */
  readonly script: string
  /** The wrapper's arguments on a node. */
  readonly wrapperArgs: (node: LabNode, plan: ProxyPlan) => readonly string[]
  readonly serviceCidr: string
  /** `ADDRESS:PORT` of the Service. */
  readonly service: string
  /** `NAMESPACE/NAME:PORT`, as kube-proxy calls it in its rules. */
  readonly servicePort: string
  readonly onCrash: (ended: Ended, lastLines: readonly string[]) => void
}

/** Kubeconfigs by their place in the node. */
export type NodeFiles = Readonly<Record<string, string>>

// A process that enters a mount namespace forgets its working directory.
const TRAFFIC = resolve('test/lab/wrapper/traffic.mjs')
const SHOP_PORT = 8080
const EVERY_MS = 100
/** A lost SYN is sent again after one second, and a machine may be busy. */
const LIMIT_MS = 3_000
const SAMPLE_MS = 150
/** For a look at the kernel, on a machine as busy as it may be. */
const LOOK_LIMIT_MS = 30_000
/**
 * The kernel remembers for so long where a connection without an answer went, 120 s by itself. A new one that draws the
 * same source port is sent there too, whatever the rules say by then; a customer comes round all ports in some 90 s.
 */
const FORGET_SYN = 'echo 5 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_sent'
export const WRAPPER_FILE = '/run/wrapper-kubeconfig'
const PROXY_FILE = '/run/kube-proxy-kubeconfig'

/** Difference of the machine's monotonic clock and this process's. */
const CLOCK_SHIFT = Number(process.hrtime.bigint()) / 1e6 - performance.now()

const parseConnection = (line: string): Connection | undefined => {
  const [begun = '', took = '', result = ''] = line.split(' ')
  if (result === '') return undefined
  const isBad = result.startsWith('!')
  return {
    begunAt: Number(begun) - CLOCK_SHIFT,
    tookMs: Number(took),
    by: isBad ? undefined : result,
    reason: isBad ? result.slice(1) : '',
  }
}

const asText = (backends: Backends): string =>
  backends === undefined ? 'none' : [...backends].toSorted().join()

export class ProxyNode {
  readonly node: LabNode
  readonly plan: ProxyPlan | undefined
  readonly connections: Connection[] = []
  readonly rules: RulesMoment[] = []
  readonly #settings: ProxySettings
  #shop: Child | undefined
  #wrapper: Child | undefined
  #proxy: Child | undefined
  #sampling: Promise<void> | undefined
  #isOver = false

  /** Without a plan it is only a shop. */
  constructor(node: LabNode, plan: ProxyPlan | undefined, settings: ProxySettings) {
    this.node = node
    this.plan = plan
    this.#settings = settings
  }

  get name(): string {
    return this.node.name
  }

  async start(files: NodeFiles): Promise<void> {
    const { space } = this.node
    for (const [file, text] of Object.entries(files))
      await space.run('sh', ['-c', `umask 077; cat >${file}`], text)
    await space.run('ip', ['route', 'replace', this.#settings.serviceCidr, 'dev', 'peer0'])
    await space.run('sh', ['-c', FORGET_SYN])
    await this.openShop()
    if (this.plan === undefined) return
    this.startWrapper()
    this.startProxy()
    this.#sampling = this.#sample()
  }

  /** Shop and customer; until the shop listens. */
  openShop(): Promise<void> {
    const customer = this.plan === undefined ? '-' : this.#settings.service
    const args = [
      TRAFFIC,
      this.name,
      `${this.node.address}:${SHOP_PORT}`,
      customer,
      String(EVERY_MS),
      String(LIMIT_MS),
    ]
    return new Promise(resolve => {
      this.#shop = this.#run('traffic', process.execPath, args, line => {
        if (line === 'open') resolve()
        const connection = parseConnection(line)
        if (connection !== undefined) this.connections.push(connection)
      })
    })
  }

  closeShop(): Promise<void> {
    return this.#shop?.kill() ?? Promise.resolve()
  }

  startWrapper(): void {
    if (this.plan?.asks !== 'wrapper') return
    const { script, wrapperArgs } = this.#settings
    this.#wrapper = this.#run('wrapper', process.execPath, [
      script,
      ...wrapperArgs(this.node, this.plan),
    ])
  }

  startProxy(): void {
    if (this.plan === undefined) return
    const { mode, lists } = this.plan
    this.#proxy = this.#run('kube-proxy', this.#settings.kubeProxy, [
      `--kubeconfig=${PROXY_FILE}`,
      `--hostname-override=${this.name}`,
      `--proxy-mode=${mode}`,
      '--conntrack-max-per-core=0',
      '--healthz-bind-address=127.0.0.1:10256',
      '--metrics-bind-address=127.0.0.1:10249',
      ...(lists === 'streamed' ? [] : ['--feature-gates=WatchListClient=false']),
    ])
  }

  async killWrapper(): Promise<void> {
    await this.#wrapper?.kill()
  }

  async killProxy(): Promise<void> {
    await this.#proxy?.kill()
  }

  async stopProxy(): Promise<void> {
    await this.#proxy?.stop(systemClock)
  }

  /** Take away what a reboot takes away: all that the kernel was told. */
  async forgetRules(): Promise<void> {
    // What cuts the cloud is in the same tables, and stays.
    const forget =
      this.plan?.mode === 'nftables'
        ? 'nft delete table ip kube-proxy'
        : 'iptables-save | grep -v KUBE- | iptables-restore'
    await this.node.space.run('sh', ['-c', forget])
  }

  /** Resolves when a look at the kernel found no rules: one that began earlier still shows what was there. */
  async seenWithoutRules(): Promise<void> {
    const end = performance.now() + LOOK_LIMIT_MS
    while (!this.#isOver && this.backends !== undefined) {
      if (performance.now() > end) throw new Error(`${this.name} still has rules of kube-proxy`)
      await new Promise(resolve => setTimeout(resolve, SAMPLE_MS))
    }
  }

  /** What the kernel knows now. */
  get backends(): Backends {
    return this.rules.at(-1)?.backends
  }

  /** The last lines of wrapper and kube-proxy. */
  lastLines(count: number): readonly string[] {
    if (this.plan === undefined) return []
    const said = [this.#wrapper, this.#proxy].flatMap(
      child => child?.lastLines(count).map(line => `${child.title}: ${line}`) ?? [],
    )
    const now = performance.now()
    const moments = this.rules
      .slice(-4)
      .map(({ at, backends }) => `${((now - at) / 1_000).toFixed(1)} s ago ${asText(backends)}`)
    return [`rules of ${this.name}: ${moments.join('; ')}`, ...said]
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await Promise.all([this.#shop?.kill(), this.#wrapper?.kill(), this.#proxy?.kill()])
    await this.#sampling
    if (this.plan !== undefined) await this.forgetRules().catch(() => undefined)
  }

  async #sample(): Promise<void> {
    const { command, read } = RULES[this.plan?.mode ?? 'iptables']
    const [program = '', ...args] = command
    while (!this.#isOver) {
      const listing = await this.node.space.run(program, args).catch(() => '')
      const backends = read(listing, this.#settings.servicePort)
      const last = this.rules.at(-1)
      if (last === undefined || asText(last.backends) !== asText(backends))
        this.rules.push({ at: performance.now(), backends })
      await new Promise(resolve => setTimeout(resolve, SAMPLE_MS))
    }
  }

  #run(
    what: string,
    program: string,
    args: readonly string[],
    onLine?: (line: string) => void,
  ): Child {
    const [command = '', ...rest] = this.node.space.inside(program, args)
    const child = new Child({
      title: `${what} ${this.name}`,
      command,
      args: rest,
      env: { PATH: process.env['PATH'] ?? '', HOME: '/run', NODE_NAME: this.name },
      ...(onLine === undefined ? {} : { onLine }),
    })
    void child.ended.then(ended => {
      if (ended.isCrash) this.#settings.onCrash(ended, child.lastLines(15))
    })
    return child
  }
}
