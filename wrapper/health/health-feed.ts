// SPDX-License-Identifier: Apache-2.0
import { sleep, withTimeout, type Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'
import type { AgentAnswer, AskAgent } from './agent-client.js'
import { readDocument, withQuery } from './agent-document.js'
import { EventReader, type ServerEvent } from './event-reader.js'
import type { FeedStatus, HealthFeed } from './feed.js'
import { Freshness } from './freshness.js'
import { KnownHealth, type NodeAddresses } from './known-health.js'
import { parseLocalInfo } from './local-info.js'

/** Where health comes from, and how long it is used. */
export interface FeedOptions {
  /** URL of the agent's `/localinfo`. */
  readonly address: string
  /** How often an agent without `/localinfo?stream` is asked. */
  readonly intervalMs: number
  /** How long the last report is used after the agent fell silent. */
  readonly limitMs: number
}

/** What the feed needs of the world. */
export interface FeedSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly ask: AskAgent
  readonly addresses: NodeAddresses
  /** Nodes whose endpoints this node uses, most important first. */
  readonly interest: () => readonly string[]
  /** Called when the health of these nodes, or its freshness, may have changed. */
  readonly onChange: (names: readonly string[]) => void
}

/** Time limit for headers, and for a whole document. */
const ANSWER_MS = 5_000
/** Agents send a comment every 15 s: two may be late. */
const SILENCE_MS = 40_000
/**
 * Interval at which the whole document is requested while a stream is open: it passes our interest on, and detects an agent
 * that hangs.
 */
const LOOK_MS = 15_000
const FIRST_WAIT_MS = 250
const LAST_WAIT_MS = 5_000
/** Most nodes that an agent accepts as interest. */
const MAX_INTEREST = 32
/** Most of their names in an address: an agent refuses requests whose headers and address take more than 8 KiB. */
const MAX_INTEREST_BYTES = 6 << 10

const SEPARATOR = encodeURIComponent(',')

/** The first of these names, as many as fit into a request. */
const fitting = (names: readonly string[]): readonly string[] => {
  let bytes = 0
  return names.filter(({ length }) => {
    bytes += length + SEPARATOR.length
    return bytes <= MAX_INTEREST_BYTES
  })
}

class Feed implements HealthFeed {
  readonly #options: FeedOptions
  readonly #seams: FeedSeams
  readonly #known: KnownHealth
  readonly #freshness: Freshness
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #failures = 0
  #connects = 0
  #events = 0
  /** Names that the last answered request had no room for: the next begins with them, and an agent remembers names for a minute. */
  #unnamed: ReadonlySet<string> = new Set()
  /** A whole report arrived while the present stream was open. Until then the stream says nothing about the last report. */
  #hasReport = false

  constructor(options: FeedOptions, seams: FeedSeams) {
    this.#options = options
    this.#seams = seams
    this.#known = new KnownHealth(seams.addresses)
    const { clock, log } = seams
    this.#freshness = new Freshness(options, { clock, log, onExpired: () => this.#expired() })
  }

  of(name: string): 'normal' | 'dead' | 'unknown' {
    return this.#known.of(name)
  }

  get isFresh(): boolean {
    return this.#freshness.isFresh
  }

  get status(): FeedStatus {
    return {
      ...this.#freshness.status,
      nodes: this.#known.size,
      dead: this.#known.dead(),
      connects: this.#connects,
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    this.#freshness.stop()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const waitMs = await this.#turn(signal)
      await sleep(this.#seams.clock, waitMs, signal)
    }
  }

  /** Run one stream from beginning to end, or one poll. @returns how long to wait before the next */
  async #turn(signal: AbortSignal): Promise<number> {
    const { random } = this.#seams
    const { intervalMs } = this.#options
    try {
      const source = await this.#listen(signal)
      if (source === 'poll') return jitter(random, intervalMs, 0.1)
      this.#freshness.complain('the agent ended the stream')
    } catch (error) {
      if (signal.aborted) return 0
      this.#freshness.complain(reasonOf(error))
    }
    const nominal = Math.min(LAST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(10, this.#failures++))
    // A SuperEdge agent that does not answer is polled again at the usual interval.
    return jitter(
      random,
      this.#freshness.source === 'poll' ? Math.min(nominal, intervalMs) : nominal,
      0.3,
    )
  }

  async #listen(signal: AbortSignal): Promise<'push' | 'poll'> {
    const { clock, ask } = this.#seams
    const { url, answered } = this.#request({ stream: '1' })
    const streamEnd = new AbortController()
    const end = (): void => streamEnd.abort(signal.reason)
    signal.addEventListener('abort', end, { once: true })
    try {
      const first = await withTimeout(clock, ANSWER_MS, streamEnd.signal, async inner => {
        // The response outlives this time limit: from now on only the end of the stream aborts it.
        inner.addEventListener('abort', () => streamEnd.abort(inner.reason), { once: true })
        const answer = await ask(url, streamEnd.signal)
        if (answer.status !== 200) throw new Error(`the agent answers ${answer.status}`)
        answered()
        if (answer.isStream) return answer
        this.#takeDocument(await readDocument(answer.chunks))
        return undefined
      })
      if (first === undefined) {
        this.#heard('poll')
        return 'poll'
      }
      await this.#follow(first, streamEnd)
      return 'push'
    } finally {
      signal.removeEventListener('abort', end)
      streamEnd.abort(new Error('over'))
    }
  }

  async #follow(answer: AgentAnswer, life: AbortController): Promise<void> {
    const { clock } = this.#seams
    this.#connects++
    this.#hasReport = false
    let spokeAt = clock.now()
    let cancel: () => void = () => undefined
    const watch = (): void => {
      const leftMs = spokeAt + SILENCE_MS - clock.now()
      if (leftMs <= 0) life.abort(new Error(`the agent says nothing for ${SILENCE_MS} ms`))
      else cancel = clock.after(leftMs, watch)
    }
    watch()
    const looking = this.#keepLooking(life)
    try {
      const reader = new EventReader()
      for await (const chunk of answer.chunks) {
        spokeAt = clock.now()
        for (const event of reader.push(chunk)) this.#takeEvent(event)
        this.#spoke()
      }
    } catch (error) {
      throw life.signal.aborted ? (life.signal.reason as Error) : error
    } finally {
      cancel()
      life.abort(new Error('over'))
      await looking
    }
  }

  /** Request the document repeatedly while a stream is open: an agent that hangs keeps its connections open. */
  async #keepLooking(life: AbortController): Promise<void> {
    const { clock, random, ask } = this.#seams
    while (await sleep(clock, jitter(random, LOOK_MS, 0.1), life.signal)) {
      const before = this.#events
      const { url, answered } = this.#request({})
      try {
        const text = await withTimeout(clock, ANSWER_MS, life.signal, async inner => {
          const { status, chunks } = await ask(url, inner)
          if (status !== 200) throw new Error(`the agent answers ${status}`)
          answered()
          return readDocument(chunks)
        })
        // Responses of two connections have no order: if an event arrived in the meantime, that is newer.
        if (before !== this.#events || life.signal.aborted) continue
        this.#takeDocument(text)
        this.#heard('push')
      } catch (error) {
        life.abort(error)
      }
    }
  }

  /** Call `answered` when the agent has taken the names of this request. */
  #request(query: Readonly<Record<string, string>>): {
    readonly url: string
    readonly answered: () => void
  } {
    const turnOf = (name: string): number => (this.#unnamed.has(name) ? 0 : 1)
    const all = this.#seams.interest().slice(0, MAX_INTEREST)
    const names = fitting([...all].sort((a, b) => turnOf(a) - turnOf(b)))
    const interest = names.length === 0 ? {} : { interest: names.join(',') }
    const answered = (): void => {
      this.#unnamed = new Set(all.filter(name => !names.includes(name)))
    }
    return { url: withQuery(this.#options.address, { ...query, ...interest }), answered }
  }

  #takeEvent({ event, data }: ServerEvent): void {
    this.#events++
    if (event === 'snapshot') this.#takeDocument(data)
    else if (event === 'change') this.#report(this.#known.change(parseLocalInfo(data)))
  }

  #takeDocument(text: string): void {
    this.#report(this.#known.replace(parseLocalInfo(text)))
    this.#hasReport = true
  }

  #report(names: readonly string[]): void {
    if (names.length > 0) this.#seams.onChange(names)
  }

  /** The stream spoke: what it has reported is still true. */
  #spoke(): void {
    if (this.#hasReport) this.#heard('push')
  }

  #heard(source: 'push' | 'poll'): void {
    const wasFresh = this.isFresh
    this.#freshness.heard(source)
    this.#failures = 0
    if (!wasFresh) this.#report(this.#known.dead())
  }

  #expired(): void {
    const dead = this.#known.dead()
    this.#seams.log.warn('health is too old to be used: endpoints of all nodes are served', {
      dead,
    })
    this.#report(dead)
  }
}

/** The health that this node's agent reports: by its stream or, where it has none, by polling its document. */
export const makeHealthFeed = (options: FeedOptions, seams: FeedSeams): HealthFeed =>
  new Feed(options, seams)
