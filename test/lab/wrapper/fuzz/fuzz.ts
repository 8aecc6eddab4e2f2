// SPDX-License-Identifier: Apache-2.0
// Odd objects and odd requests, straight at a real apiserver and through the wrapper: both must answer the same, but for a
// closed list. The wrapper must not end, lose an event, or grow.
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { sleep, systemClock } from '../../../../core/clock.js'
import type { Json } from '../../../../sandbox/api-client.js'
import type { Child } from '../../../../sandbox/child.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { FakeAgent } from '../../../../testkit/zone/fake-agent.js'
import { startWrapper } from '../../../../testkit/wrapper-process.js'
import type { ControlPlane } from '../../../../testkit/control-plane/control-plane.js'
import { differences, expectedOf } from '../expected.js'
import { ALLOWED, compare, type Allowed, type Compared } from './compare.js'
import { FaultList } from './fault-list.js'
import { heldBy, listAll, LISTS } from './held.js'
import type { RawAnswer, RawCall } from './raw-call.js'
import { CATCH_UP_MS, PORT, Sides } from './sides.js'
import { PLACES, type Rewrite, type Step } from './step.js'
import { drawStep } from './steps.js'
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

const STATUS_PORT = 51_007
const CHECK_EVERY = 250
/** The memory limit of its pod. */
const MOST_MIB = 192
/** Kept connections of its own upstream. */
const MORE_FILES = 60

const isRead = ({ method }: RawCall): boolean => /^(GET|HEAD|OPTIONS)$/.test(method)

class Fuzz {
  readonly #parts: FuzzParts
  readonly #agent = new FakeAgent()
  readonly #dead = new Set<string>()
  readonly #counts = new Map<string, number>()
  readonly #statuses = new Map<number, number>()
  readonly #allowed = new Map<Allowed, number>(ALLOWED.map(name => [name, 0]))
  readonly #watchers = Object.values(LISTS).map(path => new Watcher(PORT, path))
  readonly faults: FaultList
  readonly #sides: Sides
  #wrapper: Child | undefined
  #mostMib = 0
  #descriptors = 0

  constructor(parts: FuzzParts) {
    this.#parts = parts
    this.faults = new FaultList(parts.say)
    this.#sides = new Sides(parts.plane, parts.signal)
  }

  async start(): Promise<void> {
    const { plane, script, signal } = this.#parts
    const apply = (object: Json): Promise<string> =>
      plane.kubectl(['apply', '-f', '-'], JSON.stringify(object))
    for (const [i, name] of PLACES.entries()) {
      const labels = { zone: i < 2 ? 'a' : 'b', 'kubernetes.io/hostname': name }
      await apply({ apiVersion: 'v1', kind: 'Node', metadata: { name, labels } })
    }
    for (const side of ['straight', 'wrapped', 'broken'])
      await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `fuzz-${side}` } })
    const localInfo = await this.#agent.start()
    this.#agent.publish(new Map(PLACES.map(name => [name, true])))
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
        await this.#sides.send('broken', step.call)
        return undefined
      case 'noise':
        await this.#makeNoise(step.bytes)
        return undefined
      case 'health':
        if (!this.#dead.delete(step.node)) this.#dead.add(step.node)
        this.#agent.publish(new Map([[step.node, !this.#dead.has(step.node)]]))
        return undefined
    }
  }

  /** Reads of the wrapper may be a moment behind; what differs must go away. */
  async #playCall(what: string, call: RawCall): Promise<string | undefined> {
    const straight = await this.#sides.send('straight', call)
    this.#statuses.set(straight.status, (this.#statuses.get(straight.status) ?? 0) + 1)
    let compared = compare(call, straight, await this.#sides.send('wrapped', call))
    const until = performance.now() + CATCH_UP_MS
    const isNews = compared.kind === 'different' && !this.faults.isKnown(what, compared.how)
    while (compared.kind === 'different' && isNews && isRead(call) && performance.now() < until) {
      await sleep(systemClock, 50, this.#parts.signal)
      compared = compare(
        call,
        await this.#sides.send('straight', call),
        await this.#sides.send('wrapped', call),
      )
    }
    return this.#note(compared)
  }

  async #playRewrite(rewrite: Rewrite): Promise<string | undefined> {
    const answers: { readonly call: RawCall; readonly answer: RawAnswer }[] = []
    for (const side of ['straight', 'wrapped'] as const) {
      const call = await this.#sides.rewriting(side, rewrite)
      if (call === undefined) return undefined
      answers.push({ call, answer: await this.#sides.send(side, call) })
    }
    const [{ call: written, answer: straight }, { answer: wrapped }] = answers as [
      (typeof answers)[number],
      (typeof answers)[number],
    ]
    const compared = compare(written, straight, wrapped)
    // Refused as it should be: the other side goes on with the change made straight.
    if (wrapped.status === 409 && straight.status !== 409) {
      const call = await this.#sides.rewriting('wrapped', rewrite, 'straight')
      if (call !== undefined) await this.#sides.send('wrapped', call, 'straight')
    }
    return this.#note(compared)
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

  /** The first difference in words. */
  async #compareAll(): Promise<string | undefined> {
    const truth = { self: PLACES[0], dead: this.#dead, known: new Set(PLACES) }
    const listed = await listAll(this.#sides, 'wrapped')
    const [first] = differences(expectedOf(await listAll(this.#sides, 'straight'), truth), listed)
    if (first !== undefined) return `a list is not what it should be: ${first.slice(0, 2_000)}`
    const [lost] = differences(listed, heldBy(this.#watchers))
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
