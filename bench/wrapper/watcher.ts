// SPDX-License-Identifier: Apache-2.0
// A client that lists, watches and goes on where it was, and keeps account of what it should have been told.
import type { IncomingMessage } from 'node:http'
import {
  type Api,
  ApiError,
  type Encoding,
  get,
  type Heard,
  list,
  makeReader,
  watchHeaders,
} from './client.js'
import { pathOf, type Resource } from './upstream.js'

export interface Account {
  events: number
  /** Changes of an object that never came. */
  lost: number
  /** The same change of an object twice. */
  repeated: number
  /** A version that is not above the one before. */
  disordered: number
  /** ADDED of what is held, MODIFIED or DELETED of what is not. */
  contradicted: number
  /** Ended with 410, and listed again. */
  expired: number
  /** Watches that were opened at a version. */
  resumed: number
  lists: number
}

interface Known {
  n: number
  count: number
  mark: number
}

export interface WatcherOptions {
  readonly title: string
  readonly resource: Resource
  readonly encoding: Encoding
  /** Asks for the initial state as events. */
  readonly isStreamed?: boolean
}

const START_MS = 20

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

export class Watcher {
  readonly title: string
  readonly resource: Resource
  readonly account: Account = {
    events: 0,
    lost: 0,
    repeated: 0,
    disordered: 0,
    contradicted: 0,
    expired: 0,
    resumed: 0,
    lists: 0,
  }
  /** Called with every event, and when it came. */
  onEvent: (heard: Heard) => void = () => undefined
  readonly #api: Api
  readonly #options: WatcherOptions
  readonly #held = new Map<string, Known>()
  /** How often what went had changed. */
  readonly #gone = new Map<string, number>()
  #version = ''
  #stream: IncomingMessage | undefined
  #isOver = false
  #done: Promise<void> | undefined
  /** Upstream's version of the newest change that it knows. */
  progress = 0
  /** The first state is there. */
  isReady = false
  /** Bytes are taken and not read: reading those of one watcher would delay the next one's. */
  isTimed = false
  /** When the last bytes came, performance.now. */
  heardAt = 0
  #readOn: () => void = () => undefined

  constructor(api: Api, options: WatcherOptions) {
    this.#api = api
    this.#options = options
    this.title = options.title
    this.resource = options.resource
  }

  start(): void {
    this.#done = this.#run()
  }

  /** Name → how often it changed. */
  get state(): ReadonlyMap<string, number> {
    return new Map([...this.#held].map(([name, { n }]) => [name, n]))
  }

  /** Endpoints of all that is held. */
  get endpoints(): number {
    return [...this.#held.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** Read what came while it was timed. */
  catchUp(): void {
    this.isTimed = false
    this.#readOn()
  }

  /** Break the connection; it goes on at its version. */
  hangUp(): void {
    this.#stream?.destroy()
  }

  /** Forget everything and start anew. */
  startAnew(): void {
    this.#version = ''
    this.hangUp()
  }

  /** Read nothing for a while. */
  async stall(ms: number): Promise<void> {
    this.#stream?.pause()
    await pause(ms)
    this.#stream?.resume()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    this.hangUp()
    await this.#done
  }

  async #run(): Promise<void> {
    while (!this.#isOver) {
      try {
        if (this.#version === '' && this.#options.isStreamed !== true) await this.#list()
        await this.#watch()
      } catch (error) {
        if (error instanceof ApiError && error.code === 410) this.#expire()
        else await pause(START_MS)
      }
    }
  }

  #expire(): void {
    this.account.expired++
    this.#version = ''
  }

  async #list(): Promise<void> {
    const { version, items } = await list(
      this.#api,
      pathOf(this.#options.resource),
      this.#options.encoding,
    )
    this.account.lists++
    this.#forget()
    for (const { name, n, s, count, mark } of items) {
      this.#held.set(name, { n, count, mark })
      this.progress = Math.max(this.progress, s)
    }
    this.#version = version
    this.isReady = true
  }

  /** A new beginning: nothing before it can have been missed. */
  #forget(): void {
    this.#held.clear()
    this.#gone.clear()
  }

  async #watch(): Promise<void> {
    const { resource, encoding } = this.#options
    const isInitial = this.#version === ''
    const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true' })
    if (isInitial) {
      query.set('sendInitialEvents', 'true')
      query.set('resourceVersionMatch', 'NotOlderThan')
      this.account.lists++
      this.#forget()
    } else {
      query.set('resourceVersion', this.#version)
      this.account.resumed++
    }
    const path = `${pathOf(resource)}?${query.toString()}`
    const stream = await get(this.#api, path, watchHeaders(encoding))
    if (stream.statusCode !== 200) {
      stream.resume()
      throw new ApiError(path, stream.statusCode ?? 0, '')
    }
    this.#stream = stream
    if (this.#isOver) stream.destroy()
    const read = makeReader(encoding)
    let isInside = isInitial
    const unread: Buffer[] = []
    const isGoodSoFar = (): boolean => {
      for (const heard of unread.splice(0).flatMap(chunk => [...read(chunk)])) {
        if (heard.type === 'ERROR') return false
        if (heard.type === 'BOOKMARK' && heard.seen.isInitialEnd) {
          isInside = false
          this.isReady = true
        }
        this.#take(heard, isInside)
      }
      return true
    }
    this.#readOn = () => {
      if (!isGoodSoFar()) stream.destroy(new Error('told of an error while it was timed'))
    }
    try {
      for await (const chunk of stream) {
        this.heardAt = performance.now()
        unread.push(chunk as Buffer)
        if (this.isTimed || isGoodSoFar()) continue
        this.#expire()
        return
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET' && !stream.destroyed) throw error
    } finally {
      // A beginning that broke off is none.
      if (isInside) this.#version = ''
    }
  }

  #take(heard: Heard, isInside: boolean): void {
    const { type, seen } = heard
    this.progress = Math.max(this.progress, seen.s)
    if (isInside) {
      this.#held.set(seen.name, { n: seen.n, count: seen.count, mark: seen.mark })
      return
    }
    // Versions have sixteen digits and more: compared as whole numbers, not as doubles.
    const isAfter = this.#version === '' || BigInt(seen.version) > BigInt(this.#version)
    if (type === 'BOOKMARK') {
      if (BigInt(seen.version) >= BigInt(this.#version || '0')) this.#version = seen.version
      else this.account.disordered++
      return
    }
    if (!isAfter) this.account.disordered++
    this.#version = seen.version
    this.account.events++
    this.#compare(heard)
    this.onEvent(heard)
  }

  #compare({ type, seen: { name, n, count, mark } }: Heard): void {
    const held = this.#held.get(name)
    if ((type === 'ADDED') !== (held === undefined)) this.account.contradicted++
    if (type === 'DELETED') {
      if (held !== undefined && n < held.n) this.account.disordered++
      this.#held.delete(name)
      // Its going is a change of its own.
      this.#gone.set(name, (held?.n ?? n) + 1)
      return
    }
    const before = held?.n ?? this.#gone.get(name)
    // The same change may come again with other endpoints: somebody's health changed.
    if (before !== undefined && n === before && held?.mark === mark) this.account.repeated++
    if (before !== undefined && n > before + 1) this.account.lost += n - before - 1
    if (before !== undefined && n < before) this.account.disordered++
    this.#held.set(name, { n, count, mark })
  }
}
