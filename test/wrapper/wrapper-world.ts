// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { NodeHealth } from '../../wrapper/prune/decide.js'
import { Reads, type ReadsOptions } from '../../wrapper/serve/reads.js'
import type { Item } from '../../wrapper/store/item.js'
import { RESOURCES, ROWS, type Resource } from '../../wrapper/store/resources.js'
import { Store, type StoreOptions } from '../../wrapper/store/store.js'
import type { Health } from '../../wrapper/store/surroundings.js'
import { makeVersions } from '../../wrapper/store/versions.js'
import { openEnvelope, splitList } from '../../wrapper/wire/envelope.js'
import { FrameReader } from '../../wrapper/wire/frames.js'
import { fromJson } from '../../wrapper/wire/from-json.js'
import type { JsonMap } from '../../wrapper/wire/kinds.js'
import { toJson } from '../../wrapper/wire/to-json.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'

/** An object as upstream's JSON has it. */
export interface Thing extends JsonMap {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly resourceVersion?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
}

export const keyOf = ({ metadata: { namespace, name } }: Thing): string =>
  namespace === undefined ? name : `${namespace}/${name}`

export const item = (resource: Resource, thing: Thing): Item => ({
  key: keyOf(thing),
  raw: fromJson(ROWS[resource].kind, thing),
  version: thing.metadata.resourceVersion ?? '1',
})

export const node = (name: string, labels: Record<string, string> = {}, version = '1'): Thing => ({
  metadata: { name, labels, resourceVersion: version },
})

export const service = (
  name: string,
  more: {
    annotations?: Record<string, string>
    labels?: Record<string, string>
    spec?: object
  } = {},
  version = '1',
): Thing => {
  const { spec = { clusterIP: '10.96.0.1', type: 'ClusterIP' }, ...metadata } = more
  return { metadata: { name, namespace: 'default', resourceVersion: version, ...metadata }, spec }
}

/** Endpoints `1.0.0.N` on the nodes that are named. */
export const slice = (
  name: string,
  of: string,
  nodes: readonly string[],
  { version = '1', labels = {}, from = 1 } = {},
): Thing => ({
  metadata: {
    name,
    namespace: 'default',
    resourceVersion: version,
    labels: { 'kubernetes.io/service-name': of, ...labels },
  },
  addressType: 'IPv4',
  endpoints: nodes.map((nodeName, i) => ({
    addresses: [`1.0.0.${from + i}`],
    conditions: { ready: true },
    nodeName,
  })),
  ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
})

/** Health that a test sets. */
export class SetHealth implements Health {
  readonly dead = new Set<string>()
  isFresh = true
  of(name: string): NodeHealth {
    return this.dead.has(name) ? 'dead' : 'normal'
  }
}

/** A store with nothing in it. */
export const makeStore = (options: Partial<StoreOptions> = {}) => {
  const clock = new FakeClock()
  const log = recordingLog()
  const health = new SetHealth()
  const versions = makeVersions(clock.wall())
  const store = new Store(
    { self: 'a', keysMode: 'any', inCluster: true, ...options },
    { versions, health, log },
  )
  const labels = new Map<string, Thing['metadata']['labels']>()
  /** As the apiserver tells at once. */
  const reportNeighbours = (): void => {
    for (const [label, value] of store.wantedLabels) {
      const sharing = [...labels].filter(([, own]) => own?.[label] === value)
      store.setNeighbours(label, { value, names: new Set(sharing.map(([name]) => name)) })
    }
  }
  const take = (resource: Resource, things: readonly Thing[]): readonly Item[] => {
    if (resource === 'nodes')
      for (const { metadata } of things) labels.set(metadata.name, metadata.labels)
    return things.map(thing => item(resource, thing))
  }
  const put = (resource: Resource, ...things: readonly Thing[]): void => {
    for (const one of take(resource, things)) store.upstream(resource).upsert(one)
    reportNeighbours()
  }
  const replace = (resource: Resource, ...things: readonly Thing[]): void => {
    if (resource === 'nodes') labels.clear()
    store.upstream(resource).replace(take(resource, things))
    reportNeighbours()
  }
  return {
    ...{ store, clock, log, health, versions, put, replace },
    remove: (resource: Resource, key: string) => {
      if (resource === 'nodes') labels.delete(key)
      store.upstream(resource).remove(key)
      reportNeighbours()
    },
    /** Upstream has been listed, and was empty where nothing is named. */
    fill: (things: Partial<Record<Resource, readonly Thing[]>> = {}) => {
      for (const resource of RESOURCES) replace(resource, ...(things[resource] ?? []))
    },
  }
}

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
  readonly json: JsonMap
}

/** An event of a watch, whatever it was written in; the object as JSON, with its kind. */
export interface Event {
  readonly type: string
  readonly object: Thing & { readonly kind: string; readonly code?: number }
}

const read = async (response: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part)
  return Buffer.concat(parts)
}

const shapeOf = (apiVersion: string, kind: string): Parameters<typeof toJson>[0] =>
  (apiVersion.endsWith('v1beta1') ? 'EndpointSliceV1beta1' : kind) as 'Node'

/** A `k8s\0` body of one object, as JSON. */
export const opened = (body: Uint8Array): Event['object'] => {
  const { apiVersion, kind, raw } = openEnvelope(body)
  return {
    apiVersion,
    kind,
    ...toJson(shapeOf(apiVersion, kind), raw),
  } as unknown as Event['object']
}

/** A list in protobuf, as JSON. */
export const openedList = (body: Uint8Array) => {
  const { apiVersion, kind, raw } = openEnvelope(body)
  const { items, ...head } = splitList(raw)
  const shape = shapeOf(apiVersion, kind.replace(/List$/, ''))
  return {
    apiVersion,
    kind,
    ...head,
    items: items.map(one => toJson(shape, one) as unknown as Thing),
  }
}

/** Reads events, in both encodings. */
export class EventCutter {
  readonly #frames = new FrameReader(1 << 24)
  readonly #isProtobuf: boolean
  #text = ''
  constructor(type: string) {
    this.#isProtobuf = type.startsWith('application/vnd')
  }
  push(chunk: Buffer): Event[] {
    if (this.#isProtobuf)
      return this.#frames.push(chunk).map(({ type, body }) => ({ type, object: opened(body) }))
    this.#text += chunk.toString('latin1')
    const lines = this.#text.split('\n')
    this.#text = lines.pop()!
    return lines.map(line => JSON.parse(Buffer.from(line, 'latin1').toString()) as Event)
  }
}

/** An open watch. */
export interface OpenWatch {
  readonly response: IncomingMessage
  readonly events: readonly Event[]
  /** `ADDED a`, … */
  readonly received: readonly string[]
  /** Resolves when there are so many events; rejects when the stream ends before. */
  until(count: number): Promise<readonly Event[]>
  readonly ended: Promise<void>
  close(): void
}

const inShort = ({ type, object }: Event): string => {
  if (type === 'BOOKMARK') return type
  return `${type} ${object.kind === 'Status' ? object.code : object.metadata.name}`
}

const follow = (response: IncomingMessage): OpenWatch => {
  const events: Event[] = []
  const cutter = new EventCutter(response.headers['content-type']!)
  let wake = (): void => undefined
  let isOver = false
  const ended = new Promise<void>(resolve =>
    response.once('close', () => {
      isOver = true
      resolve()
      wake()
    }),
  )
  response.on('error', () => undefined)
  response.on('data', (chunk: Buffer) => {
    events.push(...cutter.push(chunk))
    wake()
  })
  return {
    ...{ response, events, ended },
    get received() {
      return events.map(inShort)
    },
    until: async count => {
      while (events.length < count && !isOver) await new Promise<void>(resolve => (wake = resolve))
      if (events.length < count) throw new Error(`the watch ended after ${events.length} events`)
      return events
    },
    close: () => response.destroy(),
  }
}

export const PROTOBUF = 'application/vnd.kubernetes.protobuf'

/** A store that is served on a loopback port. */
export const startReads = async (
  t: Test,
  options: { store?: Partial<StoreOptions>; reads?: ReadsOptions } = {},
) => {
  const world = makeStore(options.store)
  const passed: string[] = []
  const reads = new Reads(options.reads ?? {}, {
    ...world,
    random: seededRandom(1),
    passThrough: (request, response) => {
      passed.push(`${request.method} ${request.url}`)
      response.end('passed')
    },
  })
  const server = http.createServer(reads.handle)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  t.teardown(async () => {
    reads.stop()
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  const open = (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, path, method, headers, agent: false })
      request.once('response', resolve)
      request.once('error', reject)
      request.end()
    })
  return {
    ...{ ...world, reads, passed, port, open },
    /** Time moves on until it is there. */
    patiently: async <T>(asking: Promise<T>): Promise<T> => {
      const over = new AbortController()
      void asking.finally(() => over.abort())
      while (!over.signal.aborted) await world.clock.advance(1_000)
      return asking
    },
    ask: async (path: string, accept?: string, more: Record<string, string> = {}) => {
      const response = await open(path, { ...(accept === undefined ? {} : { accept }), ...more })
      const bytes = await read(response)
      const answer: Answer = {
        status: response.statusCode!,
        headers: response.headers,
        bytes,
        text: bytes.toString(),
        get json() {
          return JSON.parse(bytes.toString()) as JsonMap
        },
      }
      return answer
    },
    watch: async (path: string, accept?: string): Promise<OpenWatch> => {
      const response = await open(path, accept === undefined ? {} : { accept })
      if (response.statusCode !== 200) throw new Error(`watch: ${response.statusCode}`)
      const watching = follow(response)
      t.teardown(() => watching.close())
      return watching
    },
  }
}
