// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import type { WatchStatus } from '../kube/client/watching.js'
import type { Credentials } from '../kube/client/credentials.js'
import type { WatchOptions } from '../kube/client/list-watch.js'
import { Reads, type ReadsOptions } from './serve/reads.js'
import type { Resource } from './store/resources.js'
import { Store, type Health, type StoreOptions } from './store/store.js'
import { makeVersions } from './store/versions.js'
import { Follower } from './upstream/follower.js'

/** What the cache and its answers are set to. */
export interface WrapperServerOptions {
  readonly store: StoreOptions
  readonly reads?: ReadsOptions
  readonly watch?: WatchOptions
  /**
   * Followed from the start; any other resource from the first time that somebody asks for it.
   * @default all but endpoints: the same addresses once more, in a form that kube-proxy no longer reads
   */
  readonly resources?: readonly Resource[]
  /** The highest version that an earlier life is known to have served; 0 when nothing is known. */
  readonly lastVersion?: number
}

/** What they need of the world. */
export interface WrapperServerSeams {
  /** Our own; they fill the cache and are lent to nobody. */
  readonly credentials: Credentials
  readonly health: Health
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** Takes whatever is not answered from the cache, with the body unread. */
  readonly passThrough: (request: IncomingMessage, response: ServerResponse) => void
  /** Told once of each resource, when it begins to be followed. */
  readonly onFollow?: (resource: Resource) => void
}

/** The cache, filled from upstream, and the answers that it gives. */
export interface WrapperServer {
  readonly store: Store
  readonly reads: Reads
  /** A listener for node:http, or a handler for express. */
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void
  /** How each resource that is followed is doing. */
  readonly upstream: Readonly<Partial<Record<Resource, WatchStatus>>>
  /** Follow upstream from now on. Put what the disk remembers into the store before. */
  start(): void
  /** End all watches, those of clients too; resolves when no connection of ours is left. */
  stop(): Promise<void>
}

const FOLLOWED: readonly Resource[] = ['nodes', 'services', 'endpointslices', 'servicecidrs']

/** Build the cache and its answers; nothing runs yet. */
export const makeWrapperServer = (
  options: WrapperServerOptions,
  { credentials, health, clock, random, log, passThrough, onFollow }: WrapperServerSeams,
): WrapperServer => {
  const versions = makeVersions(clock.wall(), options.lastVersion)
  const store = new Store(options.store, { versions, health, log })
  const follower = new Follower({ store, credentials, clock, random, log }, options.watch)
  const wanted = (resource: Resource): void => {
    if (follower.follow(resource)) onFollow?.(resource)
  }
  const reads = new Reads(options.reads ?? {}, { store, clock, random, log, passThrough, wanted })
  return {
    store,
    reads,
    handle: reads.handle,
    get upstream() {
      return follower.status
    },
    start: () => {
      for (const resource of options.resources ?? FOLLOWED) wanted(resource)
    },
    stop: async () => {
      reads.stop()
      await follower.stop()
    },
  }
}
