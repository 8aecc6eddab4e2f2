// SPDX-License-Identifier: Apache-2.0
// What a control plane without nodes lacks: Nodes, a scheduler that knows of host ports, and kubelets that start Pods and
// end them. Nothing runs in the Pods.
import { sleep, systemClock } from '../../../core/clock.js'
import type { ApiClient, Json } from '../../../sandbox/api-client.js'

const PODS = '/api/v1/namespaces/edge-system/pods'
const ROUND_MS = 100
/** How long a Pod takes to be Ready, and to end. */
const ROUNDS_TO_CHANGE = 5

interface Pod {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly { readonly ports?: readonly { readonly hostPort?: number }[] }[]
    readonly affinity?: {
      readonly nodeAffinity?: {
        readonly requiredDuringSchedulingIgnoredDuringExecution?: {
          readonly nodeSelectorTerms: readonly {
            readonly matchFields?: readonly { readonly values: readonly string[] }[]
          }[]
        }
      }
    }
  }
  readonly status?: { readonly phase?: string }
}

/** The DaemonSet's controller says on each Pod which node it is for. */
const nodeFor = ({ spec }: Pod): string | undefined =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]
    ?.matchFields?.[0]?.values[0]

const hostPorts = ({ spec }: Pod): readonly number[] =>
  spec.containers.flatMap(({ ports = [] }) => ports.flatMap(({ hostPort }) => hostPort ?? []))

const nameOf = ({ metadata: { labels = {} } }: Pod): string =>
  labels['app.kubernetes.io/name'] ?? labels['name'] ?? ''

/** Ours, that of earlier versions, or SuperEdge's. */
const isAgent = (pod: Pod): boolean => /^edge-health(-agent)?$/.test(nameOf(pod))

export const NODES = ['n-1', 'n-2', 'n-3', 'n-4'] as const
/** The one whose link to the cloud is cut in a scene. */
export const CUT = 'n-3'

/** What `agents` says when these nodes have this one, and the others none. */
export const agentsOn = (nodes: readonly string[], name: string) =>
  Object.fromEntries(NODES.map(node => [node, nodes.includes(node) ? [name] : []]))

/** Plays scheduler and kubelets until it is stopped. */
export class FakeNodes {
  readonly #api: ApiClient
  readonly #signal: AbortSignal
  readonly #unreachable = new Set<string>()
  /** Rounds for which a Pod has been starting or ending. */
  readonly #rounds = new Map<string, number>()
  #pods: readonly Pod[] = []
  #isCounting = false
  #isStopped = false
  /** The most nodes that had no running agent at one time, since `count`. */
  mostWithout = 0

  constructor(api: ApiClient, signal: AbortSignal) {
    this.#api = api
    this.#signal = signal
  }

  async createNodes(): Promise<void> {
    for (const name of NODES) {
      const labels = { 'kubernetes.io/os': 'linux', 'superedge.io/node-edge': 'enable' }
      const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
      await this.#api.post('/api/v1/nodes', node, this.#signal)
      // The apiserver taints a new Node as not ready, and SuperEdge's agents tolerate nothing.
      const spec = { taints: null }
      await this.#api.patch(`/api/v1/nodes/${name}`, 'merge', { spec }, this.#signal)
    }
  }

  /** The kubelet of a node hears nothing any more. */
  cut(node: string): void {
    this.#unreachable.add(node)
  }

  heal(node: string): void {
    this.#unreachable.delete(node)
  }

  /** From now on each node without an agent counts. */
  count(): void {
    this.#isCounting = true
  }

  #running(node: string): readonly Pod[] {
    const isRunning = ({ spec, status }: Pod) =>
      spec.nodeName === node && status?.phase === 'Running'
    return this.#pods.filter(pod => isAgent(pod) && isRunning(pod))
  }

  /** Node → names of the agents that run there; one that was asked to end has a `!` before it. */
  agents(): Readonly<Record<string, readonly string[]>> {
    const mark = ({ metadata }: Pod): string =>
      metadata.deletionTimestamp === undefined ? '' : '!'
    return Object.fromEntries(
      NODES.map(node => [node, this.#running(node).map(pod => mark(pod) + nameOf(pod))]),
    )
  }

  /** The agents' Pods on these nodes. */
  uids(nodes: readonly string[]): readonly string[] {
    return nodes.flatMap(node => this.#running(node).map(({ metadata }) => metadata.uid))
  }

  async run(): Promise<void> {
    do await this.#round()
    while (!this.#isStopped && (await sleep(systemClock, ROUND_MS, this.#signal)))
  }

  stop(): void {
    this.#isStopped = true
  }

  async #round(): Promise<void> {
    const { items } = (await this.#api.get(PODS, this.#signal)) as unknown as {
      items: readonly Pod[]
    }
    this.#pods = items
    if (this.#isCounting) this.#countNodes()
    for (const pod of items) {
      if (pod.spec.nodeName === undefined) await this.#schedule(pod)
      else if (!this.#unreachable.has(pod.spec.nodeName)) await this.#tend(pod)
    }
  }

  #countNodes(): void {
    const without = NODES.filter(node => this.#running(node).length === 0)
    this.mostWithout = Math.max(this.mostWithout, without.length)
  }

  async #schedule(pod: Pod): Promise<void> {
    const node = nodeFor(pod)
    const taken = this.#pods.filter(({ spec }) => spec.nodeName === node).flatMap(hostPorts)
    if (node === undefined || hostPorts(pod).some(port => taken.includes(port))) return
    const { name } = pod.metadata
    const target = { apiVersion: 'v1', kind: 'Node', name: node }
    const binding: Json = { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target }
    await this.#api.post(`${PODS}/${name}/binding`, binding, this.#signal)
  }

  async #tend({ metadata: { name, deletionTimestamp }, status }: Pod): Promise<void> {
    const isEnding = deletionTimestamp !== undefined
    const rounds = !isEnding && status?.phase === 'Running' ? 0 : (this.#rounds.get(name) ?? 0) + 1
    this.#rounds.set(name, rounds)
    if (rounds < ROUNDS_TO_CHANGE) return
    this.#rounds.delete(name)
    if (isEnding) {
      await this.#api.delete(`${PODS}/${name}?gracePeriodSeconds=0`, this.#signal)
      return
    }
    const conditions = [{ type: 'Ready', status: 'True' }]
    const running = { status: { phase: 'Running', conditions } }
    await this.#api.patch(`${PODS}/${name}/status`, 'strategic-merge', running, this.#signal)
  }
}
