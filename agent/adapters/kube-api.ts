// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import {
  InvalidInputError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
} from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { NodeView } from '../../core/node.js'
import type { Random } from '../../core/random.js'
import {
  WRITER,
  type DataView,
  type KubeApi,
  type LeaseView,
  type NodeEvent,
} from '../ports/kube-api.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import type { KubePatch, WriteGuard } from '../../kube/client/write.js'
import { KubeClient } from '../../kube/client/client.js'
import type { Credentials } from '../../kube/client/credentials.js'
import { parseConfigMap, parseSecret } from './data-view.js'
import { parseLease } from './lease-view.js'
import { jsonCodec } from '../../kube/client/json-codec.js'
import { listWatch, type WatchOptions } from '../../kube/client/list-watch.js'
import { pathOf } from '../../kube/client/list-pages.js'
import { parseNodeView } from './node-view.js'
import type { WatchSpec } from '../../kube/client/receiver.js'

/** What the adapter needs of the world. */
export interface KubeSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Limits of the adapter. */
export interface KubeOptions {
  /**
   * For each call that is no watch, in milliseconds, its answer included.
   * @default 15_000
   */
  readonly callMs?: number
  /** Of every watch. */
  readonly watch?: WatchOptions
}

const NODES = '/api/v1/nodes'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
/** An object in etcd is at most 1.5 MiB; JSON is larger than protobuf. */
const MAX_OBJECT_BYTES = 8 * 1024 * 1024
const MAX_NOTE_BYTES = 1024
/** A kubelet's Node is 10 kB and more, and a page is held whole: with 500 an agent of 1000 nodes peaks some 10 MiB higher. */
const PAGE_SIZE = 200

const PATCH_TYPES: Readonly<Record<KubePatch['type'], string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  'strategic-merge': 'application/strategic-merge-patch+json',
}

/** A name as a part of a path: what is no name must not become another path. */
const segment = (name: string): string => encodeURIComponent(name)

/** Cut to the API's limit, which counts bytes; never inside a character. */
const cutNote = (note: string): string => {
  const bytes = Buffer.from(note)
  if (bytes.length <= MAX_NOTE_BYTES) return note
  let end = MAX_NOTE_BYTES - Buffer.byteLength('…')
  while ((bytes[end]! & 0xc0) === 0x80) end--
  return `${bytes.subarray(0, end).toString('utf8')}…`
}

/** As client-go makes them: the object's name and something unique. The API takes no `generateName` that ends in a dot. */
const eventName = (node: string, unique: bigint): string =>
  `${node.slice(0, 236).replace(/[.-]+$/, '')}.${unique.toString(16).padStart(16, '0')}`

const eventBody = (event: NodeEvent, wall: number, unique: bigint): unknown => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: eventName(event.node, unique), namespace: 'default' },
  // A MicroTime: six digits.
  eventTime: new Date(wall).toISOString().replace('Z', '000Z'),
  reportingController: WRITER,
  reportingInstance: event.reportingInstance.slice(0, 128),
  action: event.action,
  reason: event.reason,
  type: event.type,
  regarding: { apiVersion: 'v1', kind: 'Node', name: event.node, uid: event.nodeUid },
  note: cutNote(event.note),
})

class ClientApi implements KubeApi {
  readonly #client: KubeClient
  readonly #seams: KubeSeams
  readonly #options: KubeOptions
  readonly #watches = new Set<Watching>()

  constructor(credentials: Credentials, seams: KubeSeams, options: KubeOptions) {
    this.#client = new KubeClient(credentials, seams.clock)
    this.#seams = seams
    this.#options = options
  }

  watchNodes(pick: { selector: string } | { name: string }, sink: WatchSink<NodeView>): Watching {
    const byName = 'name' in pick
    const query: Record<string, string> = byName
      ? { fieldSelector: `metadata.name=${pick.name}` }
      : pick.selector === ''
        ? {}
        : { labelSelector: pick.selector }
    const what = byName ? `node ${pick.name}` : 'nodes'
    return this.#watch({ what, path: NODES, query, parse: parseNodeView, sink })
  }

  watchConfigMap(namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#watch({
      what: `ConfigMap ${namespace}/${name}`,
      path: `/api/v1/namespaces/${segment(namespace)}/configmaps`,
      // By name, so that a Role with resourceNames is enough.
      query: { fieldSelector: `metadata.name=${name}` },
      parse: parseConfigMap,
      sink,
    })
  }

  watchSecret(namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#watch({
      what: `Secret ${namespace}/${name}`,
      path: `/api/v1/namespaces/${segment(namespace)}/secrets`,
      query: { fieldSelector: `metadata.name=${name}` },
      parse: parseSecret,
      sink,
    })
  }

  getNode(name: string, signal: AbortSignal): Promise<NodeView> {
    return this.#get(`${NODES}/${segment(name)}`, parseNodeView, signal)
  }

  patchNode(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView> {
    return this.#patch({ path: `${NODES}/${segment(name)}`, patch, guard }, parseNodeView, signal)
  }

  patchNodeStatus(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView> {
    return this.#patch(
      { path: `${NODES}/${segment(name)}/status`, patch, guard },
      parseNodeView,
      signal,
    )
  }

  getLease(node: string, signal: AbortSignal): Promise<LeaseView> {
    return this.#get(`${LEASES}/${segment(node)}`, parseLease, signal)
  }

  patchLease(
    node: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<LeaseView> {
    return this.#patch({ path: `${LEASES}/${segment(node)}`, patch, guard }, parseLease, signal)
  }

  async createEvent(event: NodeEvent, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#seams
    const wall = this.serverTime() ?? clock.wall()
    const text = JSON.stringify(eventBody(event, wall, random.bits64()))
    const body = { type: 'application/json', text }
    await this.#client.json({ method: 'POST', path: EVENTS, body }, this.#limits, signal)
  }

  async ping(signal: AbortSignal): Promise<void> {
    const call = { method: 'GET', path: '/livez' } as const
    const status = await this.#client.status(call, this.#limits.timeoutMs, signal)
    if (status >= 500)
      throw new KubeStatusError('GET /livez', { status, reason: '', message: 'not alive' })
  }

  serverTime(): number | undefined {
    return this.#client.serverTime()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watches].map(watching => watching.stop()))
    await this.#client.close()
  }

  get #limits(): { timeoutMs: number; maxBytes: number } {
    return { timeoutMs: this.#options.callMs ?? 15_000, maxBytes: MAX_OBJECT_BYTES }
  }

  #watch<T>(asked: Omit<WatchSpec<T>, 'codec'>): Watching {
    const spec = { ...asked, codec: jsonCodec }
    const seams = { client: this.#client, ...this.#seams }
    const watching = listWatch(spec, seams, { pageSize: PAGE_SIZE, ...this.#options.watch })
    this.#watches.add(watching)
    return {
      get status() {
        return watching.status
      },
      stop: () => {
        this.#watches.delete(watching)
        return watching.stop()
      },
    }
  }

  async #get<T>(path: string, parse: (raw: unknown) => T, signal: AbortSignal): Promise<T> {
    const raw = await this.#client.json({ method: 'GET', path }, this.#limits, signal)
    return parsed(`GET ${path}`, raw, parse)
  }

  async #patch<T>(
    write: {
      readonly path: string
      readonly patch: KubePatch
      readonly guard?: WriteGuard | undefined
    },
    parse: (raw: unknown) => T,
    signal: AbortSignal,
  ): Promise<T> {
    const { path, patch, guard } = write
    const text = JSON.stringify(patch.type === 'json' ? patch.operations : patch.body)
    const call = {
      method: 'PATCH',
      path: pathOf(path, { fieldManager: WRITER }),
      body: { type: PATCH_TYPES[patch.type], text },
      guard,
    } as const
    return parsed(`PATCH ${path}`, await this.#client.json(call, this.#limits, signal), parse)
  }
}

/** An answer that is not what the API promises is no answer: something else sits at that address. */
const parsed = <T>(request: string, raw: unknown, parse: (raw: unknown) => T): T => {
  try {
    return parse(raw)
  } catch (cause) {
    if (!(cause instanceof InvalidInputError)) throw cause
    throw new KubeUnreachableError(request, reasonOf(cause), { cause })
  }
}

/** The Kubernetes API over HTTP/1.1 and kept connections. Connects when it is first used. */
export const makeKubeApi = (
  credentials: Credentials,
  seams: KubeSeams,
  options: KubeOptions = {},
): KubeApi => new ClientApi(credentials, seams, options)
