// SPDX-License-Identifier: Apache-2.0
// The MetaServer of edgecore 1.23 in virtual time, between a bridge's watches and the list/watch of an agent.
import { Readable } from 'node:stream'
import { WatchDesk } from '../../../bridge/run/agents/watch-desk.js'
import type { NodeLink } from '../../../bridge/hub/node-link.js'
import { agentView, listBody } from '../../../bridge/model/application/agent-view.js'
import type { Listing, Target } from '../../../bridge/model/application/application.js'
import type { Message } from '../../../bridge/model/message/message.js'
import { objectsOf } from '../../../bridge/run/upstream/objects.js'
import { sleep } from '../../../core/clock.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { textAt, valueAt } from '../../../core/json-at.js'
import type { Random } from '../../../core/random.js'
import type { KubeClient } from '../../../kube/client/client.js'
import { jsonCodec } from '../../../kube/client/json-codec.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import type { OpenResponse } from '../../../kube/client/open-response.js'
import { StoreProgress } from '../../../kube/client/store-progress.js'
import type { Watching } from '../../../kube/client/watching.js'
import { parseLabelSelector } from '../../../kube/label-selector.js'
import { MemoryCluster } from '../../../testkit/edge/memory-cluster.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'

export const NODES = objectsOf('node')
export const MAPS = objectsOf('configmap')
export const LEASES = { ...NODES, group: 'coordination.k8s.io', resource: 'leases' }
const E1 = 'e1' as NodeName
const never = new AbortController().signal
/** As agents have it. */
const WATCH = { bookmarks: false, fromCache: true, watchMs: 7_200_000, spreadMs: 10_000 }

/** What an agent watches: Nodes by a selector, or one ConfigMap. */
export interface Which {
  readonly resource: 'configmaps' | 'nodes'
  readonly name: string
  readonly labelSelector: string
}

const keyOf = (object: JsonMap): string =>
  `${textAt(object, 'kind')} ${textAt(object, 'metadata', 'name')}`
const versionOf = (object: JsonMap): number => Number(textAt(object, 'metadata', 'resourceVersion'))
const KINDS = { configmaps: 'ConfigMap', nodes: 'Node' }

const selectsOf = ({ resource, name, labelSelector }: Which) => {
  const matches = parseLabelSelector(labelSelector)
  const isOf = (object: JsonMap): boolean =>
    textAt(object, 'kind') === KINDS[resource] &&
    (name === '' || name === textAt(object, 'metadata', 'name'))
  const isSelected = (object: JsonMap): boolean =>
    matches(
      new Map(
        Object.entries((valueAt(object, 'metadata', 'labels') ?? {}) as Record<string, string>),
      ),
    )
  return { isOf, isSelected }
}

interface Hook {
  readonly after: number
  readonly take: (type: string, object: JsonMap) => void
}

/** What an agent sees of an object. */
const seenOf = (object: JsonMap): string =>
  JSON.stringify([
    valueAt(object, 'metadata', 'labels', 'zone'),
    valueAt(object, 'spec', 'taints') ?? valueAt(object, 'data'),
  ])

/**
 * An edge with a bridge: its MetaServer, whose store is in memory, and its agents. MetaServer forgets a watch that begins
 * without the cloud, begins each watch with what it keeps, and then shows what is newer than the version after its newest.
 */
export class MetaModel {
  readonly clock = new FakeClock()
  readonly cluster = new MemoryCluster()
  readonly desk: WatchDesk
  readonly random: Random
  readonly #agents: {
    readonly which: Which
    readonly seen: Map<string, string>
    watching: Watching
  }[] = []
  acks: 'late' | 'never' | 'ok' = 'ok'
  isHeld = false
  /** How long the edge takes at most for each message, and to open a watch. */
  slowMs = 0
  #connection: { readonly link: NodeLink; isOver: boolean } | undefined
  #downAt = 0
  #takenAt = 0
  readonly #store = new Map<string, JsonMap>()
  #revision = 0
  readonly #hooks = new Set<Hook>()
  readonly #applications = new Map<string, { target: Target; listing: Listing }>()
  #ids = 0

  constructor(random: Random) {
    this.random = random
    const { clock, cluster } = this
    const log = recordingLog()
    this.desk = new WatchDesk({ client: cluster.client, clock, log, mayWatch: () => true })
  }

  get isConnected(): boolean {
    return this.#connection !== undefined
  }

  connect(): void {
    if (this.#connection !== undefined) return
    const isHeld = (): boolean => this.isHeld
    const connection = {
      isOver: false,
      link: {
        ...{ node: E1, remote: '', since: 0, isBehind: false },
        get isHeld() {
          return isHeld()
        },
        hold: () => undefined,
        release: () => undefined,
        send: (message: Message) => this.#arrives(message, connection),
      } as NodeLink,
    }
    this.#connection = connection
    this.desk.connected(connection.link)
    void this.#sync()
  }

  disconnect(): void {
    if (this.#connection === undefined) return
    this.#connection.isOver = true
    this.desk.ended(this.#connection.link)
    this.#connection = undefined
  }

  /** The edge reads a Lease, which it keeps. */
  async readLease(): Promise<void> {
    const connection = this.#connection
    const object = this.cluster.put(LEASES, { metadata: { name: 'l' } })
    await this.#down()
    if (this.#connection === connection && connection !== undefined)
      this.#keep({ ...object, kind: 'Lease' })
  }

  startAgent(which: Which): void {
    const seen = new Map<string, string>()
    const { clock, random } = this
    const path = JSON.stringify(which)
    const client = this.#client(which)
    const watching = listWatch(
      {
        what: path,
        path: '/x',
        query: {},
        codec: jsonCodec,
        parse: raw => raw as JsonMap,
        sink: {
          replace: items => {
            seen.clear()
            for (const item of items) seen.set(textAt(item, 'metadata', 'name'), seenOf(item))
          },
          upsert: item => {
            seen.set(textAt(item, 'metadata', 'name'), seenOf(item))
          },
          remove: key => {
            seen.delete(key.slice(key.indexOf('/') + 1))
          },
        },
      },
      { client, clock, random, log: recordingLog() },
      WATCH,
    )
    this.#agents.push({ which, seen, watching })
  }

  /** Another node's watch, so that the bridge knows the kind from the start. */
  watchAs(node: string, { labelSelector, ...which }: Which): void {
    const name = node as NodeName
    this.desk.connected({ node: name } as NodeLink)
    this.desk.add(name, 'w', targetOf({ labelSelector, ...which }), listingOf(labelSelector, ''))
  }

  heal(): void {
    this.isHeld = this.cluster.isHeldBack = false
    this.acks = 'ok'
    this.slowMs = 0
    this.cluster.deliver()
    this.connect()
  }

  /** @returns what differs between what agents see and what there is */
  differences(): string[] {
    return this.#agents.flatMap(({ which, seen }) => {
      const { isSelected } = selectsOf(which)
      const present = this.#present(which).filter(isSelected)
      const wanted = present.map(each => [textAt(each, 'metadata', 'name'), seenOf(each)])
      const [a, b] = [JSON.stringify([...seen].sort()), JSON.stringify(wanted.sort())]
      return a === b ? [] : [`${JSON.stringify(which)}: sees ${a}, there is ${b}`]
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.#agents.map(({ watching }) => watching.stop()))
    await this.desk.stop()
  }

  #present({ resource, name }: Which): JsonMap[] {
    const all = this.cluster.all(resource === 'nodes' ? NODES : MAPS)
    return all
      .filter(each => name === '' || each.metadata.name === name)
      .map(each => ({ ...agentView({ resource }, each, E1), kind: KINDS[resource] }))
  }

  /** A message or an answer is on its way to the edge; they keep their order. */
  async #down(): Promise<void> {
    const now = this.clock.now()
    this.#downAt = Math.max(this.#downAt, now + 5 + this.random.below(40))
    await sleep(this.clock, this.#downAt - now, never)
  }

  #arrives(message: Message, connection: { isOver: boolean; link: NodeLink }): boolean {
    if (connection.isOver) return false
    const { acks } = this
    void (async () => {
      await this.#down()
      if (connection.isOver) return
      const now = this.clock.now()
      this.#takenAt = Math.max(this.#takenAt, now + this.random.below(1 + this.slowMs))
      await sleep(this.clock, this.#takenAt - now, never)
      this.#inject(message)
      if (acks === 'never') return
      await sleep(this.clock, acks === 'late' ? 9_000 + this.random.below(12_000) : 20, never)
      this.desk.acknowledged(connection.link, { parentId: message.id } as Message)
    })()
    return true
  }

  #inject({ operation, content }: Message): void {
    const object = content as JsonMap
    const key = keyOf(object)
    if (operation === 'delete') this.#store.delete(key)
    else this.#keep(object)
    for (const { after, take } of [...this.#hooks])
      if (after < versionOf(object)) take(operation === 'delete' ? 'DELETED' : 'MODIFIED', object)
  }

  #keep(object: JsonMap): void {
    this.#store.set(keyOf(object), object)
    this.#revision = Math.max(this.#revision, versionOf(object))
  }

  async #sync(): Promise<void> {
    const connection = this.#connection
    await sleep(this.clock, 5 + this.random.below(40), never)
    if (this.#connection !== connection || connection === undefined) return
    const all = [...this.#applications]
    this.desk.keepOnly(E1, new Set(all.map(([id]) => id)))
    for (const [id, { target, listing }] of all) {
      await sleep(this.clock, 5, never)
      if (this.#connection === connection) this.desk.add(E1, id, target, listing)
    }
  }

  /** The cloud's answer; undefined without one. */
  async #asked<T>(work: () => Promise<T> | T): Promise<T | undefined> {
    const connection = this.#connection
    if (connection === undefined) return undefined
    await sleep(this.clock, 5 + this.random.below(40), never)
    if (!connection.isOver) {
      const answer = await work()
      await this.#down()
      if (this.#connection === connection) return answer
    }
    await sleep(this.clock, 10_000, never)
    return undefined
  }

  async #list(which: Which): Promise<JsonMap> {
    const { isOf, isSelected } = selectsOf(which)
    const target = targetOf(which)
    const answer = await this.#asked(async () => {
      const { resourceVersion } = await this.cluster.client.list(LEASES, {}, never)
      const items = this.#present(which).filter(isSelected)
      return listBody(target, items, { resourceVersion, next: '' })
    })
    if (answer !== undefined) return answer
    const items = [...this.#store.values()].filter(each => isOf(each) && isSelected(each))
    return { kind: `${KINDS[which.resource]}List`, items }
  }

  /** Tell the cloud of a watch. @returns its id; undefined where the cloud does not know it */
  async #apply(which: Which, since: string): Promise<string | undefined> {
    if (!this.isConnected) return undefined
    const id = `w${++this.#ids}`
    const [target, listing] = [targetOf(which), listingOf(which.labelSelector, since)]
    this.#applications.set(id, { target, listing })
    const answer = await this.#asked(() => ({ refusal: this.desk.add(E1, id, target, listing) }))
    if (answer !== undefined && answer.refusal === undefined) return id
    this.clock.after(300_000, () => this.#applications.delete(id))
    return undefined
  }

  async #watch(which: Which, since: string): Promise<OpenResponse> {
    const { isOf, isSelected } = selectsOf(which)
    const id = await this.#apply(which, since)
    await sleep(this.clock, 1 + this.random.below(1 + this.slowMs), never)
    const body = new Readable({ read: () => undefined })
    body.on('error', () => undefined)
    const added = new Set<string>()
    const take = (type: string, object: JsonMap): void => {
      const key = keyOf(object)
      if (!isOf(object) || body.destroyed) return
      const isAdded = added.has(key)
      const isMatched = isSelected(object)
      if (!isAdded && !isMatched) return
      const told = !isMatched ? 'DELETED' : !isAdded && type === 'MODIFIED' ? 'ADDED' : type
      if (told === 'DELETED') added.delete(key)
      else added.add(key)
      body.push(`${JSON.stringify({ type: told, object })}\n`)
    }
    for (const object of this.#store.values()) take('ADDED', object)
    const hook = { after: this.#revision + 1, take }
    this.#hooks.add(hook)
    const end = (): void => {
      if (!this.#hooks.delete(hook) || id === undefined) return
      this.#applications.delete(id)
      if (this.isConnected) void this.#sync()
    }
    return {
      ...{ status: 200, phrase: '', headers: { 'content-type': 'application/json' } },
      ...{ socket: undefined as never, received: { bytesRead: 0 }, body },
      destroy: error => void body.destroy(error),
      end: async () => {
        body.destroy()
        end()
      },
    }
  }

  #client(which: Which): KubeClient {
    const client = {
      progress: new StoreProgress(),
      serverTime: () => undefined,
      body: async () => ({ type: '', bytes: Buffer.from(JSON.stringify(await this.#list(which))) }),
      open: async ({ path }: { readonly path: string }, _ms: number, signal: AbortSignal) => {
        const answer = await this.#watch(which, sinceOf(path))
        signal.addEventListener('abort', () => answer.destroy(new Error('stopped')))
        if (signal.aborted) answer.destroy(new Error('stopped'))
        return answer
      },
    }
    return client as unknown as KubeClient
  }
}

const sinceOf = (path: string): string =>
  new URL(path, 'http://edge').searchParams.get('resourceVersion') ?? ''

const listingOf = (labelSelector: string, resourceVersion: string): Listing => ({
  ...{ labelSelector, resourceVersion, fieldSelector: '', limit: 0, next: '' },
})

const targetOf = ({ resource, name }: Which): Target => ({
  ...{ group: '', version: 'v1', resource, name },
  namespace: resource === 'nodes' ? '' : 'edge-system',
})
