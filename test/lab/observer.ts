// SPDX-License-Identifier: Apache-2.0
// Looks at the zone from outside of it: the agents' pages over a link of its own, the cluster through watches as the
// administrator, the writes through the audit log.
import { setMaxListeners } from 'node:events'
import { systemClock } from '../../core/clock.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import type { ApiClient, Json } from '../../sandbox/api-client.js'
import { readLocalInfo, readStatus } from '../../sandbox/agent-view.js'
import type { NodeSnapshot } from '../../sandbox/demo/snapshot.js'
import { type NodeObject, NODES, readyOf, taintsOf } from '../../sandbox/node-object.js'
import { type Asked, AuditLog, WriteTallies } from './audit.js'
import type { LabNode } from './lab-node.js'

/** How one node is, at one look. */
export interface NodeState {
  /** What was done to it. */
  readonly done: 'running' | 'killed' | 'frozen'
  /** How many of the other agents that answer call it down, and how many answer. */
  readonly down: number
  readonly of: number
  readonly ready: string
  /** `nodeunhealth: "yes"`. */
  readonly marked: boolean
  /** Our own taint of a node that is vouched for. */
  readonly vouched: boolean
  /** The control plane's taint that evicts. */
  readonly unreachable: boolean
  /** Its Pod of the service: there, with a ready endpoint; there without; or gone. */
  readonly pod: 'ready' | 'unready' | 'gone'
}

/** The zone at one look. */
export interface View {
  readonly nodes: readonly NodeSnapshot[]
  readonly states: ReadonlyMap<string, NodeState>
}

interface NamedObject extends Json {
  readonly metadata: { readonly name: string }
}

interface PodObject extends Json {
  readonly metadata: { readonly name: string; readonly deletionTimestamp?: string }
}

interface SliceObject extends Json {
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> }
  readonly endpoints?:
    | readonly { readonly nodeName?: string; readonly conditions?: { readonly ready?: boolean } }[]
    | null
}

const PODS = '/api/v1/namespaces/default/pods'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'

const STATUS_PER_LOOK = 2

/** Keeps the objects of one namespace by name. */
const mapSink = <T extends NamedObject>(map: Map<string, T>): WatchSink<Json> => ({
  replace: items => {
    map.clear()
    for (const item of items) map.set((item as T).metadata.name, item as T)
  },
  upsert: item => map.set((item as T).metadata.name, item as T),
  remove: key => map.delete(key.split('/').pop()!),
})

export class Observer {
  readonly nodes = new Map<string, NodeObject>()
  readonly #pods = new Map<string, PodObject>()
  readonly #slices = new Map<string, SliceObject>()
  readonly #zone: readonly LabNode[]
  readonly #audit: AuditLog
  readonly #stopping = new AbortController()
  readonly #statuses = new Map<string, NodeSnapshot['status']>()
  readonly #watches: readonly Watching[]
  /** All that the agents asked of the apiserver, but for reads that it answered. */
  readonly asked: Asked[] = []
  /** Writes while cells are played. */
  readonly tallies = new WriteTallies()
  /** Epoch ms from which on a cell is played, and the apiserver knows its rules. */
  warmSince = Infinity
  /** Called at every change of a Node. */
  onNode: (now: NodeObject, before: NodeObject | undefined) => void = () => undefined
  #turn = 0

  constructor(zone: readonly LabNode[], api: ApiClient, auditLog: string) {
    this.#zone = zone
    this.#audit = new AuditLog(auditLog)
    // One listener per node that is asked.
    setMaxListeners(0, this.#stopping.signal)
    this.#watches = [
      api.follow(NODES, {
        replace: items => this.#replaceNodes(items as readonly NodeObject[]),
        upsert: item => this.#nodeChanged(item as NodeObject),
        remove: name => this.nodes.delete(name),
      }),
      api.follow(PODS, mapSink(this.#pods)),
      api.follow(SLICES, mapSink(this.#slices)),
    ]
  }

  async look(): Promise<View> {
    const live = this.#zone.filter(node => node.state === 'running')
    const asked = new Set<LabNode>()
    for (let i = 0; i < Math.min(STATUS_PER_LOOK, live.length); i++)
      asked.add(live[this.#turn++ % live.length]!)
    const nodes = await Promise.all(this.#zone.map(node => this.#lookAt(node, asked.has(node))))
    await this.readAudit()
    const states = new Map(nodes.map(node => [node.name, this.#stateOf(node, nodes)]))
    return { nodes, states }
  }

  /** What the audit log says since the last call. */
  async readAudit(): Promise<void> {
    for (const one of await this.#audit.next()) {
      if (one.code >= 400 || !/^(get|list|watch)$/.test(one.verb)) this.asked.push(one)
      if (one.wall >= this.warmSince && !this.isFaultOfOther(one)) this.tallies.add(one)
    }
  }

  /** Another version asked for what no apiserver has. That shows a fault which it has, and nothing of rights. */
  isFaultOfOther({ by, code }: Asked): boolean {
    return code === 405 && this.#zone.some(node => node.name === by && node.isOther)
  }

  /** The nodes on which this service has ready endpoints. */
  readyOn(service: string): readonly string[] {
    return [...this.#slices.values()]
      .filter(slice => slice.metadata.labels?.['kubernetes.io/service-name'] === service)
      .flatMap(slice => slice.endpoints ?? [])
      .filter(endpoint => endpoint.conditions?.ready === true)
      .map(endpoint => endpoint.nodeName ?? '')
  }

  /** What all agents that run say at this moment. */
  askStatuses(): Promise<readonly NodeSnapshot['status'][]> {
    const live = this.#zone.filter(node => node.state === 'running')
    return Promise.all(
      live.map(node => readStatus(node.localUrl, systemClock, this.#stopping.signal)),
    )
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#watches.map(watch => watch.stop()))
    await this.#audit.close()
  }

  async #lookAt(node: LabNode, isAsked: boolean): Promise<NodeSnapshot> {
    const { signal } = this.#stopping
    const isLive = node.state === 'running'
    const [localinfo, status] = await Promise.all([
      isLive ? readLocalInfo(node.localUrl, systemClock, signal) : undefined,
      isLive && isAsked
        ? readStatus(node.localUrl, systemClock, signal)
        : this.#statuses.get(node.name),
    ])
    this.#statuses.set(node.name, isLive ? status : undefined)
    const { name, state, isCut } = node
    return { name, state, isCut, object: this.nodes.get(name), localinfo, status }
  }

  #stateOf({ name, state, object }: NodeSnapshot, nodes: readonly NodeSnapshot[]): NodeState {
    const others = nodes.filter(each => each.name !== name && each.localinfo !== undefined)
    const taints = object === undefined ? [] : taintsOf(object)
    const has = (key: string, effect: string): boolean =>
      taints.some(taint => taint.key === key && taint.effect === effect)
    return {
      done: state,
      down: others.filter(each => each.localinfo?.get(name) === false).length,
      of: others.length,
      ready: (object === undefined ? undefined : readyOf(object)?.status) ?? 'none',
      marked: object?.metadata.annotations?.['nodeunhealth'] === 'yes',
      vouched: has('edge-health/cloud-link-cut', 'NoSchedule'),
      unreachable: has('node.kubernetes.io/unreachable', 'NoExecute'),
      pod: this.podOn(name),
    }
  }

  /** The service's Pod on a node. */
  podOn(node: string): NodeState['pod'] {
    const pod = this.#pods.get(`shop-${node}`)
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return 'gone'
    return this.readyOn('shop').includes(node) ? 'ready' : 'unready'
  }

  #replaceNodes(nodes: readonly NodeObject[]): void {
    const names = new Set(nodes.map(node => node.metadata.name))
    for (const name of this.nodes.keys()) if (!names.has(name)) this.nodes.delete(name)
    for (const node of nodes) this.#nodeChanged(node)
  }

  #nodeChanged(node: NodeObject): void {
    const { name } = node.metadata
    const before = this.nodes.get(name)
    this.nodes.set(name, node)
    this.onNode(node, before)
  }
}
