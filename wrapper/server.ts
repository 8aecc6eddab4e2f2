// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { KubeClient } from '../kube/client/client.js'
import type { WatchStatus } from '../kube/client/watching.js'
import type { Credentials } from '../kube/client/credentials.js'
import type { WatchOptions } from '../kube/client/watch-options.js'
import { Reads, type ReadsOptions } from './serve/reads.js'
import type { Resource } from './store/resources.js'
import { Store, type StoreOptions } from './store/store.js'
import type { Health } from './store/surroundings.js'
import { makeVersions } from './store/versions.js'
import { Follower } from './upstream/follower.js'
import { Neighbours, type NeighboursStatus } from './upstream/neighbours.js'
import { addressesIn, nameIn, NodeRowsPoll } from './upstream/node-rows.js'

/** Options of the cache and its answers. */
export interface WrapperServerOptions {
  readonly store: StoreOptions
  readonly reads?: ReadsOptions
  readonly watch?: WatchOptions
  /**
   * Resources that are followed from the start; others are followed from the first request on of a client that `mayFollow`.
   * @default all but endpoints: the same addresses as in slices, in a form that kube-proxy no longer reads
   */
  readonly resources?: readonly Resource[]
  /** The highest version that an earlier process may have served; 0 when unknown. */
  readonly lastVersion?: number
}

/** What cache and handler need of the world. */
export interface WrapperServerSeams {
  /** The wrapper's own; they fill the cache and are never used for callers' requests. */
  readonly credentials: Credentials
  readonly health: Health
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Handles requests that are not answered from the cache, with the body unread. */
  readonly passThrough: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * Whether this request may begin to fill the store with a resource, which costs memory, disk and cloud link from then on.
   * Until then others' requests for it are passed on.
   * @default all may
   */
  readonly mayFollow?: (request: IncomingMessage) => Promise<boolean>
  /** Called once for each resource, when it begins to be followed. */
  readonly onFollow?: (resource: Resource) => void
  /** Called when the apiserver has said who shares a label's value with this node. */
  readonly onNeighbours?: () => void
  /** Called with all nodes and their internal addresses, once `learnAddresses` was called. */
  readonly onAddresses?: (nodes: ReadonlyMap<string, readonly string[]>) => void
}

/** The cache, filled from the apiserver, and the handler that answers from it. */
export interface WrapperServer {
  readonly store: Store
  readonly reads: Reads
  /** A listener for node:http, or a handler for express. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** The status of each resource that is followed. */
  readonly upstream: Readonly<Partial<Record<Resource, WatchStatus>>>
  /** For each label, how it is found out which nodes share its value with this node. */
  readonly neighbours: readonly NeighboursStatus[]
  /**
   * The agent reports nodes by their addresses: list the addresses, and again from time to time. A second call does
   * nothing.
   */
  learnAddresses(): void
  /** Begin to follow the apiserver. Load what is on disk into the store before. */
  start(): void
  /** End all watches, those of clients too; resolves when all connections to the apiserver are closed. */
  stop(): Promise<void>
}

const USER_AGENT = 'edge-health-wrapper'
/** Nodes rarely get another address. */
const ADDRESSES_MS = 600_000

const FOLLOWED: readonly Resource[] = ['nodes', 'services', 'endpointslices', 'servicecidrs']

/** Build the cache and its handler; nothing runs yet. */
export const makeWrapperServer = (
  options: WrapperServerOptions,
  seams: WrapperServerSeams,
): WrapperServer => {
  const { credentials, health, clock, random, log, passThrough, onFollow, mayFollow } = seams
  const { self } = options.store
  const versions = makeVersions(clock.wall(), options.lastVersion)
  const store = new Store(options.store, { versions, health, log })
  const client = new KubeClient(credentials, clock, USER_AGENT)
  const asking = { client, clock, random, log }
  const follower = new Follower({ ...asking, store, self }, options.watch)
  const neighbours = new Neighbours(asking, (label, value, names) => {
    store.setNeighbours(label, { value, names })
    seams.onNeighbours?.()
  })
  const learn = (): void => neighbours.want(store.wantedLabels)
  store.table('nodes').subscribe(learn)
  store.table('services').subscribe(learn)
  let addresses: NodeRowsPoll | undefined
  const follow = (resource: Resource): void => {
    if (follower.follow(resource)) onFollow?.(resource)
  }
  const { resources = FOLLOWED } = options
  const wanted = async (resource: Resource, request: IncomingMessage): Promise<boolean> => {
    const isFollowed = follower.isFollowed(resource) || resources.includes(resource)
    if (!isFollowed && (await mayFollow?.(request)) === false) return false
    follow(resource)
    return true
  }
  const reads = new Reads(
    { ...options.reads, ownNode: self },
    { store, clock, random, log, passThrough, wanted },
  )
  return {
    store,
    reads,
    handle: reads.handle,
    get upstream() {
      return follower.status
    },
    get neighbours() {
      return neighbours.status
    },
    learnAddresses: () => {
      const poll = { what: 'addresses of nodes', everyMs: ADDRESSES_MS, isUrgent: true }
      addresses ??= new NodeRowsPoll(poll, asking, rows => {
        seams.onAddresses?.(new Map(rows.map(row => [nameIn(row), addressesIn(row)])))
      })
    },
    start: () => {
      for (const resource of resources) follow(resource)
    },
    stop: async () => {
      reads.stop()
      await Promise.all([follower.stop(), neighbours.stop(), addresses?.stop()])
      await client.close()
    },
  }
}
