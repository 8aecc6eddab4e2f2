// SPDX-License-Identifier: Apache-2.0
// Odd objects and odd requests, straight at a real apiserver and through the wrapper: both must answer the same, but for a
// closed list. The wrapper must not end, lose an event, or grow.
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { sleep, systemClock } from '../../../../core/clock.js'
import type { Json } from '../../../../sandbox/api-client.js'
import type { Child } from '../../../../sandbox/child.js'
import { seededRandom } from '../../../support/seeded-random.js'
import { StandInAgent } from '../../../support/stand-in-agent.js'
import { startWrapper } from '../../../support/wrapper-process.js'
import type { ControlPlane } from '../../control-plane/control-plane.js'
import { differences, expectedOf } from '../expected.js'
import type { Dump } from '../informer.js'
import { ALLOWED, compare, type Allowed, type Compared } from './compare.js'
import { FaultList } from './fault-list.js'
import { KINDS } from './objects.js'
import { callRaw, type Door, type RawAnswer, type RawCall } from './raw-call.js'
import { drawStep, JSON_TYPE, PLACES, PROTOBUF_TYPE, type Rewrite, type Step } from './steps.js'
import { Watcher } from './watcher.js'

export interface FuzzParts {
  readonly plane: ControlPlane
  /** The bundle. */
  readonly script: string
  readonly seed: number
  readonly requests: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

type SideName = 'straight' | 'wrapped'

const PORT = 51_006
const STATUS_PORT = 51_007
const API_PORT = 6_443
const CHECK_EVERY = 250
/** A read from the wrapper's store may be so much behind the apiserver. */
const CATCH_UP_MS = 5_000
/** The memory limit of its pod. */
const MOST_MIB = 192
/** Kept connections of its own upstream. */
const MORE_FILES = 60

const LISTS = {
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpoints: '/api/v1/endpoints',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const

const isRead = ({ method }: RawCall): boolean => /^(GET|HEAD|OPTIONS)$/.test(method)

class Fuzz {
  readonly #parts: FuzzParts
  readonly #agent = new StandInAgent()
  readonly #dead = new Set<string>()
  readonly #counts = new Map<string, number>()
  readonly #statuses = new Map<number, number>()
  readonly #allowed = new Map<Allowed, number>(ALLOWED.map(name => [name, 0]))
  readonly #watchers = Object.values(LISTS).map(path => new Watcher(PORT, path))
  readonly faults: FaultList
  #wrapper: Child | undefined
  #mostMib = 0
  #descriptors = 0

  constructor(parts: FuzzParts) {
    this.#parts = parts
    this.faults = new FaultList(parts.say)
  }

  async start(): Promise<void> {
    const { plane, script, signal } = this.#parts
    const apply = (object: Json): Promise<string> =>
      plane.kubectl(['apply', '-f', '-'], JSON.stringify(object))
    for (const [i, name] of PLACES.entries()) {
      const labels = { zone: i < 2 ? 'a' : 'b', 'kubernetes.io/hostname': name }
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
    }
    for (const side of ['straight', 'wrapped'])
      await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `fuzz-${side}` } })
    const localInfo = await this.#agent.start()
    this.#agent.tell(new Map(PLACES.map(name => [name, true])))
    this.#wrapper = await startWrapper({
      ...{ script, signal, localInfo, node: PLACES[0], port: PORT, statusPort: STATUS_PORT },
      kubeconfig: join(plane.dir, 'kubeconfig'),
      stateDir: join(plane.dir, 'wrapper'),
    })
    for (const watcher of this.#watchers) await watcher.start(plane.adminToken)
    this.#descriptors = this.#openFiles()
  }

  async run(): Promise<void> {
    const { requests, seed, signal, say } = this.#parts
    const random = seededRandom(seed)
    for (let nth = 1; nth <= requests; nth++) {
      signal.throwIfAborted()
      const step = drawStep(random)
      this.#counts.set(step.what, (this.#counts.get(step.what) ?? 0) + 1)
      const found = await this.#play(step)
      if (found !== undefined) this.#fault(nth, step, found)
      if (this.#wrapper?.end !== undefined)
        throw new Error(
          `request ${nth} ended the wrapper:\n${this.#wrapper.lastLines(15).join('\n')}`,
        )
      if (nth % CHECK_EVERY === 0 || nth === requests) {
        await this.#check(nth)
        say(`  ${nth}: ${this.faults.total} faults, ${this.#mostMib.toFixed(0)} MiB at most`)
      }
    }
  }

  /** Counts of everything that was done and allowed. */
  table(): readonly string[] {
    const rows = [...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1))
    const statuses = [...this.#statuses].toSorted(([a], [b]) => a - b)
    const events = this.#watchers.reduce((sum, each) => sum + each.events, 0)
    return [
      ...rows.map(([what, count]) => `  ${String(count).padStart(6)}  ${what}`),
      `  answers straight: ${statuses.map(([status, count]) => `${count} × ${status}`).join(', ')}`,
      `  allowed: ${[...this.#allowed].map(([name, count]) => `${count} × ${name}`).join(', ')}`,
      `  ${events} events of 4 watches, ${this.#mostMib.toFixed(0)} MiB at most`,
    ]
  }

  async stop(): Promise<void> {
    for (const watcher of this.#watchers) watcher.stop()
    await this.#wrapper?.kill()
    await this.#agent.stop()
  }

  async #play(step: Step): Promise<string | undefined> {
    switch (step.kind) {
      case 'call':
        return this.#playCall(step.what, step.call)
      case 'rewrite':
        return this.#playRewrite(step.rewrite)
      case 'broken off':
        await this.#send('wrapped', step.call)
        return undefined
      case 'noise':
        await this.#makeNoise(step.bytes)
        return undefined
      case 'health':
        if (!this.#dead.delete(step.node)) this.#dead.add(step.node)
        this.#agent.tell(new Map([[step.node, !this.#dead.has(step.node)]]))
        return undefined
    }
  }

  /** Reads of the wrapper may be a moment behind; what differs must go away. */
  async #playCall(what: string, call: RawCall): Promise<string | undefined> {
    const straight = await this.#send('straight', call)
    this.#statuses.set(straight.status, (this.#statuses.get(straight.status) ?? 0) + 1)
    let compared = compare(straight, await this.#send('wrapped', call))
    const until = performance.now() + CATCH_UP_MS
    const isNews = compared.kind === 'different' && !this.faults.isKnown(what, compared.how)
    while (compared.kind === 'different' && isNews && isRead(call) && performance.now() < until) {
      await sleep(systemClock, 50, this.#parts.signal)
      compared = compare(await this.#send('straight', call), await this.#send('wrapped', call))
    }
    return this.#note(compared)
  }

  async #playRewrite(rewrite: Rewrite): Promise<string | undefined> {
    const answers: RawAnswer[] = []
    for (const side of ['straight', 'wrapped'] as const) {
      const call = await this.#rewriting(side, rewrite)
      if (call === undefined) return undefined
      answers.push(await this.#send(side, call))
    }
    const compared = compare(answers[0]!, answers[1]!)
    // Refused as it should be: the other side goes on with the change made straight.
    if (answers[1]!.status === 409 && answers[0]!.status !== 409) {
      const call = await this.#rewriting('wrapped', rewrite, 'straight')
      if (call !== undefined) await this.#send('wrapped', call, 'straight')
    }
    return this.#note(compared)
  }

  /** The write that follows a read; undefined when there is nothing to read. */
  async #rewriting(
    side: SideName,
    { resource, name, how, form }: Rewrite,
    door: SideName = side,
  ): Promise<RawCall | undefined> {
    const target = `${KINDS[resource].path}/${name}`
    const type = form === 'json' ? JSON_TYPE : PROTOBUF_TYPE
    const read = async (accept: string): Promise<RawAnswer> =>
      this.#send(
        side,
        { method: 'GET', target, headers: [['Accept', accept]], body: undefined },
        door,
      )
    await this.#caughtUp(side, target, door)
    const json = await read(JSON_TYPE)
    if (json.status !== 200) return undefined
    const text = json.body.toString('utf8')
    const version = /"resourceVersion": ?"(\d+)"/.exec(text)?.[1]
    const headers = (contentType: string): RawCall['headers'] => [
      ['Accept', JSON_TYPE],
      ['Content-Type', contentType],
    ]
    const metadata = JSON.stringify({
      metadata: { resourceVersion: version, labels: { rewritten: 'yes' } },
    })
    switch (how) {
      case 'put':
        return {
          method: 'PUT',
          target,
          headers: headers(JSON_TYPE),
          body: text.replace('"fuzz":"yes"', '"fuzz":"yes","put":"yes"'),
        }
      case 'put back':
        return {
          ...{ method: 'PUT', target, headers: headers(type) },
          body: form === 'json' ? text : (await read(PROTOBUF_TYPE)).body,
        }
      case 'merge patch':
        return {
          method: 'PATCH',
          target,
          headers: headers('application/merge-patch+json'),
          body: metadata,
        }
      case 'json patch':
      case 'json patch with version': {
        const ops = [
          ...(how === 'json patch with version'
            ? [{ op: 'test', path: '/metadata/resourceVersion', value: version }]
            : [{ op: 'test', path: '/metadata/labels/fuzz', value: 'yes' }]),
          { op: 'add', path: '/metadata/labels/jsonpatched', value: 'yes' },
        ]
        return {
          method: 'PATCH',
          target,
          headers: headers('application/json-patch+json'),
          body: JSON.stringify(ops),
        }
      }
      case 'delete': {
        const body = JSON.stringify({
          kind: 'DeleteOptions',
          apiVersion: 'v1',
          preconditions: { resourceVersion: version },
        })
        return { method: 'DELETE', target, headers: headers(JSON_TYPE), body }
      }
    }
  }

  /** A read before a write must be of the newest object on both sides. */
  async #caughtUp(side: SideName, target: string, door: SideName): Promise<void> {
    if (door === 'straight') return
    const call = {
      method: 'GET',
      target,
      headers: [['Accept', JSON_TYPE] as const],
      body: undefined,
    }
    const until = performance.now() + CATCH_UP_MS
    while (performance.now() < until) {
      const direct = await this.#send(side, call, 'straight')
      if (compare(direct, await this.#send(side, call)).kind === 'same') return
      await sleep(systemClock, 20, this.#parts.signal)
    }
  }

  /** @param door through which; a side's objects may be reached straight, too */
  #send(side: SideName, call: RawCall, door: SideName = side): Promise<RawAnswer> {
    const { plane } = this.#parts
    const own = (text: string): string =>
      text.replaceAll('{ns}', `fuzz-${side}`).replaceAll('{side}', `-${side}`)
    const at: Door =
      door === 'straight' ? { port: API_PORT, ca: plane.ca } : { port: PORT, ca: undefined }
    const headers: RawCall['headers'] = [
      ['Host', `127.0.0.1:${at.port}`],
      ['Authorization', `Bearer ${plane.adminToken}`],
      ...call.headers,
    ]
    return callRaw(at, {
      ...call,
      ...{ target: own(call.target), headers },
      body: typeof call.body === 'string' ? own(call.body) : call.body,
    })
  }

  #note(compared: Compared): string | undefined {
    if (compared.kind === 'different') return compared.how
    for (const name of compared.allowed) this.#allowed.set(name, this.#allowed.get(name)! + 1)
    return undefined
  }

  #makeNoise(bytes: Buffer): Promise<void> {
    return new Promise(resolve => {
      const socket = connect(PORT, '127.0.0.1', () => socket.end(bytes))
      const timer = setTimeout(() => socket.destroy(), 500)
      socket.on('error', () => undefined).resume()
      socket.on('close', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #fault(nth: number, step: Step, how: string): void {
    const call = step.kind === 'call' ? step.call : step.kind === 'rewrite' ? step.rewrite : {}
    const where = `request ${nth}, ${step.what}: ${JSON.stringify(call).slice(0, 500)}`
    this.faults.add(step.what, how, where)
  }

  /** All lists as the rules say, all watches as the lists, and not too much memory. */
  async #check(nth: number): Promise<void> {
    const until = performance.now() + CATCH_UP_MS
    let trouble = await this.#compareAll()
    while (trouble !== undefined && performance.now() < until) {
      await sleep(systemClock, 100, this.#parts.signal)
      trouble = await this.#compareAll()
    }
    const say = (how: string): void => this.faults.add('check', how, `after request ${nth}`)
    if (trouble !== undefined) say(trouble)
    const mib = this.#residentMib()
    this.#mostMib = Math.max(this.#mostMib, mib)
    if (mib > MOST_MIB) say(`the wrapper takes ${mib.toFixed(0)} MiB, limit ${MOST_MIB}`)
    const more = this.#openFiles() - this.#descriptors
    if (more > MORE_FILES) say(`the wrapper keeps ${more} more descriptors than at the start`)
    for (const watcher of this.#watchers) {
      if (watcher.trouble !== undefined) say(watcher.trouble)
      watcher.trouble = undefined
    }
  }

  async #compareAll(): Promise<string | undefined> {
    const list = async (side: SideName): Promise<Dump> => {
      const lists = Object.entries(LISTS).map(async ([resource, target]) => {
        const call = {
          method: 'GET',
          target,
          headers: [['Accept', JSON_TYPE] as const],
          body: undefined,
        }
        const { body } = await this.#send(side, call)
        const { items } = JSON.parse(body.toString('utf8')) as { items: readonly Json[] }
        return [resource, items.map(withoutVersion)] as const
      })
      return Object.fromEntries(await Promise.all(lists)) as unknown as Dump
    }
    const truth = { self: PLACES[0], dead: this.#dead, known: new Set(PLACES) }
    const listed = await list('wrapped')
    const [first] = differences(expectedOf(await list('straight'), truth), listed)
    if (first !== undefined) return `a list is not what it should be: ${first.slice(0, 2_000)}`
    const watched = Object.fromEntries(
      Object.keys(LISTS).map((resource, i) => [
        resource,
        [...this.#watchers[i]!.objects.values()].map(withoutType),
      ]),
    ) as unknown as Dump
    const [lost] = differences(listed, watched)
    return lost === undefined ? undefined : `a watch lost an event: ${lost.slice(0, 2_000)}`
  }

  get #pid(): number {
    return this.#wrapper?.pid ?? 0
  }

  #residentMib(): number {
    const status = readFileSync(`/proc/${this.#pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024
  }

  #openFiles(): number {
    return readdirSync(`/proc/${this.#pid}/fd`).length
  }
}

const without = (object: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

const withoutVersion = (object: Json): Json => ({
  ...object,
  metadata: without(object['metadata'] as Json, 'resourceVersion'),
})

/** Objects of a list say neither kind nor version of the API. */
const withoutType = (object: Json): Json => withoutVersion(without(object, 'kind', 'apiVersion'))

/** @returns whether both sides answered the same, and the wrapper stood it. */
export const runFuzz = async (parts: FuzzParts): Promise<boolean> => {
  const { say, seed, requests } = parts
  say(`fuzz: ${requests} requests (seed ${seed})`)
  const fuzz = new Fuzz(parts)
  try {
    await fuzz.start()
    await fuzz.run()
  } catch (error) {
    parts.signal.throwIfAborted()
    fuzz.faults.add('run', (error as Error).message, 'the run ended early')
  } finally {
    await fuzz.stop()
  }
  for (const line of [...fuzz.table(), ...fuzz.faults.table()]) say(line)
  say(`fuzz: ${fuzz.faults.total} faults in ${requests} requests (seed ${seed})`)
  return fuzz.faults.total === 0
}
