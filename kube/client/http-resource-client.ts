// SPDX-License-Identifier: Apache-2.0
import {
  InvalidInputError,
  isAnsweredByCloud,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
} from '../../core/errors.js'
import { KubeClient } from './client.js'
import { withoutOwn } from './credentials.js'
import type { KubeCall } from './open-response.js'
import { MAX_PAGE_BYTES, pathOf } from './list-pages.js'
import { listWatch } from './list-watch.js'
import { resourcePath, type ObjectName, type ResourceName, type ResourceType } from './resource.js'
import type {
  CreateTarget,
  ListRequest,
  ObjectPage,
  ResourceClient,
  ResourceClientOptions,
  ResourceClientSeams,
  TokenClient,
  TokenClients,
  WatchRequest,
} from './resource-client.js'
import { codecOf, deleteBody, formQuery, pageQuery, queryOf, whatOf } from './resource-requests.js'
import { answerError } from './status-error.js'
import {
  application,
  creation,
  patching,
  replacement,
  writeRequest,
  type Write,
} from './write-requests.js'
import type { Watching, WatchSink } from './watching.js'
import type {
  Apply,
  DeleteOptions,
  FieldWriteOptions,
  KubePatch,
  ObjectBody,
  PatchText,
} from './write.js'

/** An object in etcd is at most 1.5 MiB; JSON is larger than protobuf. */
const MAX_OBJECT_BYTES = 8 * 1024 * 1024

/** An answer that is not what the API promises counts as none: something else may listen at that address. */
const parsed = <T>(request: string, raw: unknown, parse: (raw: unknown) => T): T => {
  try {
    return parse(raw)
  } catch (cause) {
    if (!(cause instanceof InvalidInputError)) throw cause
    throw new KubeUnreachableError(request, reasonOf(cause), { cause })
  }
}

/** One bearer's requests, over the connections of a client for many. */
interface Bearer {
  readonly client: KubeClient
  readonly token: string
}

/** The User-Agent of a resource's reads, where it is not the program's. */
const byName = ({ userAgent }: ResourceType<unknown>): Pick<KubeCall, 'userAgent'> =>
  userAgent === undefined ? {} : { userAgent }

class HttpResourceClient implements ResourceClient {
  readonly #client: KubeClient
  readonly #token: string | undefined
  readonly #seams: ResourceClientSeams
  readonly #options: ResourceClientOptions
  readonly #watches = new Set<Watching>()

  constructor(seams: ResourceClientSeams, options: ResourceClientOptions, bearer?: Bearer) {
    const { credentials, clock } = seams
    const { fieldManager, connections } = options
    this.#client =
      bearer?.client ?? new KubeClient(credentials, clock, fieldManager, { connections })
    this.#token = bearer?.token
    this.#seams = seams
    this.#options = options
  }

  withToken(token: string): TokenClient {
    return new HttpResourceClient(this.#seams, this.#options, { client: this.#client, token })
  }

  async get<T>(type: ResourceType<T>, of: ObjectName, signal: AbortSignal): Promise<T> {
    const path = resourcePath(type, of)
    // The media type for single objects is that of a watch.
    const { accept } = codecOf(type)
    return this.#ask({ method: 'GET', path, accept: accept.watch, ...byName(type) }, type, signal)
  }

  async list<T>(
    type: ResourceType<T>,
    which: ListRequest,
    signal: AbortSignal,
  ): Promise<ObjectPage<T>> {
    const path = resourcePath(type, { namespace: which.namespace })
    const codec = codecOf(type)
    const call = {
      method: 'GET',
      path: pathOf(path, {
        ...queryOf(which),
        ...formQuery(type),
        ...pageQuery(which),
      }),
      accept: codec.accept.list,
      compressed: true,
      token: this.#token,
      ...byName(type),
    } as const
    const timeoutMs = this.#options.watch?.answerMs ?? 30_000
    const { maxBytes = MAX_PAGE_BYTES } = which
    const limits = { timeoutMs, idleMs: timeoutMs, maxBytes }
    const body = await this.#client.body(call, limits, signal)
    const { items, version, next } = codec.parsePage(path, body)
    const views = items.map(item => parsed(`GET ${path}`, item, type.parse))
    return Object.freeze({ items: Object.freeze(views), resourceVersion: version, next })
  }

  watch<T>(type: ResourceType<T>, which: WatchRequest, sink: WatchSink<T>): Watching {
    const spec = {
      what: whatOf(type, which),
      path: resourcePath(type, { namespace: which.namespace }),
      query: { ...queryOf(which), ...formQuery(type) },
      codec: codecOf(type),
      parse: type.parse,
      sink,
      known: which.known,
    }
    const { clock, random, log } = this.#seams
    const watching = listWatch(
      spec,
      { client: this.#client, clock, random, log },
      this.#options.watch,
    )
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

  async create<T>(
    type: ResourceType<T>,
    where: CreateTarget,
    { body, ...options }: FieldWriteOptions & { readonly body: ObjectBody },
    signal: AbortSignal,
  ): Promise<T> {
    return this.#write(type, creation(type, where, body), options, signal)
  }

  async update<T>(
    type: ResourceType<T>,
    of: ObjectName,
    { body, ...options }: FieldWriteOptions & { readonly body: ObjectBody },
    signal: AbortSignal,
  ): Promise<T> {
    return this.#write(type, replacement(of, body), options, signal)
  }

  async patch<T>(
    type: ResourceType<T>,
    of: ObjectName,
    { patch, ...options }: FieldWriteOptions & { readonly patch: KubePatch | PatchText },
    signal: AbortSignal,
  ): Promise<T> {
    return this.#write(type, patching(of, patch), options, signal)
  }

  async apply<T>(
    type: ResourceType<T>,
    of: ObjectName,
    { body, isForced = false, ...options }: Apply,
    signal: AbortSignal,
  ): Promise<T> {
    return this.#write(type, application(of, body, isForced), options, signal)
  }

  async delete(
    type: ResourceName,
    of: ObjectName,
    options: DeleteOptions,
    signal: AbortSignal,
  ): Promise<void> {
    const { group, version, resource } = type
    const path = resourcePath({ group, version, resource }, of)
    const body = { type: 'application/json', text: JSON.stringify(deleteBody(options)) }
    const call = { method: 'DELETE', path, body, guard: options.guard } as const
    await this.#client.json(call, this.#limits, signal)
  }

  async ping(signal: AbortSignal): Promise<void> {
    const call = { method: 'GET', path: '/livez', isAnonymous: true, isUrgent: true } as const
    const { timeoutMs } = this.#limits
    const { status, phrase, bytes } = await this.#client.anyAnswer(call, timeoutMs, signal)
    const body = bytes.toString('utf8')
    if (status === 200 && body.trim() === 'ok') return
    const said = answerError('GET /livez', { status, phrase, retryAfterMs: undefined, body })
    // A cache on the node answers 429, too.
    if (isAnsweredByCloud(said) && status !== 429) return
    const message = status >= 500 ? 'not alive' : 'not what a kube-apiserver answers'
    throw new KubeStatusError('GET /livez', { status, reason: phrase, message })
  }

  reconnect(): void {
    this.#client.reconnect()
  }

  serverTime(): number | undefined {
    return this.#client.serverTime()
  }

  storeTrouble(): string | undefined {
    return this.#client.progress.trouble
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watches].map(watching => watching.stop()))
    await this.#client.close()
  }

  get #limits(): { timeoutMs: number; maxBytes: number } {
    return { timeoutMs: this.#options.callMs ?? 15_000, maxBytes: MAX_OBJECT_BYTES }
  }

  async #ask<T>(call: KubeCall, type: ResourceType<T>, signal: AbortSignal): Promise<T> {
    const asked = { ...call, token: this.#token }
    const raw = await this.#client.json(asked, this.#limits, signal)
    return parsed(`${call.method} ${call.path.split('?', 1)[0]!}`, raw, type.parse)
  }

  #write<T>(
    type: ResourceType<T>,
    write: Write,
    { guard, isDryRun = false, fieldManager = this.#options.fieldManager }: FieldWriteOptions,
    signal: AbortSignal,
  ): Promise<T> {
    const request = writeRequest(type, write, { isDryRun, fieldManager })
    return this.#ask({ ...request, guard }, type, signal)
  }
}

/**
 * As `makeResourceClient`, for requests that are made in the names of others: never with credentials of our own, not even
 * those of the connection.
 */
export const makeTokenClients = (
  { credentials, ...seams }: ResourceClientSeams,
  options: ResourceClientOptions,
): TokenClients =>
  new HttpResourceClient({ ...seams, credentials: withoutOwn(credentials) }, options)

/** Over HTTP/1.1 and kept connections. Connects when it is first used. */
export const makeResourceClient = (
  seams: ResourceClientSeams,
  options: ResourceClientOptions,
): ResourceClient => new HttpResourceClient(seams, options)
