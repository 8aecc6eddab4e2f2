// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import { discover, VERSION } from './discovery.js'
import { Lists, parseSelectors } from './list.js'
import { isMap, mapAt, textAt, type KubeObject } from './object.js'
import type { Call, DeleteOptions, Objects, Written } from './objects.js'
import { mediaType, readApply, readJson, readPatch } from './read.js'
import { parseFlag } from '../../kube/server/list-options.js'
import {
  methodNotAllowed,
  Refusal,
  statusBody,
  successBody,
  unsupportedMedia,
} from '../../kube/server/status.js'
import type { Row } from './row.js'
import { SCALE, scaleOf } from './scale.js'
import type { Store } from './store.js'
import { shapeFor, type Shape, type Writer } from './view.js'
import { wantsWatch } from './watch-options.js'

/** A request whose body has been read. */
export interface Asked {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly query: URLSearchParams
  readonly body: Buffer
}

/** A whole answer. */
export interface Answer {
  readonly code: number
  readonly text: string
  readonly type?: string
}

/** The API's verbs, as RBAC names them. */
export type Verb =
  'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection'

const VERBS: Readonly<Record<string, { readonly named?: Verb; readonly all?: Verb }>> = {
  GET: { named: 'get', all: 'list' },
  HEAD: { named: 'get', all: 'list' },
  POST: { all: 'create' },
  PUT: { named: 'update' },
  PATCH: { named: 'patch' },
  DELETE: { named: 'delete', all: 'deletecollection' },
}

/** @throws Refusal 405 for a verb that the resource does not have. */
export const verbOf = (method: string, call: Call, query: URLSearchParams): Verb => {
  const verb = VERBS[method]?.[call.name === undefined ? 'all' : 'named']
  if (verb === 'list' && wantsWatch(query)) return 'watch'
  const isHomeless = verb === 'create' && call.row.namespaced && call.namespace === undefined
  const isOfStatus = verb === 'delete' && call.subresource !== ''
  if (verb === undefined || isHomeless || isOfStatus) throw methodNotAllowed()
  return verb
}

const json = (code: number, value: unknown): Answer => ({
  code,
  text: `${JSON.stringify(value)}\n`,
})

const APPLY = 'application/apply-patch+yaml'
const BODY_TYPES = ['', 'application/json', '*/*']

const bodyOf = (asked: Asked): unknown => {
  const type = mediaType(asked.headers['content-type'])
  if (!BODY_TYPES.includes(type))
    throw unsupportedMedia(
      'the body of the request was in an unknown format - accepted media types include: application/json',
    )
  return readJson(asked.body)
}

const deleteOptions = (asked: Asked): DeleteOptions => {
  const body = bodyOf(asked)
  const given = isMap(body) ? body : {}
  const { uid, resourceVersion } = mapAt(given, 'preconditions')
  const { dryRun, propagationPolicy } = given
  return {
    propagation: typeof propagationPolicy === 'string' ? propagationPolicy : undefined,
    isDryRun: Array.isArray(dryRun) && dryRun.includes('All'),
    uid: typeof uid === 'string' ? uid : undefined,
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : undefined,
  }
}

const HEALTH = new Set(['/livez', '/readyz', '/healthz'])

/** Whether the path asks whether the server is well. */
export const isHealth = (path: string): boolean => HEALTH.has(path)

/** Answers that need no object. Undefined when the path is none of theirs. */
export const answerPlain = (path: string, rows: readonly Row[]): Answer | undefined => {
  if (isHealth(path)) return { code: 200, text: 'ok', type: 'text/plain; charset=utf-8' }
  if (path === '/version') return json(200, VERSION)
  const found = discover(path, rows)
  return found === undefined ? undefined : json(200, found)
}

/** A path that nobody serves is not answered with a Status. */
const pageNotFound: Answer = {
  code: 404,
  text: '404 page not found\n',
  type: 'text/plain; charset=utf-8',
}

/** Nothing is served at this path: a Status inside a group and version that is served, a page elsewhere. */
export const answerNothing = (path: string, rows: readonly Row[]): Answer => {
  const version = /^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)\//.exec(path)?.[1]
  if (version === undefined || discover(version, rows) === undefined) return pageNotFound
  const message = 'the server could not find the requested resource'
  return json(404, statusBody(new Refusal(404, 'NotFound', message, { details: {} })))
}

/** Whose token is it? The only thing that the server can review. */
export const answerTokenReview = (
  asked: Asked,
  clientOf: (token: string) => string | undefined,
): Answer => {
  const body = bodyOf(asked)
  const review = isMap(body) ? body : {}
  const client = clientOf(textAt(review, 'spec.token'))
  const status =
    client === undefined
      ? { user: {}, error: 'invalid bearer token' }
      : { authenticated: true, user: { username: client, groups: ['system:authenticated'] } }
  return json(201, {
    kind: 'TokenReview',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: mapAt(review, 'metadata'),
    spec: mapAt(review, 'spec'),
    status,
  })
}

/** A token of a ServiceAccount, whether or not it has an object: this server keeps none. */
export const answerTokenRequest = (
  asked: Asked,
  account: string,
  tokenOf: (client: string) => string,
): Answer => {
  const body = bodyOf(asked)
  return json(201, {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: {},
    spec: mapAt(isMap(body) ? body : {}, 'spec'),
    status: { token: tokenOf(account) },
  })
}

/** Everything but watches: one request, one answer. */
export class Routes {
  readonly #store: Store
  readonly #objects: Objects
  readonly #lists: Lists
  readonly #writer: Writer

  constructor(store: Store, objects: Objects, writer: Writer) {
    this.#store = store
    this.#objects = objects
    this.#lists = new Lists(store)
    this.#writer = writer
  }

  /** @throws Refusal for whatever the server will not do. */
  answer(verb: Exclude<Verb, 'watch'>, call: Call, asked: Asked): Answer {
    const shape = shapeFor(asked.headers.accept, call.row, asked.query)
    switch (verb) {
      case 'get':
        return { code: 200, text: this.#one(call, this.#objects.get(call), shape) }
      case 'list':
        return this.#list(call, asked, shape)
      case 'create':
        return this.#written(call, this.#objects.create(call, bodyOf(asked)), shape)
      case 'update':
        return this.#written(call, this.#objects.update(call, bodyOf(asked)), shape)
      case 'patch': {
        const type = mediaType(asked.headers['content-type'])
        if (type === APPLY) return this.#apply(call, asked, shape)
        const patch = readPatch(call.row, type, asked.body)
        return this.#written(call, this.#objects.patch(call, patch), shape)
      }
      case 'delete':
        return this.#delete(call, asked, shape)
      case 'deletecollection':
        return this.#deleteAll(call, asked, shape)
    }
  }

  #apply(call: Call, asked: Asked, shape: Shape): Answer {
    const force = asked.query.get('force')
    const isForced = force !== null && parseFlag(force)
    const applied = { body: readApply(asked.body), isForced }
    // Unlike other writers, an applier must name itself.
    const manager = asked.query.get('fieldManager') ?? ''
    return this.#written(call, this.#objects.apply({ ...call, manager }, applied), shape)
  }

  #one({ row, subresource }: Call, object: KubeObject, shape: Shape): string {
    if (subresource !== 'scale') return `${this.#writer.one(row, object, shape)}\n`
    const scale = scaleOf(row, object)
    // As the real one: a failure of its own, when the definition's path leads to nothing.
    if (row.isCustom && textAt(scale, 'spec.replicas') === '')
      throw new Refusal(500, '', `the spec replicas field ".${row.scale!.replicas}" does not exist`)
    return `${this.#writer.one(SCALE, scale, shape)}\n`
  }

  #written(call: Call, written: Written, shape: Shape): Answer {
    const text = this.#one(call, written.object, shape)
    return { code: written.created ? 201 : 200, text }
  }

  #list(call: Call, asked: Asked, shape: Shape): Answer {
    const page = this.#lists.page(call, asked.query)
    const head = {
      resourceVersion: String(page.version),
      ...(page.continue === '' ? {} : { continue: page.continue }),
      ...(page.remaining === undefined ? {} : { remainingItemCount: page.remaining }),
    }
    return { code: 200, text: this.#writer.list(call.row, page.items, shape, head) }
  }

  #delete(call: Call, asked: Asked, shape: Shape): Answer {
    const { row } = call
    const before = this.#objects.get(call)
    const after = this.#objects.remove(call, deleteOptions(asked))
    const isGone = (after.metadata.finalizers ?? []).length === 0
    if (row.deleteReturnsObject || !isGone)
      return { code: 200, text: `${this.#writer.one(row, after, shape)}\n` }
    const group = row.group === '' ? {} : { group: row.group }
    const { name, uid } = before.metadata
    return json(200, successBody({ name, ...group, kind: row.resource, uid }))
  }

  #deleteAll(call: Call, asked: Asked, shape: Shape): Answer {
    const match = parseSelectors(call, asked.query)
    const options = deleteOptions(asked)
    const chosen = this.#store.list(call.row.storage, call.namespace).filter(match)
    for (const { metadata } of chosen)
      this.#objects.remove({ ...call, name: metadata.name, namespace: metadata.namespace }, options)
    const head = { resourceVersion: String(this.#store.version) }
    return { code: 200, text: this.#writer.list(call.row, chosen, shape, head) }
  }
}
