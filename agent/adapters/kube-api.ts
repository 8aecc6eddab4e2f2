// SPDX-License-Identifier: Apache-2.0
import { withTimeout, type Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { NodeView } from '../../core/node.js'
import type { Random } from '../../core/random.js'
import type { Credentials } from '../../kube/client/credentials.js'
import { eventBody, EVENTS, type EventFacts } from '../../kube/client/event-body.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { WatchOptions } from '../../kube/client/watch-options.js'
import { microTime } from '../../kube/client/micro-time.js'
import type { ListFrom } from '../../kube/client/list-pages.js'
import type { ListRequest, ObjectPage, ResourceClient } from '../../kube/client/resource-client.js'
import { statusOf, type ObjectName, type ResourceType } from '../../kube/client/resource.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import type { KubePatch, WriteGuard } from '../../kube/client/write.js'
import {
  WRITER,
  type AgentLease,
  type DataView,
  type KubeApi,
  type LeaseView,
  type MemberList,
  type MemberView,
  type NodeEvent,
  type NodeNotes,
  type TriedPart,
  type NotesList,
  type WatchedMembers,
} from '../ports/kube-api.js'
import { hostnames } from '../node-selector.js'
import { parseConfigMap, parseSecret } from './data-view.js'
import { afterRefusal, type Patched } from './first-stamp.js'
import { parseLease } from './lease-view.js'
import { parseMember, parseNodeNotes, parseNodeView } from './node-view.js'

/** What the adapter needs of the world. */
export interface KubeSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Limits of the adapter. */
export interface KubeOptions {
  /**
   * For each call except watches, in milliseconds, its answer included.
   * @default 15_000
   */
  readonly callMs?: number
  /** Of every watch. */
  readonly watch?: WatchOptions
}

const CORE = { group: '', version: 'v1' } as const
const OF_NODES = { ...CORE, resource: 'nodes', kind: 'Node' } as const
const NODES: ResourceType<NodeView> = { ...OF_NODES, parse: parseNodeView }
const MEMBERS: ResourceType<MemberView> = {
  ...OF_NODES,
  isTable: true,
  parse: parseMember,
}
const NODE_NOTES: ResourceType<NodeNotes> = {
  ...OF_NODES,
  isMetadataOnly: true,
  userAgent: `${WRITER}-identities`,
  parse: parseNodeNotes,
}
const CONFIG_MAPS: ResourceType<DataView> = {
  ...CORE,
  resource: 'configmaps',
  parse: parseConfigMap,
}
const SECRETS: ResourceType<DataView> = { ...CORE, resource: 'secrets', parse: parseSecret }
const LEASES: ResourceType<LeaseView> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  resource: 'leases',
  parse: parseLease,
}
/** Metadata of 64 Nodes is some hundred kB. */
const MOST_NOTES_BYTES = 4 << 20
/** The longest time for one list: any usable link is faster. */
const LIST_MS = 120_000
const LEASE_NAMESPACE = 'kube-node-lease'
const TRIED: Readonly<
  Record<TriedPart, { readonly type: ResourceType<unknown>; readonly namespace?: string }>
> = {
  node: { type: NODES },
  status: { type: statusOf(NODES) },
  lease: { type: LEASES, namespace: LEASE_NAMESPACE },
}
/**
 * Most watches are of one object that hardly ever changes: listing it again costs less than a bookmark each minute. Each
 * watch that is resumed costs a token. After an outage all agents come back, spread over some seconds.
 */
const WATCH = { bookmarks: false, fromCache: true, watchMs: 7_200_000, spreadMs: 10_000 }

const factsOf = ({ node, nodeUid, ...event }: NodeEvent): EventFacts => ({
  ...event,
  reportingController: WRITER,
  regarding: { apiVersion: 'v1', kind: 'Node', name: node, uid: nodeUid },
})

const stateOf = (from: ListFrom): Pick<ListRequest, 'fromCache'> =>
  from === null ? {} : { fromCache: { known: from } }

interface Renewal {
  readonly spec: { readonly renewTime: string }
  readonly isDryRun: boolean
}

/** Readers know an object in a namespace by its name; a watch removes it by `namespace/name`. */
const byName = <T>(sink: WatchSink<T>): WatchSink<T> => ({
  replace: items => sink.replace(items),
  upsert: item => sink.upsert(item),
  remove: key => sink.remove(key.slice(key.indexOf('/') + 1)),
})

class ClientApi implements KubeApi {
  readonly #client: ResourceClient
  readonly #seams: KubeSeams
  readonly #credentials: Credentials

  constructor(credentials: Credentials, seams: KubeSeams, options: KubeOptions) {
    const watch = { ...WATCH, ...options.watch }
    const settings = { ...options, watch, fieldManager: WRITER }
    this.#client = makeResourceClient({ credentials, ...seams }, settings)
    this.#seams = seams
    this.#credentials = credentials
  }

  watchNode(name: string, sink: WatchSink<NodeView>): Watching {
    return this.#client.watch(NODES, { name }, sink)
  }

  watchMembers({ selector, ...which }: WatchedMembers, sink: WatchSink<MemberView>): Watching {
    return this.#client.watch(MEMBERS, { labelSelector: selector, ...which }, sink)
  }

  listMembers(selector: string, from: ListFrom, signal: AbortSignal): Promise<MemberList> {
    return this.#members({ labelSelector: selector, ...stateOf(from) }, signal)
  }

  getMember(selector: string, name: string, signal: AbortSignal): Promise<MemberList> {
    return this.#members({ labelSelector: selector, name }, signal)
  }

  async #members(which: ListRequest, signal: AbortSignal): Promise<MemberList> {
    const { items, resourceVersion } = await this.#list(MEMBERS, which, signal)
    return { members: items, version: resourceVersion }
  }

  /** Within a time limit: a body that arrives byte by byte would otherwise hold up its caller for ever. */
  #list<T>(type: ResourceType<T>, which: ListRequest, signal: AbortSignal): Promise<ObjectPage<T>> {
    return withTimeout(this.#seams.clock, LIST_MS, signal, inner =>
      this.#client.list(type, which, inner),
    )
  }

  watchConfigMap(namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#client.watch(CONFIG_MAPS, { namespace, name }, byName(sink))
  }

  watchSecret(namespace: string, name: string, sink: WatchSink<DataView>): Watching {
    return this.#client.watch(SECRETS, { namespace, name }, byName(sink))
  }

  getNode(name: string, signal: AbortSignal): Promise<NodeView> {
    return this.#client.get(NODES, { name }, signal)
  }

  async getNodeNotes(name: string, signal: AbortSignal): Promise<NodeNotes> {
    const notes = await this.#client.get(NODE_NOTES, { name }, signal)
    // The annotations of another Node would make an agent forget this one's keys.
    if (notes.name !== name)
      throw new KubeUnreachableError(`GET Node ${name}`, `the answer is about ${notes.name}`)
    return notes
  }

  async listNodeNotes(
    names: readonly string[],
    from: ListFrom,
    signal: AbortSignal,
  ): Promise<NotesList> {
    const selected = { labelSelector: hostnames('in', names), ...stateOf(from) }
    const which = { ...selected, maxBytes: MOST_NOTES_BYTES }
    const { items, resourceVersion } = await this.#list(NODE_NOTES, which, signal)
    return { nodes: items, version: resourceVersion }
  }

  patchNode(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView> {
    return this.#patch({ type: NODES, of: { name }, guard }, patch, signal)
  }

  patchNodeStatus(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView> {
    return this.#patch({ type: statusOf(NODES), of: { name }, guard }, patch, signal)
  }

  async #patch<T>(patched: Patched<T>, patch: KubePatch, signal: AbortSignal): Promise<T> {
    const { type, of, guard } = patched
    try {
      return await this.#client.patch(type, of, { patch, guard }, signal)
    } catch (error) {
      throw await afterRefusal(this.#client, patched, error, signal)
    }
  }

  async tryPatch(
    part: TriedPart,
    node: string,
    patch: KubePatch,
    signal: AbortSignal,
  ): Promise<void> {
    const { type, namespace } = TRIED[part]
    await this.#client.patch(type, { namespace, name: node }, { patch, isDryRun: true }, signal)
  }

  async tryRenewal(node: string, signal: AbortSignal): Promise<void> {
    const of = { namespace: LEASE_NAMESPACE, name: node }
    await this.#renew(of, { spec: { renewTime: this.#renewTime() }, isDryRun: true }, signal)
  }

  #renewTime(): string {
    return microTime(this.serverTime() ?? this.#seams.clock.wall())
  }

  async #renew(of: ObjectName, { spec, isDryRun }: Renewal, signal: AbortSignal): Promise<void> {
    const patch = { type: 'merge', body: { spec } } as const
    const { renewTime } = await this.#client.patch(LEASES, of, { patch, isDryRun }, signal)
    if (renewTime !== spec.renewTime)
      throw new KubeUnreachableError(`PATCH Lease ${of.name}`, 'the answer is of an earlier time')
  }

  getLease(node: string, signal: AbortSignal): Promise<LeaseView> {
    return this.#client.get(LEASES, { namespace: LEASE_NAMESPACE, name: node }, signal)
  }

  patchLease(
    node: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<LeaseView> {
    const of = { namespace: LEASE_NAMESPACE, name: node }
    return this.#patch({ type: LEASES, of, guard }, patch, signal)
  }

  async renewAgentLease(lease: AgentLease, signal: AbortSignal): Promise<void> {
    const { namespace, name, holder, durationSeconds } = lease
    const renewTime = this.#renewTime()
    const spec = { holderIdentity: holder, leaseDurationSeconds: durationSeconds, renewTime }
    try {
      await this.#renew({ namespace, name }, { spec, isDryRun: false }, signal)
    } catch (error) {
      if (!(error instanceof KubeStatusError) || error.status !== 404) throw error
      const { group, version } = LEASES
      const body = {
        ...{ apiVersion: `${group}/${version}`, kind: 'Lease' },
        ...{ metadata: { namespace, name }, spec },
      }
      await this.#client.create(LEASES, { namespace }, { body }, signal)
    }
  }

  async server(): Promise<URL> {
    return (await this.#credentials.material()).server
  }

  createEvent({ id, ...event }: NodeEvent, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#seams
    const wall = this.serverTime() ?? clock.wall()
    const body = eventBody(factsOf(event), wall, id ?? random.bits64())
    return this.#client.create(EVENTS, body.metadata, { body }, signal)
  }

  ping(signal: AbortSignal): Promise<void> {
    return this.#client.ping(signal)
  }

  reconnect(): void {
    this.#client.reconnect()
  }

  serverTime(): number | undefined {
    return this.#client.serverTime()
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}

/** The Kubernetes API over HTTP/1.1 and kept connections. Connects when it is first used. */
export const makeKubeApi = (
  credentials: Credentials,
  seams: KubeSeams,
  options: KubeOptions = {},
): KubeApi => new ClientApi(credentials, seams, options)
