// SPDX-License-Identifier: Apache-2.0
// Very many changes, and clients that come, go, stall and come back: each is told of each change once, or told to list
// again. No sockets and no time: the same seed is the same run.
import type { ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import t from 'tap'
import { Refusal } from '../../../kube/server/status.js'
import { INITIAL_EVENTS_END, makeFormat } from '../../../wrapper/serve/formats.js'
import { present } from '../../../wrapper/serve/lists.js'
import { parseSelection } from '../../../wrapper/serve/selection.js'
import { parseTarget } from '../../../wrapper/serve/target.js'
import { Watches } from '../../../wrapper/serve/watches.js'
import { ROWS } from '../../../wrapper/store/resources.js'
import { servedBytes, type Stored } from '../../../wrapper/store/stored.js'
import { openEnvelope } from '../../../wrapper/wire/envelope.js'
import { FrameReader } from '../../../wrapper/wire/frames.js'
import { readLabels, readMeta, withVersion } from '../../../wrapper/wire/meta.js'
import { toJson } from '../../../wrapper/wire/to-json.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { makeStore, node, service, slice, type Thing } from '../wrapper-world.js'

const CHANGES = 20_000
const BATCH = 40
const NODES = Array.from({ length: 10 }, (_, i) => `edge-${i}`)
const NAMES = { nodes: 10, services: 20, endpointslices: 60 } as const
type Watched = keyof typeof NAMES

/** The far end of a response: it reads what is written, but for when it stalls. */
class Reading extends Writable {
  readonly #take: (chunk: Buffer) => void
  #go: (() => void) | undefined
  #isStalled = false

  constructor(take: (chunk: Buffer) => void) {
    super({ highWaterMark: 16_384 })
    this.#take = take
    this.on('error', () => undefined)
  }

  stall(): void {
    this.#isStalled = true
  }

  goOn(): void {
    this.#isStalled = false
    this.#go?.()
    this.#go = undefined
  }

  writeHead(): void {
    // Nobody looks at it.
  }

  flushHeaders(): void {
    // Neither here.
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const go = (): void => {
      this.#take(chunk)
      done()
    }
    if (this.#isStalled) this.#go = go
    else go()
  }
}

interface Known {
  readonly n: number
  /** All of it but the version. */
  readonly mark: string
}

interface Heard extends Known {
  readonly type: string
  readonly key: string
  readonly version: number
  readonly endsInitial: boolean
  /** Of a Status. */
  readonly code: number | undefined
}

type Cutter = (chunk: Buffer) => readonly Heard[]

const jsonCutter = (): Cutter => {
  let text = ''
  return chunk => {
    text += chunk.toString()
    const lines = text.split('\n')
    text = lines.pop()!
    return lines.map(line => {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Shown }
      const { name = '', namespace, resourceVersion, annotations = {} } = object.metadata
      return {
        type,
        key: namespace === undefined ? name : `${namespace}/${name}`,
        n: Number(annotations['n']),
        version: Number(resourceVersion),
        endsInitial: annotations[INITIAL_EVENTS_END] === 'true',
        mark: line.slice(line.indexOf('"object"')).replace(/"resourceVersion":"\d+"/, ''),
        code: object.code,
      }
    })
  }
}

interface Shown {
  readonly metadata: Partial<Thing['metadata']>
  readonly code?: number
}

const protobufCutter = (): Cutter => {
  const frames = new FrameReader(1 << 20)
  return chunk =>
    frames.push(chunk).map(({ type, body }) => {
      const { kind, raw } = openEnvelope(body)
      const { name, namespace, version, annotations } = readMeta(raw)
      return {
        type,
        key: namespace === '' ? name : `${namespace}/${name}`,
        n: Number(annotations.get('n')),
        version: Number(version),
        endsInitial: annotations.get(INITIAL_EVENTS_END) === 'true',
        mark: Buffer.from(withVersion(raw, '')).toString('latin1'),
        code: kind === 'Status' ? Number(toJson('Status', raw)['code']) : undefined,
      }
    })
}

type World = ReturnType<typeof makeStore>

type Encoding = 'json' | 'protobuf'
/** What a client does beside reading. */
type Habit = 'steady' | 'hangs up' | 'comes anew' | 'stalls'
/** Whether it asks for the state as events. */
type Cast = readonly [Habit, Watched, encoding: Encoding, streams: boolean]

class Client {
  readonly habit: Habit
  readonly held = new Map<string, Known>()
  readonly faults: string[] = []
  readonly resource: Watched
  events = 0
  expired = 0
  resumed = 0
  readonly #world: World
  readonly #watches: Watches
  readonly #encoding: Encoding
  readonly #streams: boolean
  /** How often what went had changed. */
  readonly #gone = new Map<string, number>()
  #reading: Reading | undefined
  #version = 0
  #isInside = false

  constructor([habit, resource, encoding, streams]: Cast, world: World, watches: Watches) {
    this.habit = habit
    this.resource = resource
    this.#encoding = encoding
    this.#streams = streams
    this.#world = world
    this.#watches = watches
  }

  /** Go on where it was, or begin anew. */
  connect(): void {
    if (this.#version === 0 && !this.#streams) this.#list()
    const isNew = this.#version === 0
    if (isNew) this.#forget()
    else this.resumed++
    this.#isInside = isNew
    const { target, chosen, format } = this.#asking()
    const cut = this.#cutter()
    const reading = new Reading(chunk => {
      if (reading === this.#reading) for (const heard of cut(chunk)) this.#take(heard)
    })
    this.#reading = reading
    const options = {
      version: isNew ? undefined : this.#version,
      sendsInitial: isNew ? true : undefined,
      bookmarks: true,
      seconds: 3_600,
    }
    try {
      const response = reading as unknown as ServerResponse
      this.#watches.open({ target, chosen, options, format }, response)
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 410) throw error
      this.#expire()
    }
  }

  /** It was told to list again, or its stream is over. */
  get isCut(): boolean {
    return this.#reading === undefined || this.#reading.destroyed
  }

  hangUp(): void {
    this.#reading?.destroy()
    this.#reading = undefined
    if (this.#isInside) this.#version = 0
  }

  startAnew(): void {
    this.hangUp()
    this.#version = 0
  }

  stall(): void {
    this.#reading?.stall()
  }

  goOn(): void {
    this.#reading?.goOn()
  }

  #asking() {
    const { path, version, group } = ROWS[this.resource]
    const target = parseTarget(path)!
    const apiVersion = group === '' ? version : `${group}/${version}`
    return {
      target,
      chosen: parseSelection(target, new URLSearchParams()),
      format: makeFormat(this.#encoding, ROWS[this.resource], apiVersion),
    }
  }

  /** Records as this client would know them. */
  stateOf(records: readonly Stored[]): readonly (readonly [string, Known])[] {
    const { format } = this.#asking()
    const cut = this.#cutter()
    return records
      .flatMap(record => cut(Buffer.from(format.event('ADDED', servedBytes(record)))))
      .map(({ key, n, mark }) => [key, { n, mark }])
  }

  #cutter(): Cutter {
    return this.#encoding === 'json' ? jsonCutter() : protobufCutter()
  }

  #list(): void {
    const { target, chosen } = this.#asking()
    const table = this.#world.store.table(this.resource)
    const { selection } = chosen
    const records = present(table, target, chosen).filter(
      record => selection?.(record, () => readLabels(record.raw)) ?? true,
    )
    this.#forget()
    for (const [key, known] of this.stateOf(records)) this.held.set(key, known)
    this.#version = table.versions.newest
  }

  /** A new beginning: nothing before it can have been missed. */
  #forget(): void {
    this.held.clear()
    this.#gone.clear()
  }

  #expire(): void {
    this.expired++
    this.#version = 0
    this.#reading = undefined
  }

  #take(heard: Heard): void {
    const { type, key, version } = heard
    if (type === 'ERROR') {
      if (heard.code !== 410) this.faults.push(`an ERROR ${heard.code}`)
      this.#expire()
      return
    }
    if (type === 'BOOKMARK') {
      if (heard.endsInitial) this.#isInside = false
      if (version < this.#version) this.faults.push('a bookmark that goes back')
      this.#version = version
      return
    }
    if (this.#isInside) {
      if (type !== 'ADDED') this.faults.push(`a ${type} within the state`)
      this.held.set(key, heard)
      return
    }
    this.events++
    if (version <= this.#version) this.faults.push('versions out of order')
    this.#version = version
    this.#compare(type, key, heard)
  }

  #compare(type: string, key: string, now: Known): void {
    const before = this.held.get(key)
    if ((type === 'ADDED') !== (before === undefined)) this.faults.push(`${type} against the state`)
    if (type === 'DELETED') {
      if (before !== undefined && now.n !== before.n)
        this.faults.push(`${key}: lost before it went`)
      this.held.delete(key)
      // Its going is a change of its own.
      this.#gone.set(key, now.n + 1)
      return
    }
    const last = before?.n ?? this.#gone.get(key)
    // The same change may come again with other endpoints: somebody's health changed.
    const isFlip = now.n === before?.n
    if (isFlip && now.mark === before.mark) this.faults.push(`${key}: twice`)
    if (last !== undefined && !isFlip && now.n !== last + 1)
      this.faults.push(`${key}: ${last}, then ${now.n}`)
    this.held.set(key, now)
  }
}

const CAST: readonly Cast[] = [
  ['steady', 'endpointslices', 'protobuf', true],
  ['steady', 'endpointslices', 'json', false],
  ['hangs up', 'endpointslices', 'protobuf', false],
  ['hangs up', 'services', 'json', true],
  ['comes anew', 'endpointslices', 'protobuf', true],
  ['stalls', 'endpointslices', 'protobuf', true],
  ['steady', 'nodes', 'protobuf', false],
]

/** What changes upstream. */
class Upstream {
  readonly #random = seededRandom(11)
  readonly #world: World
  readonly #counts = new Map<string, number>()
  readonly #there = new Set<string>()
  done = 0

  constructor(world: World) {
    this.#world = world
  }

  below(n: number): number {
    return this.#random.below(n)
  }

  change(): void {
    const draw = this.below(10)
    const resource = draw < 5 ? 'endpointslices' : draw < 8 ? 'services' : 'nodes'
    const name = `${resource}-${this.below(NAMES[resource])}`
    const id = `${resource} ${name}`
    this.done++
    const n = (this.#counts.get(id) ?? 0) + 1
    this.#counts.set(id, n)
    if (this.#there.has(id) && this.below(15) === 0) {
      this.#there.delete(id)
      this.#world.remove(resource, resource === 'nodes' ? name : `default/${name}`)
      return
    }
    this.#there.add(id)
    const thing = this.#make(resource, name)
    const annotations = { ...thing.metadata.annotations, n: String(n) }
    const resourceVersion = String(this.done)
    const metadata = { ...thing.metadata, annotations, resourceVersion }
    this.#world.put(resource, { ...thing, metadata })
  }

  health(): void {
    const name = NODES[this.below(NODES.length)]!
    const { health, store } = this.#world
    if (!health.dead.delete(name)) health.dead.add(name)
    store.setHealth([name])
  }

  #make(resource: Watched, name: string): Thing {
    switch (resource) {
      case 'nodes':
        return node(name, { zone: String(this.below(2)) })
      case 'services':
        return service(name, this.below(4) > 0 ? {} : { annotations: { topologyKeys: '["zone"]' } })
      case 'endpointslices': {
        const some = NODES.filter(() => this.below(3) === 0)
        return slice(name, `services-${this.below(NAMES.services)}`, some)
      }
    }
  }
}

const byKey = ([a]: readonly [string, string], [b]: readonly [string, string]): number =>
  a < b ? -1 : 1

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** One of the clients does what it is used to, or goes on after it. */
const disturb = (clients: readonly Client[], upstream: Upstream): void => {
  for (const client of clients) {
    if (client.isCut) client.connect()
    const draw = upstream.below(12)
    if (client.habit === 'hangs up' && draw === 0) client.hangUp()
    if (client.habit === 'comes anew' && draw === 0) client.startAnew()
    if (client.habit === 'stalls' && draw === 0) client.stall()
    if (client.habit === 'stalls' && upstream.below(30) === 0) client.goOn()
  }
  if (upstream.below(3) === 0) upstream.health()
}

t.test(`no event is lost or sent twice over ${CHANGES} changes`, async t => {
  const world = makeStore({ self: 'edge-0', history: { changes: 150, bytes: 1 << 18 } })
  world.fill({ nodes: NODES.map(name => node(name, { zone: '0' })) })
  const { store, clock } = world
  const watches = new Watches({
    store,
    clock,
    random: seededRandom(5),
    log: world.log,
    bookmarkMs: 50,
  })
  const clients = CAST.map(cast => new Client(cast, world, watches))
  for (const client of clients) client.connect()
  const upstream = new Upstream(world)
  while (upstream.done < CHANGES) {
    for (let i = 0; i < BATCH; i++) upstream.change()
    await turn()
    disturb(clients, upstream)
    if (upstream.done % 1_000 === 0) await clock.advance(20)
  }
  for (const client of clients) client.goOn()
  await turn()
  for (const client of clients) if (client.isCut) client.connect()
  for (let i = 0; i < 20; i++) await turn()

  for (const [i, client] of clients.entries()) {
    const title = CAST[i]!.slice(0, 3).join(', ')
    t.strictSame(client.faults, [], `${title}: nothing lost, repeated or out of order`)
    const table = world.store.table(client.resource)
    const marks = (all: Iterable<readonly [string, Known]>) =>
      [...all].map(([key, { mark }]) => [key, mark] as const).sort(byKey)
    t.strictSame(
      marks(client.held),
      marks(client.stateOf(table.list())),
      `${title}: holds what is there in the end`,
    )
    if (client.habit === 'steady') t.equal(client.expired, 0, `${title}: never pushed out`)
    if (client.habit === 'stalls') t.ok(client.expired > 2, `${title}: pushed out, and back`)
    if (client.habit === 'hangs up') t.ok(client.resumed > 10, `${title}: went on where it was`)
  }
  t.ok(clients.reduce((sum, { events }) => sum + events, 0) > CHANGES, 'they were all told')
  watches.stop()
})
