// SPDX-License-Identifier: Apache-2.0
import type { Test } from 'tap'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import { frameOf } from '../../../bridge/model/message/frame.js'
import type { Message } from '../../../bridge/model/message/message.js'
import { parseMessage } from '../../../bridge/model/message/parse.js'
import {
  answerReply,
  errorReply,
  membershipReply,
  objectReply,
  okReply,
} from '../../../bridge/model/message/reply.js'
import type { Resource } from '../../../bridge/model/resource/resource.js'
import { routeUpstream } from '../../../bridge/model/route/upstream.js'
import { LocationCache } from '../../../bridge/model/location/location-cache.js'
import { objectsOf } from '../../../bridge/run/upstream/objects.js'
import {
  makeDownstream,
  type DownstreamOptions,
} from '../../../bridge/run/downstream/downstream.js'
import type { Downstream } from '../../../bridge/run/ports.js'
import type { RecordStore } from '../../../bridge/run/recorder/record-disk.js'
import { parseNodeName, type NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { EdgeTimes } from '../../../testkit/edge/edge-part.js'
import { Edge } from '../../../testkit/edge/edge.js'
import { MemoryCluster, type Body } from '../../../testkit/edge/memory-cluster.js'
import { dialMemory, type CloudEnd } from '../../../testkit/edge/memory-link.js'
import { memoryStore, type EdgeStore } from '../../../testkit/edge/store.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

export const NODES = objectsOf('node')
export const PODS = objectsOf('pod')
export const MAPS = objectsOf('configmap')
export const LEASES = objectsOf('lease')

/** A folder in memory, which outlives the bridge. */
export class MemoryDisk implements RecordStore {
  readonly files = new Map<string, string>()
  isFailing = false
  /** Writes so far, of whatever. */
  writes = 0

  async writer(fresh: string): Promise<string> {
    const known = this.files.get('writer') ?? fresh
    this.files.set('writer', known)
    return known
  }

  async read(node: NodeName): Promise<string | undefined> {
    return this.files.get(node)
  }

  async remove(node: NodeName): Promise<void> {
    this.files.delete(node)
  }

  async write(node: NodeName, text: string): Promise<boolean> {
    this.writes++
    if (!this.isFailing) this.files.set(node, text)
    return !this.isFailing
  }
}

/** A pod that is bound to a node and refers to a ConfigMap of its own namespace where one is named. */
export const podBody = (name: string, node: string, more: JsonMap = {}): Body => {
  const { map, ...spec } = more
  const volumes = map === undefined ? [] : [{ name: 'v', configMap: { name: map } }]
  return {
    metadata: { name, namespace: 'till', managedFields: [{ manager: 'm' }] },
    spec: { nodeName: node, containers: [{ name: 'c', image: 'i:1' }], volumes, ...spec },
    status: { phase: 'Pending' },
  }
}

export const mapBody = (name: string, value: string): Body => ({
  metadata: { name, namespace: 'till' },
  data: { key: value },
})

export const nodeBody = (name: string, more: JsonMap = {}): Body => ({
  metadata: { name, labels: { 'node-role.kubernetes.io/edge': '' } },
  spec: {},
  status: {},
  ...more,
})

/** The bridge's half that tells, on a cluster in memory. One that is made with the same cluster and disk is a restart. */
export interface Bridge {
  readonly downstream: Downstream
  readonly locations: LocationCache
  readonly log: ReturnType<typeof recordingLog>
  /** Connections that are open. */
  readonly links: ReadonlyMap<string, NodeLink>
  /** Messages that were sent to a node, with those that were lost. */
  readonly sent: readonly { readonly node: string; readonly message: Message }[]
  /** What becomes of a message on its way to an edge; true: it arrives. */
  arrives: (message: Message) => boolean
  /** What becomes of an edge's acknowledgement. */
  isAckHeard: (message: Message) => boolean
  cut(node: string): void
  /** The process ends; gracefully, or at once. */
  stop(isGraceful?: boolean): Promise<void>
}

export interface StageOptions extends Partial<Omit<DownstreamOptions, 'disk'>> {
  readonly disk?: RecordStore
}

const stampOf = (clock: FakeClock, id: string) => ({ id, at: clock.wall() })

/** A world of edges, bridges and one cluster in virtual time. */
export class Stage {
  readonly clock = new FakeClock()
  readonly cluster = new MemoryCluster()
  readonly #edges = new Map<string, { edge: Edge; ended: Promise<void>; store: EdgeStore }>()
  bridge: Bridge | undefined
  #count = 0

  constructor(t: Test) {
    this.cluster.wall = () => this.clock.wall()
    t.teardown(async () => {
      for (const { edge } of this.#edges.values()) edge.kill()
      await this.bridge?.stop(false)
      await this.clock.advance(60_000)
    })
  }

  /** Start a bridge in the place of the one that was. */
  async start(options: StageOptions = {}): Promise<Bridge> {
    const { clock } = this
    const { disk = new MemoryDisk(), ...more } = options
    const locations = new LocationCache()
    const log = recordingLog()
    const { client } = this.cluster
    const term = new AbortController()
    let isOver = false
    const guard = (): string | undefined => (isOver ? 'another bridge leads' : undefined)
    // A process that is killed writes nothing any more.
    const kept: RecordStore = {
      get isFailing() {
        return disk.isFailing
      },
      read: node => disk.read(node),
      remove: node => (isOver ? Promise.resolve() : disk.remove(node)),
      writer: fresh => disk.writer(fresh),
      write: (node, text) => (isOver ? Promise.resolve(false) : disk.write(node, text)),
    }
    const downstream = makeDownstream(
      {
        ...{ namespace: 'edge-system', vouch: 'off', disk: kept },
        ...{ adoptsObjectSyncs: false, writesObjectSyncs: false, ...more },
      },
      { client, clock, random: seededRandom(++this.#count), log, guard, locations },
    )
    for (const informer of Object.values(downstream.informers)) informer.start()
    for (const informer of Object.values(downstream.informers)) await informer.synced
    const leading = downstream.lead(term.signal)
    const links = new Map<string, NodeLink>()
    const sent: { node: string; message: Message }[] = []
    this.bridge = {
      ...{ downstream, locations, log, links, sent },
      arrives: () => true,
      isAckHeard: () => true,
      cut: node => this.#cut(node),
      stop: async (isGraceful = true) => {
        isOver ||= !isGraceful
        for (const node of [...links.keys()]) this.#cut(node, 'the bridge is leaving')
        term.abort()
        this.bridge = undefined
        const ended = new AbortController()
        void leading.then(() => ended.abort())
        while (!ended.signal.aborted) await clock.advance(100)
        await Promise.all(Object.values(downstream.informers).map(one => one.stop()))
      },
    }
    return this.bridge
  }

  /** Start an edge, with what it kept. */
  edge(node: string, store = memoryStore(), times: Partial<EdgeTimes> = {}): Edge {
    const edge = new Edge(
      { node, times },
      {
        ...{ clock: this.clock, random: seededRandom(7), store },
        dial: dialMemory({
          accept: end => this.#accept(node, end),
          received: (end, text) => this.#received(node, end, text),
        }),
      },
    )
    this.#edges.set(node, { edge, ended: edge.run(), store })
    return edge
  }

  /** What an edge keeps of a type: name → object. */
  kept(node: string, type: string): ReadonlyMap<string, JsonMap> {
    const { store } = this.#edges.get(node)!
    return new Map(
      store.entries.flatMap(([resource, value]) => {
        const [, of, name = ''] = resource.split('/')
        return of === type && isMap(value) ? [[name, value] as const] : []
      }),
    )
  }

  store(node: string): EdgeStore {
    return this.#edges.get(node)!.store
  }

  kill(node: string): void {
    this.#edges.get(node)!.edge.kill()
  }

  /** What was sent to a node about an object, without resends that were asked for. */
  sentTo(node: string, resource: string): readonly Message[] {
    return this.bridge!.sent.flatMap(one =>
      one.node === node && one.message.resource === resource ? [one.message] : [],
    )
  }

  readonly #ends = new Map<string, CloudEnd>()

  #accept(node: string, end: CloudEnd): string | undefined {
    const { bridge } = this
    if (bridge === undefined) return 'connection refused'
    this.#cut(node, 'another connection of the node')
    const { clock } = this
    const link: NodeLink = {
      ...{ node: parseNodeName(node), remote: '10.0.0.1', since: clock.now() },
      ...{ isBehind: false, isHeld: false },
      hold: () => undefined,
      release: () => undefined,
      send: (message, onLeft) => {
        if (bridge.links.get(node) !== link) return false
        const list = bridge.sent as { node: string; message: Message }[]
        list.push({ node, message })
        if (bridge.arrives(message)) end.send(frameOf(message))
        onLeft?.()
        return true
      },
    }
    this.#ends.set(node, end)
    const links = bridge.links as Map<string, NodeLink>
    links.set(node, link)
    bridge.downstream.connected(link)
    return undefined
  }

  #cut(
    node: string,
    why:
      | 'connection broke'
      | 'another connection of the node'
      | 'the bridge is leaving' = 'connection broke',
  ): void {
    const { bridge } = this
    const link = bridge?.links.get(node)
    if (bridge === undefined || link === undefined) return
    const links = bridge.links as Map<string, NodeLink>
    links.delete(node)
    this.#ends.get(node)?.end(why)
    bridge.downstream.ended(link, why)
  }

  #received(node: string, end: CloudEnd, text: string): void {
    const { bridge } = this
    const link = bridge?.links.get(node)
    if (bridge === undefined || link === undefined || this.#ends.get(node) !== end) return
    const message = parseMessage(text)
    const what = routeUpstream(message, parseNodeName(node))
    if (what.kind === 'ack' || what.kind === 'failed') {
      if (bridge.isAckHeard(message)) bridge.downstream.acknowledged(link, message)
    } else if (what.kind === 'request') {
      const answer = this.#answer(message, what.resource)
      if (answer !== undefined) link.send(answer)
    } else if (what.kind === 'special')
      link.send(membershipReply(message, stampOf(this.clock, `r${++this.#count}`)))
  }

  /** As a good cloud does. */
  #answer(message: Message, resource: Resource): Message | undefined {
    const stamp = stampOf(this.clock, `r${++this.#count}`)
    const { type, namespace, name } = resource
    const refusal = { status: 404, reason: 'NotFound', message: `${type} ${name} not found` }
    const content = (isMap(message.content) ? message.content : {}) as Body
    if (type === 'configmap' || type === 'secret') {
      const object = this.cluster.get(objectsOf(type), { namespace, name })
      if (object === undefined) return errorReply(message, stamp, refusal.message)
      this.bridge!.downstream.answering(resource, object)
      return objectReply(message, stamp, object)
    }
    if (type === 'podpatch') return this.#patchPod(message, resource, stamp)
    if (type === 'pod') {
      this.cluster.delete(PODS, { namespace, name })
      return okReply(message, stamp)
    }
    if (type === 'nodepatch') return answerReply(message, stamp, { object: {} })
    if (type === 'node') {
      const known = this.cluster.get(NODES, { name })
      return answerReply(message, stamp, { object: known ?? this.cluster.put(NODES, content) })
    }
    const of = { namespace, name }
    const isQuery = message.operation === 'query'
    const lease = isQuery ? this.cluster.get(LEASES, of) : this.cluster.put(LEASES, content)
    return answerReply(message, stamp, lease === undefined ? { refusal } : { object: lease })
  }

  #patchPod(message: Message, resource: Resource, stamp: { id: string; at: number }): Message {
    const { namespace, name } = resource
    const pod = this.cluster.get(PODS, { namespace, name })
    const { metadata, status } = JSON.parse(String(message.content)) as {
      metadata: { uid: string }
      status: JsonMap
    }
    const refusal = { status: 404, reason: 'NotFound', message: `pods ${name} not found` }
    if (pod === undefined) {
      this.bridge!.downstream.podUnknown(resource, metadata.uid)
      return answerReply(message, stamp, { refusal })
    }
    const before = isMap(pod['status']) ? pod['status'] : {}
    const object = this.cluster.put(PODS, { ...pod, status: { ...before, ...status } })
    return answerReply(message, stamp, { object })
  }
}
