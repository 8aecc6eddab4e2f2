// SPDX-License-Identifier: Apache-2.0
// Very many changes, and clients that come, go, hang and come back: each of them must be told of each change once.
import type { Random } from '../../core/random.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { FakeAgent } from '../../testkit/zone/fake-agent.js'
import { Wrapper } from './process.js'
import * as proto from './proto.js'
import type { Row } from './table.js'
import { type Resource, RESOURCES, Upstream } from './upstream.js'
import { type Account, Watcher, type WatcherOptions } from './watcher.js'

const NODES = 20
const NAMES: Readonly<Record<Resource, number>> = {
  nodes: NODES,
  services: 80,
  endpoints: 60,
  endpointslices: 200,
}
const BATCH = 400
/** So far ahead of the slowest steady watcher are the changes. */
const AHEAD = 2_500
const SETTLE_MS = 60_000

const CAST: readonly WatcherOptions[] = [
  { title: 'steady', resource: 'endpointslices', encoding: 'protobuf' },
  { title: 'steady, JSON', resource: 'endpointslices', encoding: 'json' },
  { title: 'hangs up and goes on', resource: 'endpointslices', encoding: 'protobuf' },
  { title: 'comes anew', resource: 'endpointslices', encoding: 'protobuf', isStreamed: true },
  { title: 'stalls', resource: 'endpointslices', encoding: 'protobuf' },
  { title: 'steady', resource: 'services', encoding: 'protobuf' },
  { title: 'hangs up and goes on', resource: 'services', encoding: 'json', isStreamed: true },
  { title: 'steady', resource: 'endpoints', encoding: 'protobuf', isStreamed: true },
  { title: 'steady', resource: 'nodes', encoding: 'protobuf' },
]

const nodeOf = (nth: number): string => `edge-${nth}`

const identity = (
  resource: Resource,
  name: string,
  version: number,
  n: number,
): proto.Identity => ({
  name,
  version,
  namespace: resource === 'nodes' ? '' : 'default',
  labels:
    resource === 'endpointslices'
      ? { 'kubernetes.io/service-name': `services-${Number(name.split('-')[1]) % 80}` }
      : {},
  annotations: { n: String(n), s: String(version) },
})

class Changes {
  readonly #upstream: Upstream
  readonly #random: Random
  done = 0

  constructor(upstream: Upstream, random: Random) {
    this.#upstream = upstream
    this.#random = random
  }

  one(): void {
    const draw = this.#random.below(100)
    const resource = draw < 80 ? 'endpointslices' : RESOURCES[draw % 3]!
    const name = `${resource}-${this.#random.below(NAMES[resource])}`
    this.done++
    if (this.#upstream.has(resource, name) && this.#random.below(20) === 0)
      this.#upstream.remove(resource, name, this.#makes(resource, name))
    else this.put(resource, name)
  }

  put(resource: Resource, name: string): void {
    this.#upstream.put(resource, name, this.#makes(resource, name))
  }

  #makes(resource: Resource, name: string): (version: number, n: number) => Buffer {
    return (version, n) => this.#make(resource, name, version, n)
  }

  #make(resource: Resource, name: string, version: number, n: number): Buffer {
    const about = identity(resource, name, version, n)
    const some = (): readonly proto.Endpoint[] =>
      Array.from({ length: 1 + this.#random.below(4) }, (_, i) => ({
        address: `10.1.${n % 250}.${i + 1}`,
        node: nodeOf(this.#random.below(NODES)),
      }))
    switch (resource) {
      case 'nodes':
        return proto.node(about, '10.202.0.1')
      case 'services':
        return proto.service(about, '10.96.0.9')
      case 'endpoints':
        return proto.endpoints(about, some())
      case 'endpointslices':
        return proto.slice(about, some())
    }
  }
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const isEqual = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a.size === b.size && [...a].every(([name, n]) => b.get(name) === n)

const FAULTS = ['lost', 'repeated', 'disordered', 'contradicted'] as const

const describe = ({ title, resource, account }: Watcher): string => {
  const { events, expired, resumed, lists } = account
  const faults = FAULTS.map(name => `${account[name]} ${name}`).join(', ')
  return `  ${resource} ${title}: ${events} events, ${lists} lists, ${resumed} watches, ${expired} times 410; ${faults}`
}

export interface LossOptions {
  readonly changes: number
  readonly seed: number
  /** Without a wrapper between: what the bench itself would count. */
  readonly isStraight: boolean
}

class Trial {
  readonly #upstream = new Upstream()
  readonly #agent = new FakeAgent()
  readonly #random: Random
  readonly #changes: Changes
  readonly #watchers: Watcher[] = []
  #wrapper: Wrapper | undefined

  constructor({ seed }: LossOptions) {
    this.#random = seededRandom(seed)
    this.#changes = new Changes(this.#upstream, this.#random)
  }

  async start(isStraight: boolean): Promise<void> {
    for (const resource of RESOURCES)
      for (let i = 0; i < NAMES[resource]; i++) this.#changes.put(resource, `${resource}-${i}`)
    const names = Array.from({ length: NODES }, (_, i) => nodeOf(i))
    this.#agent.publish(new Map(names.map(name => [name, true])))
    const localInfo = await this.#agent.start()
    const upstream = { url: await this.#upstream.start() }
    if (!isStraight) this.#wrapper = await Wrapper.start(upstream, { node: nodeOf(0), localInfo })
    // The played apiserver speaks protobuf alone.
    const cast = CAST.filter(({ encoding }) => !isStraight || encoding === 'protobuf')
    for (const options of cast) {
      const watcher = new Watcher(this.#wrapper?.api ?? upstream, options)
      this.#watchers.push(watcher)
      watcher.start()
    }
    while (!this.#watchers.every(watcher => watcher.isReady)) await pause(20)
  }

  async run(changes: number, say: (line: string) => void): Promise<void> {
    const tenth = Math.max(BATCH, Math.floor(changes / 10))
    const startedAt = performance.now()
    while (this.#changes.done < changes) {
      for (let i = 0; i < BATCH; i++) this.#changes.one()
      this.#disturb()
      if (this.#changes.done % tenth < BATCH) {
        const perSecond = (1_000 * this.#changes.done) / (performance.now() - startedAt)
        say(`  ${this.#changes.done} changes, ${perSecond.toFixed(0)} a second`)
      }
      await this.#keepUp()
    }
  }

  /** @returns what is wrong in the end, beside the accounts. */
  async settle(): Promise<readonly string[]> {
    const end = performance.now() + SETTLE_MS
    const wrong = (): readonly string[] =>
      this.#watchers
        .filter(({ resource, state }) => !isEqual(state, this.#upstream.state(resource)))
        .map(({ resource, title }) => `${resource} ${title}: holds something else in the end`)
    while (wrong().length > 0 && performance.now() < end) await pause(50)
    return wrong()
  }

  get accounts(): readonly Watcher[] {
    return this.#watchers
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watchers.map(watcher => watcher.stop()))
    await this.#wrapper?.stop()
    await this.#agent.stop()
    await this.#upstream.stop()
  }

  /** Clients that do not go on quietly, and health that changes now and then. */
  #disturb(): void {
    for (const watcher of this.#watchers) {
      const isDue = this.#random.below(12) === 0
      if (!isDue) continue
      if (watcher.title.startsWith('hangs up')) watcher.hangUp()
      if (watcher.title === 'comes anew') watcher.startAnew()
      if (watcher.title === 'stalls') void watcher.stall(400)
    }
    if (this.#random.below(8) === 0) {
      const node = nodeOf(this.#random.below(NODES))
      this.#agent.publish(new Map([[node, this.#random.below(2) === 0]]))
    }
  }

  /** The changes wait for those who read steadily: who reads is not to be pushed out. */
  async #keepUp(): Promise<void> {
    const steady = this.#watchers.filter(({ title }) => title.startsWith('steady'))
    const behind = (): boolean =>
      this.#upstream.isBehind ||
      steady.some(watcher => this.#upstream.latest(watcher.resource) - watcher.progress > AHEAD)
    const end = performance.now() + SETTLE_MS
    while (behind() && performance.now() < end) await pause(1)
    if (performance.now() > end) throw new Error('a steady watcher stands still')
  }
}

const faultsOf = (account: Account): number => FAULTS.reduce((sum, name) => sum + account[name], 0)

export const lossRows = async (
  options: LossOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> => {
  const { changes } = options
  const trial = new Trial(options)
  try {
    await trial.start(options.isStraight)
    await trial.run(changes, say)
    const wrong = await trial.settle()
    for (const watcher of trial.accounts) say(describe(watcher))
    for (const line of wrong) say(`  ${line}`)
    const sum = (name: keyof Account): number =>
      trial.accounts.reduce((total, { account }) => total + account[name], 0)
    const faults = trial.accounts.reduce((total, { account }) => total + faultsOf(account), 0)
    const steady = trial.accounts.filter(({ title }) => title.startsWith('steady'))
    const pushedOut = steady.reduce((total, { account }) => total + account.expired, 0)
    return [
      {
        what: `events lost, repeated or out of order over ${changes} changes, ${trial.accounts.length} watchers`,
        bar: '0',
        measured: `${faults + wrong.length} of ${sum('events')} (${sum('resumed')} watches, ${sum('expired')} ended with 410, ${pushedOut} of a steady one)`,
        isMet: faults + wrong.length === 0 && sum('events') >= changes,
      },
    ]
  } finally {
    await trial.stop()
  }
}
