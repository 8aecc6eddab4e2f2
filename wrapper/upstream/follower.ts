// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Watching, WatchStatus } from '../../kube/client/watching.js'
import type { KubeClient } from '../../kube/client/client.js'
import { listWatch } from '../../kube/client/list-watch.js'
import type { WatchOptions } from '../../kube/client/watch-options.js'
import { ROWS, type Resource } from '../store/resources.js'
import type { Store } from '../store/store.js'
import { apiserverCodec } from './apiserver-codec.js'
import { itemOf, makeItemCodec } from './item-codec.js'

const EVERYTHING: Readonly<Record<string, string>> = {}

/** Each resumed watch costs a request, so watches are long. After an outage the wrappers reconnect over some seconds. */
const WATCH: WatchOptions = { watchMs: 3_600_000, spreadMs: 10_000 }

/**
 * A whole list of these may have 40 MB, so they are listed in pages, which lists from the server's watch cache do not
 * support.
 */
const LONG: readonly Resource[] = ['endpoints', 'endpointslices']

/** What following upstream needs. */
export interface FollowerSeams {
  readonly store: Store
  /** The wrapper's own, never a caller's. */
  readonly client: KubeClient
  /** The only Node that is watched. */
  readonly self: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Fills the store from the apiserver: a list and a watch for each resource. */
export class Follower {
  readonly #seams: FollowerSeams
  readonly #options: WatchOptions
  readonly #watchings = new Map<Resource, Watching>()
  #isStopped = false

  constructor(seams: FollowerSeams, options: WatchOptions = {}) {
    this.#seams = seams
    this.#options = options
  }

  /** The status of each resource that is followed. */
  get status(): Readonly<Partial<Record<Resource, WatchStatus>>> {
    return Object.fromEntries(
      [...this.#watchings].map(([resource, watching]) => [resource, watching.status]),
    )
  }

  isFollowed(resource: Resource): boolean {
    return this.#watchings.has(resource)
  }

  /** Begin to follow a resource; a second call does nothing. @returns whether it began */
  follow(resource: Resource): boolean {
    if (this.#isStopped || this.#watchings.has(resource)) return false
    const { store, self, client, clock, random, log } = this.#seams
    const row = ROWS[resource]
    const table = store.table(resource)
    const spec = {
      what: resource,
      path: row.path,
      query: resource === 'nodes' ? { fieldSelector: `metadata.name=${self}` } : EVERYTHING,
      codec: apiserverCodec(makeItemCodec(row)),
      parse: (came: Parameters<typeof itemOf>[1]) => itemOf(row, came, key => table.get(key)?.raw),
      sink: {
        ...store.upstream(resource),
        reached: (version: string) => table.reached(version),
      },
      onRefused: (status: number) => {
        if (status === 404) store.absent(resource)
      },
      onWarning: (warning: string | undefined) => {
        table.warning = warning
      },
    }
    const seams = { client, clock, random, log }
    const options = { ...WATCH, fromCache: !LONG.includes(resource), ...this.#options }
    this.#watchings.set(resource, listWatch(spec, seams, options))
    return true
  }

  /** Stop all watches; resolves when their connections are closed. May be called twice. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all([...this.#watchings.values()].map(watching => watching.stop()))
  }
}
