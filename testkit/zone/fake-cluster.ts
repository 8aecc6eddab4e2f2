// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'
import { aborted, sleep, type Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError, WithheldError } from '../../core/errors.js'
import type { NodeView } from '../../core/node.js'
import {
  type DataView,
  type KubeApi,
  type LeaseView,
  type MemberView,
  type NodeEvent,
  type TriedPart,
  WRITER,
} from '../../agent/ports/kube-api.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import type { KubePatch, WriteGuard } from '../../kube/client/write.js'
import { parseLease } from '../../agent/adapters/lease-view.js'
import { parseNodeNotes } from '../../agent/adapters/node-view.js'
import {
  isIdentityPatch,
  isMarked,
  matchOf,
  memberOf,
  patched,
  renewTimeOf,
  taintKeysOf,
  viewOf,
  type Raw,
} from './cluster-object.js'

/** A write that the cluster took. */
export interface Write {
  readonly at: number
  readonly by: string
  readonly node: string
  readonly kind: 'status' | 'spec' | 'lease'
  /** SuperEdge's mark before and after. */
  readonly mark: readonly [before: boolean, after: boolean]
  /** Whether anything but the version differs afterwards. */
  readonly isChange: boolean
  /** The Lease's renewTime before and after; empty in writes of Nodes. */
  readonly renewTime: readonly [before: string, after: string]
  /** The apiserver's own clock, epoch ms. */
  readonly wall: number
  /** Keys of the taints that were not there before. */
  readonly tainted: readonly string[]
}

/** A request that arrived, whatever became of it. */
export interface Call {
  readonly at: number
  readonly by: string
  /** As in `patch n1/status`. */
  readonly what: string
}

interface Subscription {
  readonly client: string
  readonly matches: (kind: string, name: string) => boolean
  /** The whole list, as this watch sees it, less what the server leaves out. */
  readonly resync: (without?: readonly string[]) => void
  readonly upsert: (raw: Raw) => void
  isOpen: boolean
}

/** A process that uses the API. */
interface Caller {
  readonly name: string
  /** Whom its writes are put down to. */
  readonly actor: string
  readonly clock: Clock
  /** The `Date` of the newest answer, and when it came. */
  served: { readonly dateMs: number; readonly at: number } | undefined
}

/** Does the work now; the returned function gives its value, or throws its error. */
const outcomeOf = <T>(work: () => T): (() => T) => {
  try {
    const value = work()
    return () => value
  } catch (error) {
    return () => {
      throw error
    }
  }
}

const serve = <T>(refusal: Error | Promise<void> | undefined, work: () => T): (() => T) =>
  outcomeOf(() => {
    if (refusal instanceof Error) throw refusal
    return work()
  })

const EXISTS = { status: 409, reason: 'AlreadyExists', message: '' }

const LATENCY_MS = 20
/**
 * The API in memory, on a virtual clock: objects with versions, the embedded server's patch rules, conflicts, watches,
 * and a cloud link per client. A cut link is silence; when it heals, watches list again.
 */
export class FakeCluster {
  readonly writes: Write[] = []
  /** How often each agent wrote its own node's keys into its Node: agents may write nothing else about themselves. */
  readonly identityWrites = new Map<string, number>()
  /** Of what it takes writes that no agent makes. */
  unguarded: readonly TriedPart[] = []
  /** Called with each request that arrives: an error is thrown at the caller, a promise holds the answer back. */
  onCall: ((call: Call) => Error | Promise<void> | undefined) | undefined
  readonly events: (NodeEvent & { readonly by: string; readonly at: number })[] = []
  readonly #clock: Clock
  readonly #objects = new Map<string, Raw>()
  readonly #subscriptions = new Set<Subscription>()
  readonly #cut = new Set<string>()
  #version = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  put(
    kind: 'node' | 'lease' | 'configmap' | 'secret',
    name: string,
    body: Record<string, unknown>,
  ): void {
    const metadata = { uid: `uid-${name}`, ...(body['metadata'] as object | undefined), name }
    this.#store(kind, { ...body, metadata } as unknown as Raw)
  }

  remove(kind: 'node' | 'configmap' | 'secret', name: string): void {
    this.#objects.delete(`${kind}/${name}`)
    for (const each of this.#subscriptions) if (this.#hears(each, kind, name)) each.resync()
  }

  node(name: string): NodeView {
    return viewOf(this.#objects.get(`node/${name}`))
  }

  lease(name: string): LeaseView {
    return parseLease(this.#objects.get(`lease/${name}`))
  }

  cut(client: string): void {
    this.#cut.add(client)
  }

  heal(client: string): void {
    this.#cut.delete(client)
    for (const each of this.#subscriptions) if (each.isOpen && each.client === client) each.resync()
  }

  isCut(client: string): boolean {
    return this.#cut.has(client)
  }

  /** All watches list again, and their lists lack these objects though they exist. */
  relistWithout(...names: readonly string[]): void {
    for (const each of this.#subscriptions) if (each.isOpen) each.resync(names)
  }

  #hears(each: Subscription, kind: string, name: string): boolean {
    return each.isOpen && !this.#cut.has(each.client) && each.matches(kind, name)
  }

  #store(kind: string, raw: Raw): Raw {
    const before = [...this.#subscriptions].filter(each =>
      this.#hears(each, kind, raw.metadata.name),
    )
    const next = structuredClone(raw)
    next.metadata.resourceVersion = String(++this.#version)
    const { name } = next.metadata
    this.#objects.set(`${kind}/${name}`, next)
    for (const each of this.#subscriptions) {
      if (this.#hears(each, kind, name)) each.upsert(next)
      else if (before.includes(each)) each.resync()
    }
    return next
  }

  /** Half of the time goes by before the request leaves, the other half before its answer is taken. */
  async #call<T>(
    caller: Caller,
    call: {
      readonly what: string
      readonly signal: AbortSignal
      readonly guard?: WriteGuard | undefined
    },
    work: () => T,
  ): Promise<T> {
    const { name, actor, clock } = caller
    const { what, signal, guard } = call
    if (!(await sleep(clock, LATENCY_MS / 2, signal))) throw signal.reason
    const withheld = guard?.()
    if (withheld !== undefined) throw new WithheldError(what, withheld)
    const at = this.#clock.now()
    const held = this.#cut.has(name) ? undefined : this.onCall?.({ at, by: actor, what })
    const answer = this.#cut.has(name) ? undefined : serve(held, work)
    // As a request whose packets vanish, until its caller gives up.
    if (held instanceof Promise) await Promise.race([held, aborted(signal)])
    const dateMs = Math.floor(this.serverWall() / 1000) * 1000
    if (!(await sleep(clock, LATENCY_MS / 2, signal))) throw signal.reason
    if (answer === undefined) throw new KubeUnreachableError(what, 'connection refused')
    caller.served = { dateMs, at: clock.now() }
    return answer()
  }

  #read(kind: string, name: string): Raw {
    const raw = this.#objects.get(`${kind}/${name}`)
    if (raw === undefined)
      throw new KubeStatusError(name, {
        ...{ status: 404, reason: 'NotFound', message: '', isFromApi: true },
      })
    return raw
  }

  #write(by: string, node: string, kind: Write['kind'], patch: KubePatch): Raw {
    const where = kind === 'lease' ? 'lease' : 'node'
    const before = this.#read(where, node)
    const after = patched(before, patch)
    const kept =
      kind === 'status'
        ? { spec: before['spec'] }
        : kind === 'spec'
          ? { status: before['status'] }
          : {}
    const next = { ...after, ...kept }
    if (kind === 'lease') this.#account(by, next)
    const mark = [isMarked(before), isMarked(next)] as const
    const isChange = !isDeepStrictEqual(before, next)
    const renewTime = [renewTimeOf(before), renewTimeOf(next)] as const
    const tainted = taintKeysOf(next).filter(key => !taintKeysOf(before).includes(key))
    const [at, wall] = [this.#clock.now(), this.#clock.wall()]
    if (by === node && isIdentityPatch(patch))
      this.identityWrites.set(node, (this.identityWrites.get(node) ?? 0) + 1)
    else this.writes.push({ at, wall, by, node, kind, mark, isChange, renewTime, tainted })
    return this.#store(where, next)
  }

  /** Who renewed a Lease, and when, as the real server keeps account of it. */
  #account(by: string, lease: Raw): void {
    const manager = by.startsWith('kubelet/') ? 'kubelet' : WRITER
    const time = `${new Date(this.serverWall()).toISOString().slice(0, 19)}Z`
    const fieldsV1 = { 'f:spec': { 'f:renewTime': {} } }
    lease.metadata = { ...lease.metadata, managedFields: [{ manager, time, fieldsV1 }] }
  }

  #watch<T>(
    client: string,
    pick: {
      kind: string
      matches: (raw: Raw) => boolean
      parse: (raw: Raw) => T & { name: string }
    },
    sink: WatchSink<T>,
  ): Watching {
    const { kind, matches, parse } = pick
    const each: Subscription = {
      client,
      isOpen: true,
      matches: (other, name) => {
        const raw = this.#objects.get(`${other}/${name}`)
        return other === kind && (raw === undefined || matches(raw))
      },
      resync: (without = []) => {
        const all = [...this.#objects].filter(
          ([key, raw]) =>
            key.startsWith(`${kind}/`) && matches(raw) && !without.includes(raw.metadata.name),
        )
        sink.replace(all.map(([, raw]) => parse(raw)))
      },
      upsert: raw => sink.upsert(parse(raw)),
    }
    this.#subscriptions.add(each)
    this.#clock.after(LATENCY_MS, () => {
      if (each.isOpen && !this.#cut.has(client)) each.resync()
    })
    return {
      status: { state: 'watching', lastHeardAt: 0, lists: 1, trouble: undefined, isAway: false },
      stop: async () => {
        each.isOpen = false
        this.#subscriptions.delete(each)
      },
    }
  }

  #members(which: Parameters<typeof matchOf>[0]): readonly MemberView[] {
    const nodes = [...this.#objects].filter(([key]) => key.startsWith('node/'))
    return nodes
      .map(([, raw]) => raw)
      .filter(matchOf(which))
      .map(memberOf)
  }

  /** What a part of the control plane changes on the spot; watches hear of it, `writes` does not. */
  edit(kind: 'node' | 'lease' | 'configmap' | 'secret', name: string, change: object): void {
    this.#store(kind, { ...this.#read(kind, name), ...change })
  }

  /** The object itself, not a copy: do not change it. */
  raw(kind: 'node' | 'lease', name: string): Raw {
    return this.#read(kind, name)
  }

  /** The client's process is gone, and its watches with it. */
  drop(client: string): void {
    for (const each of this.#subscriptions)
      if (each.client === client) this.#subscriptions.delete(each)
  }

  /** The apiserver's own clock. */
  serverWall(): number {
    return this.#clock.wall()
  }

  /** The API as one process sees it; `actor` is whom its writes are put down to. */
  api(client: string, of: { readonly clock?: Clock; readonly actor?: string } = {}): KubeApi {
    const { clock = this.#clock, actor = client } = of
    const caller: Caller = { name: client, actor, clock, served: undefined }
    const data = (kind: string, name: string, sink: WatchSink<DataView>): Watching =>
      this.#watch(
        client,
        {
          kind,
          matches: raw => raw.metadata.name === name,
          parse: raw => ({
            name,
            resourceVersion: raw.metadata.resourceVersion,
            data: raw['data'] as Record<string, string>,
          }),
        },
        sink,
      )
    return {
      watchNode: (name, sink) =>
        this.#watch(
          client,
          { kind: 'node', matches: raw => raw.metadata.name === name, parse: viewOf },
          sink,
        ),
      renewAgentLease: () => Promise.reject(new Error('agents here ask for /livez')),
      server: () => Promise.resolve(new URL('https://cluster:6443')),
      watchMembers: (which, sink) =>
        this.#watch(client, { kind: 'node', matches: matchOf(which), parse: memberOf }, sink),
      listMembers: (selector, _known, signal) =>
        this.#call(caller, { what: 'list nodes', signal }, () => ({
          members: this.#members({ selector }),
          version: String(this.#version),
        })),
      getMember: (selector, name, signal) =>
        this.#call(caller, { what: `look at ${name}`, signal }, () => ({
          members: this.#members({ selector, name }),
          version: String(this.#version),
        })),
      watchConfigMap: (_, name, sink) => data('configmap', name, sink),
      watchSecret: (_, name, sink) => data('secret', name, sink),
      getNode: (name, signal) =>
        this.#call(caller, { what: `get ${name}`, signal }, () => viewOf(this.#read('node', name))),
      getNodeNotes: (name, signal) =>
        this.#call(caller, { what: `get notes ${name}`, signal }, () =>
          parseNodeNotes(this.#read('node', name)),
        ),
      listNodeNotes: (names, _known, signal) =>
        this.#call(caller, { what: 'list notes', signal }, () => ({
          nodes: names
            .filter(name => this.#objects.has(`node/${name}`))
            .map(name => parseNodeNotes(this.#read('node', name))),
          version: String(this.#version),
        })),
      patchNode: (name, patch, signal, guard) =>
        this.#call(caller, { what: `patch ${name}`, signal, guard }, () =>
          viewOf(this.#write(actor, name, 'spec', patch)),
        ),
      patchNodeStatus: (name, patch, signal, guard) =>
        this.#call(caller, { what: `patch ${name}/status`, signal, guard }, () =>
          viewOf(this.#write(actor, name, 'status', patch)),
        ),
      tryPatch: (part, name, _, signal) =>
        this.#call(caller, { what: `try patch ${part} ${name}`, signal }, () => {
          this.#read(part === 'lease' ? 'lease' : 'node', name)
          const message = `nodes "${name}" is forbidden: ValidatingAdmissionPolicy 'edge-health-agent-nodes' with binding 'x' denied request`
          if (!this.unguarded.includes(part))
            throw new KubeStatusError(name, {
              ...{ status: 403, reason: 'Forbidden', message, isFromApi: true },
            })
        }),
      tryRenewal: (name, signal) =>
        this.#call(caller, { what: `try renewal ${name}`, signal }, () => {
          this.#read('lease', name)
        }),
      getLease: (name, signal) =>
        this.#call(caller, { what: `get lease ${name}`, signal }, () =>
          parseLease(this.#read('lease', name)),
        ),
      patchLease: (name, patch, signal, guard) =>
        this.#call(caller, { what: `patch lease ${name}`, signal, guard }, () =>
          parseLease(this.#write(actor, name, 'lease', patch)),
        ),
      createEvent: (event, signal) =>
        this.#call(caller, { what: 'create event', signal }, () => {
          const isThere = this.events.some(({ id }) => id !== undefined && id === event.id)
          if (isThere) throw new KubeStatusError('create event', EXISTS)
          this.events.push({ ...event, by: client, at: this.#clock.now() })
        }),
      ping: signal => this.#call(caller, { what: 'ping', signal }, () => undefined),
      reconnect: () => undefined,
      serverTime: () => caller.served && caller.served.dateMs + clock.now() - caller.served.at,
      close: async () => undefined,
    }
  }
}
