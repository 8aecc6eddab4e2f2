// SPDX-License-Identifier: Apache-2.0
import type { NodeName } from '../../core/ids.js'
import type { NodeView } from '../../core/node.js'
import type { KubePatch, WriteGuard } from '../../kube/client/write.js'
import type { KnownVersion } from '../../kube/client/known-version.js'
import type { ListFrom } from '../../kube/client/list-pages.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'

/** A ConfigMap or a Secret (values decoded from base64), by name. Frozen. */
export interface DataView {
  readonly name: string
  readonly resourceVersion: string
  readonly data: Readonly<Record<string, string>>
}

/** A Node as its zone needs it all the time. Frozen. */
export interface MemberView {
  readonly name: NodeName
  /** Its first InternalIP; undefined when it has none. */
  readonly address: string | undefined
}

/** Some Nodes of a list, or all of it. */
export interface MemberList {
  readonly members: readonly MemberView[]
  /** The version of the list that they are from. */
  readonly version: string
}

/** Which Nodes to watch. */
export interface WatchedMembers {
  readonly selector: string
  readonly name?: string | undefined
  /** The newest known version of Nodes: no list is older. */
  readonly known?: KnownVersion | undefined
}

/** What a Node's metadata says of it. Frozen. */
export interface NodeNotes {
  readonly name: string
  readonly uid: string
  /** Of its last write. */
  readonly resourceVersion: string
  /** Only keys that start with `edge-health/`. */
  readonly annotations: Readonly<Record<string, string>>
}

/** Metadata of some Nodes. */
export interface NotesList {
  readonly nodes: readonly NodeNotes[]
  /** The version of the list that they are from. */
  readonly version: string
}

/** A coordination.k8s.io/v1 Lease. */
export interface LeaseView {
  readonly name: string
  readonly resourceVersion: string
  readonly holderIdentity: string | undefined
  readonly renewTime: string | undefined
  readonly leaseDurationSeconds: number | undefined
  /**
   * The write that `renewTime` is from, by the apiserver's own account (`managedFields`): whether an agent made it, and
   * when, in epoch ms of the apiserver's clock, in whole seconds. Undefined where the server does not record it.
   */
  readonly renewal: { readonly isByAgent: boolean; readonly at: number } | undefined
}

/** A Lease by which an agent asks for a sign of the cloud's life. */
export interface AgentLease {
  readonly namespace: string
  readonly name: string
  /** Whose it is. */
  readonly holder: string
  readonly durationSeconds: number
}

/** Who writes for us, as `managedFields` and Events say it. SuperEdge's agents write as `edge-health`. */
export const WRITER = 'edge-health-agent'

/** Agents of earlier versions, which a zone may still have; SuperEdge's write no Leases. */
export const EARLIER_WRITER = 'edge-health'

/** An Event about a Node, in the words of events.k8s.io/v1. */
export interface NodeEvent {
  readonly node: string
  readonly nodeUid: string
  readonly type: 'Normal' | 'Warning'
  /** CamelCase, for machines: `PeersCondemned`. */
  readonly reason: string
  readonly action: string
  /** In words, at most 1024 characters. */
  readonly note: string
  readonly reportingInstance: string
  /** The same for each try to send it: a second one is then a 409. @default another one each time */
  readonly id?: bigint
}

/** What of a node is patched by a dry run: its Node, the status of that, or its Lease. */
export type TriedPart = 'node' | 'status' | 'lease'

/**
 * The Kubernetes API in the agent's words. Every call rejects with KubeStatusError (the server said no),
 * KubeUnreachableError (no answer), TimeoutError (a list that comes too slowly), CredentialsError, WithheldError (the guard
 * said no), or the signal's reason.
 */
export interface KubeApi {
  /** One Node in full, with each change: some 15 kB an event. */
  watchNode(name: string, sink: WatchSink<NodeView>): Watching
  /** Names and addresses of Nodes by label selector ('' is all), of all or of one name: half a kB an event. */
  watchMembers(which: WatchedMembers, sink: WatchSink<MemberView>): Watching
  /** All of them once, in a state that `from` allows. */
  listMembers(selector: string, from: ListFrom, signal: AbortSignal): Promise<MemberList>
  /** One of them as it is now; an empty list when there is none of that name. */
  getMember(selector: string, name: string, signal: AbortSignal): Promise<MemberList>
  watchConfigMap(namespace: string, name: string, sink: WatchSink<DataView>): Watching
  watchSecret(namespace: string, name: string, sink: WatchSink<DataView>): Watching
  getNode(name: string, signal: AbortSignal): Promise<NodeView>
  /** Its metadata alone, a few kB. */
  getNodeNotes(name: string, signal: AbortSignal): Promise<NodeNotes>
  /**
   * The metadata of those of these Nodes that are found by hostname, in a state that `from` allows.
   * @param names of nodes that a selector may name
   */
  listNodeNotes(names: readonly string[], from: ListFrom, signal: AbortSignal): Promise<NotesList>
  patchNode(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView>
  /** Patches through the status subresource; metadata may change with it, the spec may not. */
  patchNodeStatus(
    name: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<NodeView>
  /** A dry run of `patchNode`, `patchNodeStatus` or `patchLease`: the server checks it and keeps nothing. */
  tryPatch(part: TriedPart, node: string, patch: KubePatch, signal: AbortSignal): Promise<void>
  /**
   * A dry run of a renewal of the node's Lease. Also rejects with KubeUnreachableError when the answer does not have the
   * `renewTime` that was sent: a cache on the node may answer writes with the object as it kept it.
   */
  tryRenewal(node: string, signal: AbortSignal): Promise<void>
  /** The node's Lease in kube-node-lease. */
  getLease(node: string, signal: AbortSignal): Promise<LeaseView>
  patchLease(
    node: string,
    patch: KubePatch,
    signal: AbortSignal,
    guard?: WriteGuard,
  ): Promise<LeaseView>
  /**
   * Renew a Lease of the agent's own, in a namespace of its own, made where there is none. Through KubeEdge's MetaServer
   * only a write reaches the cloud; reads are answered from its cache. Rejects as `tryRenewal` does.
   */
  renewAgentLease(of: AgentLease, signal: AbortSignal): Promise<void>
  /** Where requests go. Rejects with CredentialsError. */
  server(): Promise<URL>
  createEvent(event: NodeEvent, signal: AbortSignal): Promise<void>
  /**
   * One small round trip that only a living apiserver answers: `/livez` is `ok`, or refused with a `Status`. Any other
   * answer is a KubeStatusError, too. A server that says `ok` to everything cannot be told apart.
   */
  ping(signal: AbortSignal): Promise<void>
  /** Close idle connections: the next requests open new ones, which a load balancer may send to another apiserver. */
  reconnect(): void
  /**
   * What the apiserver's clock shows now, at least, in epoch ms: the `Date` of its newest answer and the time since.
   * It is never ahead of that clock, and about a second behind. Undefined until an answer had one.
   */
  serverTime(): number | undefined
  /** Ends all watches and connections. */
  close(): Promise<void>
}
