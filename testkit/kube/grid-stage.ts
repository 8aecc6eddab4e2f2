// SPDX-License-Identifier: Apache-2.0
// The grids' controller on a server of any kind, and what is done to it and looked at from outside.
import { isDeepStrictEqual } from 'node:util'
import { systemClock, type Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import { silentLog } from '../../core/log.js'
import type { EventText } from '../../controller/event-series.js'
import { GridsController } from '../../grids/run/controller.js'
import { Counters } from '../../grids/run/counters.js'
import { CHILD_RESOURCES, GRID_RESOURCES, NODES } from '../../grids/run/resources.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { statusOf, type ResourceName } from '../../kube/client/resource.js'
import { seededRandom } from '../seeded-random.js'
import type { SceneServer } from './client-scenes.js'
import { at, clientOf, never, rawType, until, type Fields, type Raw } from './raw-objects.js'
import { recorded, type SeenWrite } from './recorded-client.js'

/** After a quarter of a second, 20 ms each. */
const QUIET_TURNS = 8
const NAMESPACES: ResourceName = { group: '', version: 'v1', resource: 'namespaces' }
const RESOURCES = { ...GRID_RESOURCES, ...CHILD_RESOURCES, Node: NODES }
export type Kind = keyof typeof RESOURCES

interface StartOptions {
  readonly graceMs?: number
  readonly clock?: Clock
  /** What stands between the controller and the server. */
  readonly between?: (client: ResourceClient) => ResourceClient
}

const unchanged = (client: ResourceClient): ResourceClient => client

/** One play on a server: a namespace and a node label of its own, so that plays do not see each other. */
export class GridStage {
  readonly id: string
  readonly namespace: string
  /** Key of the node label whose values are this play's units. */
  readonly key: string
  readonly admin: ResourceClient
  readonly writes: SeenWrite[] = []
  readonly events: EventText[] = []
  readonly differences: string[] = []
  readonly counters = new Counters()
  readonly #server: Pick<SceneServer, 'url' | 'token' | 'ca'>
  readonly #nodes = new Set<string>()
  #controller: GridsController | undefined
  #abort = new AbortController()
  #leading: Promise<void> | undefined
  #client: ResourceClient | undefined

  /** @param account who the controller is to the server; undefined: the administrator */
  constructor(server: Pick<SceneServer, 'url' | 'token' | 'ca'>, id: string, account?: string) {
    this.#server = { ...server, token: account ?? server.token }
    this.id = id
    this.namespace = id
    this.key = `site-${id}`
    this.admin = clientOf(server, 'kubectl')
  }

  async open(): Promise<void> {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace } }
    await this.admin.create(rawType(NAMESPACES), {}, { body }, never)
  }

  async close(): Promise<void> {
    await this.stop()
    for (const kind of Object.keys(GRID_RESOURCES) as Kind[])
      for (const { metadata } of await this.list(kind)) await this.remove(kind, metadata.name)
    for (const name of this.#nodes)
      await this.admin.delete(NODES, { name }, {}, never).catch(() => undefined)
    await this.admin.close()
  }

  /** Begin to lead, with everything listed. */
  async start(options: StartOptions = {}): Promise<void> {
    const { graceMs = 300_000, clock = systemClock, between = unchanged } = options
    this.#client = clientOf(this.#server, 'edge-health-grids')
    const { events, counters } = this
    const client = between(recorded(this.#client, this.writes))
    this.#abort = new AbortController()
    const { signal } = this.#abort
    this.#controller = new GridsController(
      { graceMs, writesAtOnce: 16, childNewsMs: 30 },
      {
        ...{ client, clock, counters, log: silentLog, random: seededRandom(1) },
        events: { record: (_of, words) => void events.push(words) },
        guard: () => (signal.aborted ? 'stopped' : undefined),
      },
    )
    const informers = Object.values(this.#controller.tables.informers)
    for (const informer of informers) informer.start()
    await Promise.all(informers.map(informer => informer.synced))
    this.#leading = this.#controller.lead(signal)
  }

  /** End as a process does that is told to. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#leading
    await Promise.all(
      Object.values(this.#controller?.tables.informers ?? {}).map(informer => informer.stop()),
    )
    this.#controller = undefined
    await this.#client?.close()
  }

  /** Nothing was looked at for a while, in which this process had its turns: a machine that is busy stretches them. */
  async quiet(): Promise<void> {
    let last = -1
    let since = systemClock.now()
    let turns = 0
    await until('the controller rests', () => {
      const { queue } = this.#controller!
      const now = this.counters.durations.show().count + this.writes.length
      if (now !== last || queue.ready + queue.running > 0) {
        last = now
        since = systemClock.now()
        turns = 0
      }
      return systemClock.now() - since > 250 && ++turns > QUIET_TURNS
    })
  }

  /** Writes since the last call, without those of status and Events; dry runs say so. */
  async written(): Promise<readonly string[]> {
    await this.quiet()
    const all = this.writes.splice(0)
    return all
      .filter(({ what }) => !what.includes('/status'))
      .map(({ verb, what, isDryRun }) => `${isDryRun ? 'dry-run ' : ''}${verb} ${what}`)
      .sort()
  }

  same(claim: string, got: unknown, want: unknown): void {
    if (isDeepStrictEqual(got ?? null, want ?? null)) return
    this.differences.push(`${claim}: got ${JSON.stringify(got)}, wanted ${JSON.stringify(want)}`)
  }

  /** A Node in a unit of this play's label; undefined: in none. */
  async node(name: string, unit: string | undefined, more: Fields = {}): Promise<void> {
    const full = `${this.id}-${name}`
    const labels = { ...(unit === undefined ? {} : { [this.key]: unit }), ...more }
    const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: full, labels } }
    this.#nodes.add(full)
    await this.admin.create(rawType(NODES), {}, { body }, never)
  }

  async label(name: string, unit: string | null): Promise<void> {
    const patch = { type: 'merge', body: { metadata: { labels: { [this.key]: unit } } } } as const
    await this.admin.patch(rawType(NODES), { name: `${this.id}-${name}` }, { patch }, never)
  }

  removeNode(name: string): Promise<void> {
    return this.admin.delete(NODES, { name: `${this.id}-${name}` }, {}, never)
  }

  /** Make an object in this play's namespace; a grid gets the play's label as its key. */
  async make(object: Fields): Promise<Raw> {
    const { kind, spec } = object as { kind: Kind; spec: Fields }
    const metadata: Record<string, unknown> = { ...(object['metadata'] as Fields) }
    for (const field of ['uid', 'generation', 'creationTimestamp', 'namespace'])
      Reflect.deleteProperty(metadata, field)
    const isGrid = kind in GRID_RESOURCES && spec['gridUniqKey'] === 'site'
    const body = {
      ...object,
      metadata,
      ...(isGrid ? { spec: { ...spec, gridUniqKey: this.key } } : {}),
    }
    const { namespace } = this
    return this.admin.create(rawType(RESOURCES[kind]), { namespace }, { body }, never)
  }

  get(kind: Kind, name: string): Promise<Raw> {
    return this.admin.get(rawType(RESOURCES[kind]), this.#at(kind, name), never)
  }

  async find(kind: Kind, name: string): Promise<Raw | undefined> {
    try {
      return await this.get(kind, name)
    } catch (error) {
      if (error instanceof KubeStatusError && error.status === 404) return undefined
      throw error
    }
  }

  async list(kind: Kind): Promise<readonly Raw[]> {
    const { namespace } = this
    return (await this.admin.list(rawType(RESOURCES[kind]), { namespace }, never)).items
  }

  async names(kind: Kind): Promise<readonly string[]> {
    return (await this.list(kind)).map(({ metadata }) => metadata.name).sort()
  }

  /** As an operator or a program that is not ours changes an object. */
  change(kind: Kind, name: string, body: Fields, by = 'kubectl'): Promise<Raw> {
    const patch = { type: 'merge', body } as const
    const write = { patch, fieldManager: by }
    return this.admin.patch(rawType(RESOURCES[kind]), this.#at(kind, name), write, never)
  }

  changeStatus(kind: Kind, name: string, status: Fields): Promise<Raw> {
    const patch = { type: 'merge', body: { status } } as const
    const type = statusOf(rawType(RESOURCES[kind]))
    return this.admin.patch(type, this.#at(kind, name), { patch }, never)
  }

  async scale(kind: 'Deployment' | 'StatefulSet', name: string, replicas: number): Promise<void> {
    const patch = { type: 'merge', body: { spec: { replicas } } } as const
    const type = { ...rawType(RESOURCES[kind]), subresource: 'scale' as const }
    const write = { patch, fieldManager: 'kube-controller-manager' }
    await this.admin.patch(type, this.#at(kind, name), write, never)
  }

  remove(kind: Kind, name: string, propagation?: 'Orphan'): Promise<void> {
    const options = propagation === undefined ? {} : { propagation }
    return this.admin.delete(RESOURCES[kind], this.#at(kind, name), options, never)
  }

  /** `True Applied` of a grid's condition. */
  async condition(kind: Kind, name: string, type = 'Ready'): Promise<string> {
    const list = at(await this.get(kind, name), 'status.conditions')
    const all = Array.isArray(list) ? (list as readonly Fields[]) : []
    const found = all.find(each => each['type'] === type)
    return found === undefined ? 'none' : `${String(found['status'])} ${String(found['reason'])}`
  }

  async conditionBecomes(kind: Kind, name: string, type: string, want: string): Promise<void> {
    let got = ''
    try {
      await until(`${type} of ${name}`, async () => {
        got = await this.condition(kind, name, type)
        return got === want
      })
    } catch {
      this.differences.push(`${type} of ${kind} ${name}: got ${got}, wanted ${want}`)
    }
  }

  #at(kind: Kind, name: string): { readonly namespace?: string; readonly name: string } {
    return kind === 'Node' ? { name: `${this.id}-${name}` } : { namespace: this.namespace, name }
  }
}
