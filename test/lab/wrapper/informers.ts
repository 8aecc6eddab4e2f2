// SPDX-License-Identifier: Apache-2.0
// Real client-go informers through the wrapper and beside it, while a cluster changes at random: both must hold the
// same objects, but for what the wrapper cut.
import { join } from 'node:path'
import { systemClock, sleep } from '../../../core/clock.js'
import type { Json } from '../../../sandbox/api-client.js'
import type { Child } from '../../../sandbox/child.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { OWN_NODE, RESOURCES, turnOf, type Turns, Walk } from './changes.js'
import { differences, expectedOf, type Truth } from './expected.js'
import { type Digest, type Dump, Informer, type InformerOptions } from './informer.js'
import { FakeAgent } from '../../../testkit/zone/fake-agent.js'
import { startWrapper } from '../../../testkit/wrapper-process.js'

const CHANGES = 5_000
const CHECK_EVERY = 500
const SETTLE_MS = 30_000

export interface InformerParts {
  readonly plane: ControlPlane
  readonly program: string
  readonly script: string
  readonly seed: number
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

const FORMS = (['protobuf', 'json'] as const).flatMap(encoding =>
  (['streamed', 'plain'] as const).map(lists => ({ encoding, lists })),
)

const nameOf = (object: Json): string => (object['metadata'] as { name: string }).name

/** Whether a dump holds exactly what the walk left. */
const isLast = (dump: Dump, turns: Turns): boolean => {
  const held = new Map<string, number>(
    RESOURCES.flatMap(resource =>
      dump[resource].flatMap(object => {
        const turn = turnOf(object)
        return turn === undefined ? [] : [[`${resource}/${nameOf(object)}`, turn] as const]
      }),
    ),
  )
  return held.size === turns.size && [...turns].every(([key, turn]) => held.get(key) === turn)
}

const digestsOf = (digest: Digest): string => RESOURCES.map(name => digest[name].digest).join()

class Judgement {
  readonly #parts: InformerParts
  readonly #walk: Walk
  readonly #agent = new FakeAgent()
  readonly #known = new Set(Array.from({ length: 14 }, (_, i) => `n-${i}`))
  readonly #direct: Informer[] = []
  readonly #wrapped: Informer[] = []
  #wrapper: Child | undefined
  #address = ''
  checks = 0
  pruned = 0

  constructor(parts: InformerParts) {
    this.#parts = parts
    this.#walk = new Walk(parts.plane.admin, seededRandom(parts.seed), parts.signal)
  }

  async start(): Promise<void> {
    this.#address = await this.#agent.start()
    this.#agent.publish(new Map([...this.#known].map(name => [name, true])))
    await this.#walk.begin()
    await this.#startWrapper()
    const { plane } = this.#parts
    for (const form of FORMS) {
      const title = `${form.encoding}, ${form.lists} lists`
      this.#open(this.#direct, { ...form, title: `straight, ${title}`, server: plane.url })
      this.#open(this.#wrapped, { ...form, title: `wrapper, ${title}`, server: WRAPPER_URL })
    }
  }

  async #startWrapper(): Promise<void> {
    const { plane, script, signal } = this.#parts
    this.#wrapper = await startWrapper({
      ...{
        script,
        node: OWN_NODE,
        localInfo: this.#address,
        port: WRAPPER_PORT,
        statusPort: 51_007,
        signal,
      },
      kubeconfig: join(plane.dir, 'kubeconfig'),
      stateDir: join(plane.dir, 'wrapper'),
    })
  }

  #open(list: Informer[], options: Omit<InformerOptions, 'token' | 'ca' | 'node'>): void {
    const { plane, program } = this.#parts
    const isDirect = list === this.#direct
    list.push(
      new Informer(program, {
        ...options,
        token: plane.adminToken,
        ca: isDirect ? join(plane.dir, 'serving.pem') : undefined,
        // The wrapper passes other reads of nodes on, and over plain HTTP client-go sends no token.
        node: isDirect ? undefined : OWN_NODE,
      }),
    )
  }

  async run(): Promise<void> {
    const { say, signal, plane } = this.#parts
    const [, second, third] = this.#wrapped
    const faults: Readonly<Record<number, readonly [what: string, act: () => unknown]>> = {
      1_200: [`${second!.title} hangs`, () => second!.freeze()],
      1_900: ['and goes on', () => second!.thaw()],
      2_300: ['the wrapper is killed and starts again', () => this.#restartWrapper()],
      3_300: ['the apiserver starts anew, its history compacted', () => plane.forget(signal)],
      4_100: [`${third!.title} hangs`, () => third!.freeze()],
      4_400: ['and goes on', () => third!.thaw()],
    }
    for (let turn = 1; turn <= CHANGES; turn++) {
      signal.throwIfAborted()
      const fault = faults[turn]
      if (fault !== undefined) {
        say(`  ${turn}: ${fault[0]}`)
        await fault[1]()
      }
      const before = new Set(this.#walk.dead)
      await this.#walk.step()
      this.#printProgress(before)
      const isFrozen = (turn >= 1_200 && turn < 1_900) || (turn >= 4_100 && turn < 4_400)
      if (turn % CHECK_EVERY === 0 && !isFrozen) await this.#check(turn)
    }
  }

  /** What each informer saw. */
  async tallies(): Promise<void> {
    for (const informer of [...this.#direct, ...this.#wrapped]) {
      const digest = await informer.digest()
      const sum = (name: keyof Digest['nodes']['tally']): number =>
        RESOURCES.reduce((total, resource) => total + digest[resource].tally[name], 0)
      this.#parts.say(
        `  ${informer.title.padEnd(34)} ${sum('added')} added, ${sum('updated')} updated, ${sum('deleted')} deleted, ` +
          `${sum('repeated')} repeated, ${sum('older')} older`,
      )
      if (sum('older') > 0) throw new Error(`${informer.title} saw a version go back`)
    }
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#direct, ...this.#wrapped].map(informer => informer.stop()))
    await this.#wrapper?.kill()
    await this.#agent.stop()
  }

  async #restartWrapper(): Promise<void> {
    await this.#wrapper?.kill()
    await this.#startWrapper()
  }

  #printProgress(before: ReadonlySet<string>): void {
    const { dead } = this.#walk
    const changed = [...dead].filter(name => !before.has(name))
    const back = [...before].filter(name => !dead.has(name))
    const news = [...changed, ...back].filter(name => this.#known.has(name))
    if (news.length > 0) this.#agent.publish(new Map(news.map(name => [name, !dead.has(name)])))
  }

  /** Wait until all hold the same. @throws Error that shows what does not come. */
  async #check(turn: number): Promise<void> {
    const { say, signal } = this.#parts
    const startedAt = performance.now()
    for (;;) {
      const trouble = await this.#compare()
      const tookMs = performance.now() - startedAt
      if (trouble === undefined) {
        this.checks++
        say(
          `  ${turn}: all eight agree after ${Math.round(tookMs)} ms; ${this.pruned} endpoints cut`,
        )
        return
      }
      if (tookMs > SETTLE_MS)
        throw new Error(`after change ${turn} (seed ${this.#parts.seed}): ${trouble}`)
      await sleep(systemClock, 100, signal)
    }
  }

  async #compare(): Promise<string | undefined> {
    const trouble = (await this.#unlike(this.#direct)) ?? (await this.#unlike(this.#wrapped))
    if (trouble !== undefined) return trouble
    const file = join(this.#parts.plane.dir, 'dump.json')
    const direct = await this.#direct[0]!.dump(file)
    if (!isLast(direct, this.#walk.turns))
      return `${this.#direct[0]!.title} has not heard everything`
    const found = await this.#wrapped[0]!.dump(file)
    const truth: Truth = { self: OWN_NODE, dead: this.#walk.dead, known: this.#known }
    const whole = expectedOf(direct, truth)
    const expected = { ...whole, nodes: whole.nodes.filter(node => nameOf(node) === OWN_NODE) }
    const different = differences(expected, found)
    this.pruned = countEndpoints(direct) - countEndpoints(expected)
    if (different.length === 0) return undefined
    return `${different.length} objects differ behind the wrapper\n${different.slice(0, 3).join('\n')}`
  }

  async #unlike(informers: readonly Informer[]): Promise<string | undefined> {
    const digests = await Promise.all(informers.map(informer => informer.digest()))
    const odd = digests.findIndex(digest => digestsOf(digest) !== digestsOf(digests[0]!))
    if (odd < 0) return undefined
    const what = RESOURCES.filter(name => digests[odd]![name].digest !== digests[0]![name].digest)
    return `${informers[odd]!.title} and ${informers[0]!.title} hold different ${what.join(', ')}`
  }
}

const WRAPPER_PORT = 51006
const WRAPPER_URL = `http://127.0.0.1:${WRAPPER_PORT}`

const countEndpoints = ({ endpointslices }: Dump): number =>
  endpointslices.reduce((sum, slice) => sum + ((slice['endpoints'] ?? []) as []).length, 0)

/** @returns whether all held the same, always. */
export const runInformers = async (parts: InformerParts): Promise<boolean> => {
  const { say, seed } = parts
  say(`informers: ${CHANGES} changes (seed ${seed})`)
  const judgement = new Judgement(parts)
  try {
    await judgement.start()
    await judgement.run()
    await judgement.tallies()
    say(`held: ${judgement.checks} comparisons of eight informers`)
    return true
  } catch (error) {
    parts.signal.throwIfAborted()
    say(`NOT held: ${(error as Error).message}`)
    return false
  } finally {
    await judgement.stop()
  }
}
