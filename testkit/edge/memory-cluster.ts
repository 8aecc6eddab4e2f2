// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, KubeUnreachableError, WithheldError } from '../../core/errors.js'
import type { JsonMap } from '../../core/json.js'
import { valueAt } from '../../core/json-at.js'
import type { ResourceClient, Selection } from '../../kube/client/resource-client.js'
import {
  parseIdentity,
  type ObjectName,
  type ResourceName,
  type ResourceType,
} from '../../kube/client/resource.js'
import type { WatchSink } from '../../kube/client/watching.js'

/** An object as a test writes it. */
export type Body = JsonMap & { readonly metadata: JsonMap & { readonly name: string } }

interface Watcher {
  readonly type: ResourceType<unknown>
  readonly which: Selection
  readonly sink: WatchSink<unknown>
}

const keyOf = ({ resource }: ResourceName, { namespace = '', name }: ObjectName): string =>
  `${resource} ${namespace}/${name}`

const nameOf = ({ metadata: { name, namespace } }: Body): ObjectName => ({
  name,
  ...(typeof namespace === 'string' ? { namespace } : {}),
})

const NAMED = 'metadata.name='

const isSelected = (body: Body, { labelSelector = '', fieldSelector = '' }: Selection): boolean =>
  (labelSelector === '' || valueAt(body, 'metadata', 'labels', labelSelector) !== undefined) &&
  (fieldSelector !== 'spec.nodeName!=' || Boolean(valueAt(body, 'spec', 'nodeName'))) &&
  (!fieldSelector.startsWith(NAMED) || fieldSelector === NAMED + body.metadata.name)

const clone = <T>(value: T): T => structuredClone(value)

const foundOr404 = (found: Body | undefined, type: ResourceName, of: ObjectName): Body => {
  if (found !== undefined) return found
  const message = `${keyOf(type, of)} not found`
  throw new KubeStatusError('GET', { status: 404, reason: 'NotFound', message })
}

/** A cluster's API without sockets or time, for one client. What watches bring can be held back. */
export class MemoryCluster {
  readonly #objects = new Map<string, { readonly type: ResourceName; body: Body }>()
  readonly #watchers: Watcher[] = []
  readonly #late: (() => void)[] = []
  #version = 100
  /** Watches bring nothing until `deliver`. */
  isHeldBack = false
  /** Every request fails, as with an apiserver that is away. */
  isAway = false
  /** A proxy in between has no backend: it answers every request itself, and watches stay as they are. */
  isMisled = false
  /** The answer to a read of one object is on its way until this resolves. */
  answering: (of: ObjectName) => Promise<void> = () => Promise.resolve()
  /** The apiserver's clock, epoch ms. */
  wall: () => number = () => 0
  readonly writes: string[] = []

  /** As the API keeps it now. */
  get(type: ResourceName, of: ObjectName): Body | undefined {
    return clone(this.#objects.get(keyOf(type, of))?.body)
  }

  all(type: ResourceName): readonly Body[] {
    const kept = [...this.#objects.values()].filter(one => one.type.resource === type.resource)
    return kept.map(({ body }) => clone(body))
  }

  /** Make it, or replace it. @returns as it is kept */
  put(type: ResourceName, body: Body): Body {
    const key = keyOf(type, nameOf(body))
    const before = this.#objects.get(key)?.body
    const resourceVersion = String(++this.#version)
    const uid = valueAt(before, 'metadata', 'uid') ?? `uid-${resourceVersion}`
    const kept = { ...clone(body), metadata: { ...body.metadata, uid, resourceVersion } }
    this.#objects.set(key, { type, body: kept })
    this.#notify(type, ({ sink, type, which }) => {
      if (isSelected(kept, which)) sink.upsert(type.parse(this.#shape(type, kept)))
      else if (before !== undefined && isSelected(before, which))
        sink.remove(parseIdentity(kept).key)
    })
    return clone(kept)
  }

  delete(type: ResourceName, of: ObjectName): void {
    const gone = this.#objects.get(keyOf(type, of))
    if (gone === undefined) return
    this.#objects.delete(keyOf(type, of))
    this.#version++
    this.#notify(type, ({ sink, which }) => {
      if (isSelected(gone.body, which)) sink.remove(parseIdentity(gone.body).key)
    })
  }

  /** Let watches bring what was held back: so many changes, or all. */
  deliver(count = Infinity): void {
    for (const work of this.#late.splice(0, Math.min(count, this.#late.length))) work()
  }

  /** The client of it. Of another call than those that are here nothing is known. */
  get client(): ResourceClient {
    const client = {
      get: async (type: ResourceType<unknown>, of: ObjectName) => {
        await this.#arrive()
        const found = this.get(type, of)
        await this.answering(of)
        return type.parse(this.#shape(type, foundOr404(found, type, of)))
      },
      list: async (type: ResourceType<unknown>) => {
        await this.#arrive()
        const items = this.all(type).map(body => type.parse(this.#shape(type, body)))
        return { items, resourceVersion: String(this.#version), next: '' }
      },
      apply: async (
        type: ResourceType<unknown>,
        of: ObjectName,
        { body, guard }: { body: Body; guard?: () => string | undefined },
      ) => {
        await this.#arrive(guard)
        this.writes.push(`apply ${keyOf(type, of)}`)
        return type.parse(this.put(type, { ...this.get(type, of), ...clone(body) }))
      },
      update: async (
        type: ResourceType<unknown>,
        of: ObjectName,
        { body, guard }: { body: Body; guard?: () => string | undefined },
      ) => {
        await this.#arrive(guard)
        const { resourceVersion } = body.metadata
        if (this.#found(type, of).metadata['resourceVersion'] !== resourceVersion)
          throw new KubeStatusError('PUT', { status: 409, reason: 'Conflict', message: '' })
        this.writes.push(`update ${keyOf(type, of)}`)
        return type.parse(this.put(type, body))
      },
      delete: async (type: ResourceName, of: ObjectName) => {
        await this.#arrive()
        this.#found(type, of)
        this.writes.push(`delete ${keyOf(type, of)}`)
        this.delete(type, of)
      },
      watch: (type: ResourceType<unknown>, which: Selection, sink: WatchSink<unknown>) => {
        const watcher = { type, which, sink }
        this.#watchers.push(watcher)
        queueMicrotask(() =>
          sink.replace(
            this.all(type)
              .filter(body => isSelected(body, which))
              .map(body => type.parse(this.#shape(type, body))),
          ),
        )
        return {
          status: { state: 'watching', lastHeardAt: 0, lists: 1, trouble: undefined },
          stop: async () => {
            this.#watchers.splice(this.#watchers.indexOf(watcher), 1)
          },
        }
      },
      serverTime: () => this.wall(),
      close: async () => undefined,
    }
    return client as unknown as ResourceClient
  }

  #shape({ isMetadataOnly = false }: ResourceType<unknown>, body: Body): unknown {
    return clone(isMetadataOnly ? { metadata: body.metadata } : body)
  }

  #found(type: ResourceName, of: ObjectName): Body {
    return foundOr404(this.get(type, of), type, of)
  }

  /** A request takes a turn of the event loop, and is asked for once more before it is carried out. */
  async #arrive(guard?: () => string | undefined): Promise<void> {
    await new Promise(resolve => setImmediate(resolve))
    if (this.isAway) throw new KubeUnreachableError('request', 'the apiserver is away')
    if (this.isMisled)
      throw new KubeStatusError('request', { status: 404, reason: 'Not Found', message: 'default backend' }) // prettier-ignore
    const trouble = guard?.()
    if (trouble !== undefined) throw new WithheldError('request', trouble)
  }

  #notify(type: ResourceName, notify: (watcher: Watcher) => void): void {
    const version = String(this.#version)
    const work = (): void => {
      for (const watcher of this.#watchers.filter(one => one.type.resource === type.resource)) {
        notify(watcher)
        watcher.sink.reached?.(version)
      }
    }
    if (this.isHeldBack) this.#late.push(work)
    else work()
  }
}
