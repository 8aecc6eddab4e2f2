// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import type { Credentials } from './credentials.js'
import type { KnownVersion } from './known-version.js'
import type { WatchOptions } from './watch-options.js'
import type { ObjectName, Place, ResourceName, ResourceType } from './resource.js'
import type { Watching, WatchSink } from './watching.js'
import type {
  Apply,
  DeleteOptions,
  FieldWriteOptions,
  KubePatch,
  ObjectBody,
  PatchText,
} from './write.js'

/** Which objects of a resource. */
export interface Selection extends Place {
  /** This one alone; a Role that allows it by `resourceNames` is enough. */
  readonly name?: string | undefined
  readonly labelSelector?: string | undefined
  readonly fieldSelector?: string | undefined
}

/** Which objects are followed. */
export interface WatchRequest extends Selection {
  /** The newest known version, shared with others that list this resource: with `fromCache`, no list is older. */
  readonly known?: KnownVersion | undefined
}

/** Which objects, and how many of them at once. */
export interface ListRequest extends Selection {
  /** At most this many; `next` of the answer leads to the rest. @default all */
  readonly limit?: number | undefined
  /** A state that the server has in its memory is enough: any, or one that is not older than `known`. @default the newest */
  readonly fromCache?: { readonly known: string | undefined } | undefined
  /** Of the answer, decompressed: a server that ignores selectors sends far more. @default 64 MiB */
  readonly maxBytes?: number | undefined
  /** Where to go on: `next` of the page before, with the same selection. 410 `Expired` when the server forgot its state. */
  readonly continueAt?: string | undefined
}

/** Where an object is created. */
export interface CreateTarget extends Place {
  /** The object whose subresource it is, such as `token`; without a subresource the body's name alone counts. */
  readonly name?: string | undefined
}

/** A list, or a part of it. */
export interface ObjectPage<T> {
  readonly items: readonly T[]
  /** The resourceVersion of the list; all pages have the first one's. */
  readonly resourceVersion: string
  /** Where the list goes on; '' on the last page. */
  readonly next: string
}

/**
 * The Kubernetes API for objects of any resource. Every call rejects with KubeStatusError (the server said no: its
 * `reason`, HTTP status, `details`, and how long it asks us to wait), KubeUnreachableError (no answer, or one that is
 * not what the API promises), CredentialsError, WithheldError (the guard said no), InvalidInputError (a name that is
 * none), or the signal's reason; and not before its connection is closed or free again.
 *
 * Reads, merge patches and applies that name no resourceVersion are sent again, once, when a kept connection proves
 * dead before an answer came; all other writes are not, since the server may have carried them out.
 */
export interface ResourceClient {
  get<T>(type: ResourceType<T>, of: ObjectName, signal: AbortSignal): Promise<T>
  /** One page; all there is when no limit is given. An object that cannot be read fails the whole list. */
  list<T>(type: ResourceType<T>, which: ListRequest, signal: AbortSignal): Promise<ObjectPage<T>>
  /**
   * List objects in pages and watch them, resume or list again after errors, until `stop`. Never rejects: see its
   * status.
   */
  watch<T>(type: ResourceType<T>, which: WatchRequest, sink: WatchSink<T>): Watching
  /** @returns the object as it was stored. 409 `AlreadyExists` when its name is taken. */
  create<T>(
    type: ResourceType<T>,
    where: CreateTarget,
    write: FieldWriteOptions & { readonly body: ObjectBody },
    signal: AbortSignal,
  ): Promise<T>
  /** Replace the object; 409 `Conflict` unless the body's resourceVersion, if it has one, is the present one. */
  update<T>(
    type: ResourceType<T>,
    of: ObjectName,
    write: FieldWriteOptions & { readonly body: ObjectBody },
    signal: AbortSignal,
  ): Promise<T>
  patch<T>(
    type: ResourceType<T>,
    of: ObjectName,
    write: FieldWriteOptions & { readonly patch: KubePatch | PatchText },
    signal: AbortSignal,
  ): Promise<T>
  /** Server-side apply: makes the object or brings our fields of it to what the body says; writes nothing if they are. */
  apply<T>(type: ResourceType<T>, of: ObjectName, write: Apply, signal: AbortSignal): Promise<T>
  /**
   * Resolves when the server accepted it: an object with finalizers, or one that is deleted in the foreground,
   * stays for a while.
   */
  delete(
    type: ResourceName,
    of: ObjectName,
    options: DeleteOptions,
    signal: AbortSignal,
  ): Promise<void>
  /**
   * One small round trip that only a living apiserver answers: `/livez` is `ok`, or refused with a `Status`. Any other
   * answer is a KubeStatusError, too. A server that says `ok` to everything cannot be told apart.
   */
  ping(signal: AbortSignal): Promise<void>
  /** Close idle connections: the next requests open new ones, which a load balancer may send to another apiserver. */
  reconnect(): void
  /**
   * The earliest that the apiserver's clock can show now, in epoch ms: the `Date` of its newest response and the
   * time since. Never ahead of that clock, and about a second behind. Undefined before the first response with a
   * `Date`.
   */
  serverTime(): number | undefined
  /**
   * Why the watches may show another store, so that nothing may be written because of them: the server was away, or its
   * store was restored from a backup and is being listed again. Undefined when all is well.
   */
  storeTrouble(): string | undefined
  /** Ends all watches and connections. */
  close(): Promise<void>
}

/** Requests in the name of a token's bearer. A token that the server does not accept is a 401. */
export type TokenClient = Pick<ResourceClient, 'create' | 'get' | 'list' | 'patch'>

/** The API for many bearers, over connections that they share. */
export interface TokenClients {
  withToken(token: string): TokenClient
  /** Ends all connections. */
  close(): Promise<void>
}

/** What the client needs of the world. */
export interface ResourceClientSeams {
  readonly credentials: Credentials
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Limits of the client. */
export interface ResourceClientOptions {
  /** Who owns what it writes, in `managedFields`; also its User-Agent. */
  readonly fieldManager: string
  /**
   * For each call except lists and watches, in milliseconds, its answer included.
   * @default 15_000
   */
  readonly callMs?: number | undefined
  /**
   * Connections at the same time, each of one call or watch; further calls wait, within their time.
   * @default 32
   */
  readonly connections?: number | undefined
  /** For every watch; `answerMs` also holds for a page of `list`. */
  readonly watch?: WatchOptions | undefined
}
