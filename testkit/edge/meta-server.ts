// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { isMap, type JsonMap } from '../../core/json.js'
import { textAt, valueAt } from '../../core/json-at.js'
import { parseLabelSelector } from '../../kube/label-selector.js'
import type { Frame, Route } from './frame.js'
import type { Answer } from './requests.js'

/** A request to the MetaServer, in the words in which it goes up. */
export interface MetaRequest {
  readonly Verb: string
  /** `/core/v1/nodes/null/n1` */
  readonly Key: string
  readonly Subresource?: string
  readonly option?: JsonMap
  readonly body?: JsonMap
}

/** What came of it: HTTP's word, and an object, a list or a Status. */
export interface MetaAnswer {
  readonly code: number
  readonly body: JsonMap
}

/** A watch of the MetaServer. */
export interface MetaWatch {
  end(): void
}

type AskAs = (route: Required<Route>, content: unknown) => Promise<Answer>
type OnChange = (type: 'ADDED' | 'DELETED' | 'MODIFIED', object: JsonMap) => void

interface Watcher {
  readonly id: string
  readonly content: JsonMap
  readonly matches: (key: string, object: JsonMap) => boolean
  readonly after: bigint
  readonly onChange: OnChange
  readonly added: Set<string>
}

const bytes = (value: unknown): string | null =>
  value === undefined ? null : Buffer.from(JSON.stringify(value)).toString('base64')

const status = (code: number, message: string): MetaAnswer => ({
  code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message },
})

const versionOf = (object: unknown): bigint => {
  const text = textAt(object, 'metadata', 'resourceVersion')
  return /^\d+$/.test(text) ? BigInt(text) : 0n
}

const PLURALS: Readonly<Record<string, string>> = {
  ConfigMap: 'core/v1/configmaps',
  Lease: 'coordination.k8s.io/v1/leases',
  Node: 'core/v1/nodes',
  Secret: 'core/v1/secrets',
}

/** Where the object is kept; undefined for kinds that this one does not keep. */
const keyOf = (object: JsonMap): string | undefined => {
  const plural = PLURALS[textAt(object, 'kind')]
  const namespace = textAt(object, 'metadata', 'namespace') || 'null'
  return plural && `/${plural}/${namespace}/${textAt(object, 'metadata', 'name')}`
}

/** Below it in the tree of keys, or itself. */
const isAt = (key: string, place: string): boolean => key === place || key.startsWith(`${place}/`)

/**
 * The Kubernetes API of an edge (edgecore 1.23): what it is asked goes up as an `Application`; a read that is rejected, or
 * not answered, is answered from what it keeps. A watch shows what it keeps, and then what the cloud sends of it.
 */
export class MetaServer {
  readonly #node: string
  readonly #askAs: AskAs
  readonly #kept = new Map<string, JsonMap>()
  readonly #watchers = new Set<Watcher>()
  #version = 0n

  constructor(node: string, askAs: AskAs) {
    this.#node = node
    this.#askAs = askAs
  }

  /** Watches that it has. */
  get watches(): number {
    return this.#watchers.size
  }

  async request(asked: MetaRequest): Promise<MetaAnswer> {
    const answer = await this.#apply(this.#content(asked))
    if (answer.code < 400) {
      if (asked.Verb === 'get') this.#keep(answer.body)
      return answer
    }
    if (asked.Verb === 'get') {
      const known = this.#kept.get(asked.Key)
      return known === undefined ? status(404, 'not found') : { code: 200, body: known }
    }
    if (asked.Verb !== 'list') return answer
    const items = [...this.#kept].filter(([key]) => isAt(key, asked.Key))
    return { code: 200, body: { kind: 'List', items: items.map(([, object]) => object) } }
  }

  /** Whether the cloud keeps the watch, nobody is told. */
  async watch(asked: MetaRequest, onChange: OnChange): Promise<MetaWatch> {
    const content = this.#content(asked)
    await this.#apply(content)
    const selects = parseLabelSelector(textAt(asked.option, 'labelSelector'))
    const labelsOf = (object: JsonMap) =>
      new Map(
        Object.entries((valueAt(object, 'metadata', 'labels') ?? {}) as Record<string, string>),
      )
    const watcher: Watcher = {
      ...{ id: textAt(content, 'ID'), content, onChange, after: this.#version, added: new Set() },
      matches: (key, object) => isAt(key, asked.Key) && selects(labelsOf(object)),
    }
    for (const [key, object] of this.#kept) this.#pass(watcher, key, object)
    this.#watchers.add(watcher)
    return {
      end: () => {
        if (this.#watchers.delete(watcher)) void this.#sync()
      },
    }
  }

  /** The edge is connected: the cloud is told which watches there are. */
  connected(): void {
    void this.#sync()
  }

  /** The cloud sent an object. */
  received({ route: { operation }, content }: Frame): void {
    if (!isMap(content)) return
    const key = keyOf(content)
    if (key === undefined) return
    const isGone = operation === 'delete'
    if (isGone) this.#kept.delete(key)
    else this.#keep(content)
    for (const watcher of this.#watchers)
      if (versionOf(content) > watcher.after) this.#pass(watcher, key, content, isGone)
  }

  #pass(watcher: Watcher, key: string, object: JsonMap, isGone = false): void {
    const { added, matches, onChange } = watcher
    if (!isGone && matches(key, object)) {
      onChange(added.has(key) ? 'MODIFIED' : 'ADDED', object)
      added.add(key)
    } else if (added.delete(key) || (isGone && matches(key, object))) onChange('DELETED', object)
  }

  #keep(object: JsonMap): void {
    const key = keyOf(object)
    if (key === undefined) return
    this.#kept.set(key, object)
    const version = versionOf(object)
    if (version > this.#version) this.#version = version
  }

  #content({ Verb, Key, Subresource = '', option = {}, body }: MetaRequest): JsonMap {
    const Option = bytes(option)
    const ReqBody = bytes(body)
    const words = [this.#node, Key, Verb, Option, ReqBody, Subresource].join('')
    return {
      ...{ ID: createHash('sha256').update(words).digest('hex'), Key, Verb, Nodename: this.#node },
      ...{ Option, ReqBody, Subresource, Status: 'PreApplying' },
    }
  }

  async #apply(content: JsonMap): Promise<MetaAnswer> {
    const route = { source: 'metaserver', group: 'dynamiccontroller' }
    const answer = await this.#askAs({ ...route, operation: 'null', resource: 'null' }, content)
    if (answer.kind === 'failed') return status(500, `failed to access cloud: ${answer.reason}`)
    const { content: answered } = answer.frame
    if (textAt(answered, 'Status') !== 'Approved') {
      const code = valueAt(answered, 'Error', 'ErrStatus', 'code')
      const message = textAt(answered, 'Error', 'ErrStatus', 'message')
      return status(typeof code === 'number' ? code : 500, message || textAt(answered, 'Reason'))
    }
    const text = Buffer.from(textAt(answered, 'RespBody'), 'base64').toString()
    return { code: 200, body: text === '' ? {} : (JSON.parse(text) as JsonMap) }
  }

  async #sync(): Promise<void> {
    const all = [...this.#watchers].map(({ id, content }) => [id, content] as const)
    const route = { source: 'metaserver', group: 'dynamiccontroller' }
    const named = { ...route, operation: 'null', resource: 'watchapp/sync' }
    await this.#askAs(named, Object.fromEntries(all))
  }
}
