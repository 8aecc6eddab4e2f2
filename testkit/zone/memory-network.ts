// SPDX-License-Identifier: Apache-2.0
import type { Answer, Peer, Route, Transport } from '../../agent/ports/transport.js'
import type { Clock } from '../../core/clock.js'
import type { Dial, HttpGet } from '../../core/dial.js'
import { PeerUnreachableError } from '../../core/errors.js'
import type { Random } from '../../core/random.js'

/** How the network treats packets; all can be changed while it runs. */
export interface NetworkOptions {
  /** One way. @default 5 */
  readonly latencyMs?: number
  /** Added to the latency, evenly up to this. @default 0 */
  readonly jitterMs?: number
  /** Share of packets that are lost, each by itself. @default 0 */
  readonly loss?: number
}

export interface Traffic {
  bytes: number
  messages: number
}

type Receive = (route: Route, body: Uint8Array, from: string) => Answer

/** What a Linux sender waits before it sends a SYN, or data, again; doubled each time. */
const SYN_TIMEOUT_MS = 1_000
const DATA_TIMEOUT_MS = 200
const PACKET_BYTES = 1_400
const IDLE_MS = 120_000
/** IP and TCP headers of one packet; request line and headers; status line and headers. */
const PACKET_OVERHEAD = 40
const REQUEST_OVERHEAD = 110
const ANSWER_OVERHEAD = 120

const systemError = (code: string): Error => Object.assign(new Error(code), { code })

/**
 * Many agents on one clock: messages as TCP would carry them. A lost packet is sent again after a time that doubles,
 * a connection is kept while it is used, a cut link or a host that is down answers nothing at all. A host that is up
 * and does not listen refuses. The same links carry probes.
 */
export class MemoryNetwork {
  latencyMs: number
  jitterMs: number
  loss: number
  /** Whoever listens on the wire: every body that is sent, requests and answers. */
  onWire:
    | ((
        body: Uint8Array,
        route: Route,
        kind: 'request' | 'answer',
        link: {
          readonly from: string
          readonly to: string
          /** Of an answer, with the time at which its request was sent. */
          readonly answer?: { readonly status: number; readonly askedAt: number }
        },
      ) => void)
    | undefined
  readonly traffic = new Map<string, Traffic>()
  /** Probes that went out to other hosts. */
  probes = 0
  readonly #clock: Clock
  readonly #random: Random
  readonly #listeners = new Map<string, Receive>()
  readonly #down = new Set<string>()
  readonly #cuts = new Set<string>()
  /** Side of each address while there is a partition. */
  #sides: ReadonlyMap<string, number> | undefined
  /** Hosts whose processes stand still, with what waits for them; the kernel still takes connections. */
  readonly #frozen = new Map<string, (() => void)[]>()
  readonly #lives = new Map<string, number>()
  /** Added to each packet to or from these hosts. */
  readonly #slow = new Map<string, number>()
  readonly #kept = new Map<string, { at: number; listener: Receive }>()
  /** Requests on these links wait with somebody on the path, whether or not their senders still do. */
  readonly #held = new Map<string, (() => void)[]>()

  constructor(clock: Clock, random: Random, o: NetworkOptions = {}) {
    this.#clock = clock
    this.#random = random
    this.latencyMs = o.latencyMs ?? 5
    this.jitterMs = o.jitterMs ?? 0
    this.loss = o.loss ?? 0
  }

  /** An agent listens here from now on. The returned function ends that: connections are refused. */
  listen(address: string, receive: Receive): () => void {
    this.#listeners.set(address, receive)
    this.#down.delete(address)
    return () => {
      if (this.#listeners.get(address) === receive) this.#listeners.delete(address)
    }
  }

  /** The host loses power, or its network: silence. */
  powerOff(address: string): void {
    this.#down.add(address)
  }

  powerOn(address: string): void {
    this.#down.delete(address)
  }

  /** The process that sent from here was killed: nothing of it is sent again. */
  forget(address: string): void {
    this.#lives.set(address, this.#lifeOf(address) + 1)
  }

  #lifeOf(address: string): number {
    return this.#lives.get(address) ?? 0
  }

  /** Whether whoever sends now from here still waits for it. */
  #waiter(from: string, signal: AbortSignal): () => boolean {
    const life = this.#lifeOf(from)
    return () => !signal.aborted && this.#lifeOf(from) === life
  }

  /** The host's processes stand still: it accepts connections and answers nothing. */
  freeze(address: string): void {
    if (!this.#frozen.has(address)) this.#frozen.set(address, [])
  }

  thaw(address: string): void {
    const waiting = this.#frozen.get(address) ?? []
    this.#frozen.delete(address)
    for (const work of waiting) work()
  }

  /** Every packet to or from the host takes so much longer; 0 is normal. */
  slowDown(address: string, ms: number): void {
    this.#slow.set(address, ms)
  }

  /** Packets from one to the other vanish; the other direction is another link. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from} ${to}`)
  }

  heal(from: string, to: string): void {
    this.#cuts.delete(`${from} ${to}`)
  }

  /** Each group reaches only itself; who is in no group reaches nobody. */
  partition(...groups: readonly (readonly string[])[]): void {
    this.#sides = new Map(groups.flatMap((group, side) => group.map(address => [address, side])))
  }

  /** Somebody on the path holds back requests from one to the other, until `release`. */
  hold(from: string, to: string): void {
    const link = `${from} ${to}`
    if (!this.#held.has(link)) this.#held.set(link, [])
  }

  /** Pass on what was held back, in order and so far apart; the link is as before. */
  release(from: string, to: string, apartMs = 0): void {
    const link = `${from} ${to}`
    const kept = this.#held.get(link) ?? []
    this.#held.delete(link)
    if (apartMs === 0) for (const pass of kept) pass()
    else kept.forEach((pass, place) => this.#clock.after(place * apartMs, pass))
  }

  /** Somebody who holds, or pretends to hold, this address sends a request; its answer is dropped. */
  inject(from: string, to: string, route: Route, body: Uint8Array): void {
    this.#clock.after(this.latencyMs, () => {
      if (!this.#down.has(to))
        this.#whenAwake(to, () => this.#listeners.get(to)?.(route, body, from))
    })
  }

  healAll(): void {
    this.#sides = undefined
    this.#cuts.clear()
  }

  /** A packet may pass from one to the other. */
  isOpen(from: string, to: string): boolean {
    if (this.#down.has(from) || this.#down.has(to) || this.#cuts.has(`${from} ${to}`)) return false
    const sides = this.#sides
    return sides === undefined || (sides.has(from) && sides.get(from) === sides.get(to))
  }

  /** Packets pass both ways: a connection can be made, in time. */
  canReach(from: string, to: string): boolean {
    return this.isOpen(from, to) && this.isOpen(to, from)
  }

  /** Sent by this address so far, with the overhead of HTTP, TCP and IP; without probes. */
  sentBy(address: string): Traffic {
    const known = this.traffic.get(address)
    if (known !== undefined) return known
    const fresh = { bytes: 0, messages: 0 }
    this.traffic.set(address, fresh)
    return fresh
  }

  transport(from: string): Transport {
    return {
      send: (peer, route, body, signal) =>
        this.#send({ from, peer, route, body: body.slice() }, signal),
      close: () => undefined,
    }
  }

  /** TCP connects over the same links. Where no agent listens a probed port may still be open: `isListening` says. */
  dial(from: string, isListening: (address: string) => boolean = () => true): Dial {
    return {
      connect: (host, _port, signal) =>
        this.#untilAbort(signal, (done, fail) => {
          if (host !== from) this.probes++
          this.#connect(
            { from, to: host, isAlive: this.#waiter(from, signal), isProbe: true },
            () => (isListening(host) ? done() : fail(systemError('ECONNREFUSED'))),
          )
        }),
    }
  }

  /** GETs over the same links; `statusOf` is the server, undefined refuses. */
  httpGet(from: string, statusOf: (url: URL) => number | undefined): HttpGet {
    return {
      get: ({ url, signal }) =>
        this.#untilAbort(signal, (done, fail) => {
          const at = new URL(url)
          const host = at.hostname.replace(/^\[|\]$/g, '')
          const to = host === '127.0.0.1' ? from : host
          if (to !== from) this.probes++
          this.#connect({ from, to, isAlive: this.#waiter(from, signal), isProbe: true }, () => {
            this.#whenAwake(to, () => {
              const status = statusOf(at)
              if (status === undefined) fail(systemError('ECONNREFUSED'))
              else done({ status })
            })
          })
        }),
      close: () => undefined,
    }
  }

  async #send(
    message: { from: string; peer: Peer; route: Route; body: Uint8Array },
    signal: AbortSignal,
  ): Promise<Answer> {
    const { from, peer, route, body } = message
    const to = peer.address
    const link = { from, to, isAlive: this.#waiter(from, signal) }
    return this.#untilAbort(signal, (done, fail) => {
      const refuse = (): void =>
        fail(
          new PeerUnreachableError(peer.name, 'ECONNREFUSED', {
            cause: systemError('ECONNREFUSED'),
          }),
        )
      const ask = (): void => {
        this.onWire?.(body, route, 'request', { from, to })
        const askedAt = this.#clock.now()
        this.sentBy(from).messages++
        this.#carry({ ...link, bytes: body.length + REQUEST_OVERHEAD }, DATA_TIMEOUT_MS, () => {
          this.#onPath(link, () => {
            const listener = this.#listeners.get(to)
            if (listener === undefined) {
              refuse()
              return
            }
            const answer = listener(route, body, from)
            this.#kept.set(`${from} ${to}`, { at: this.#clock.now(), listener })
            const back = { from: to, to: from, isAlive: link.isAlive }
            const bytes = answer.body.length + ANSWER_OVERHEAD
            this.sentBy(to).messages++
            const { status } = answer
            this.onWire?.(answer.body, route, 'answer', { ...back, answer: { status, askedAt } })
            this.#carry({ ...back, bytes }, DATA_TIMEOUT_MS, () =>
              this.#whenAwake(from, () => done(answer)),
            )
          })
        })
      }
      if (this.#isKept(from, to)) {
        ask()
        return
      }
      this.#connect(link, () => (this.#listeners.has(to) ? ask() : refuse()))
    })
  }

  #onPath({ from, to }: { from: string; to: string }, arrive: () => void): void {
    const kept = this.#held.get(`${from} ${to}`)
    const pass = (): void => this.#whenAwake(to, arrive)
    if (kept === undefined) pass()
    else kept.push(pass)
  }

  #whenAwake(address: string, work: () => void): void {
    const waiting = this.#frozen.get(address)
    if (waiting === undefined) work()
    else waiting.push(work)
  }

  #isKept(from: string, to: string): boolean {
    const kept = this.#kept.get(`${from} ${to}`)
    return (
      kept !== undefined &&
      kept.listener === this.#listeners.get(to) &&
      this.#clock.now() - kept.at < IDLE_MS
    )
  }

  #connect(
    link: { from: string; to: string; isAlive: () => boolean; isProbe?: boolean },
    connected: () => void,
  ): void {
    this.#carry({ ...link, bytes: 20 }, SYN_TIMEOUT_MS, () => {
      const back = { ...link, from: link.to, to: link.from, bytes: 20 }
      this.#carry(back, SYN_TIMEOUT_MS, connected)
    })
  }

  /** Carry bytes over a link; what is lost is sent again until it arrives or nobody waits any more. */
  #carry(
    load: { from: string; to: string; bytes: number; isAlive: () => boolean; isProbe?: boolean },
    timeoutMs: number,
    arrived: () => void,
  ): void {
    if (!load.isAlive()) return
    if (load.from === load.to) {
      this.#clock.after(0, arrived)
      return
    }
    const packets = Math.ceil(load.bytes / PACKET_BYTES)
    if (load.isProbe !== true)
      this.sentBy(load.from).bytes += load.bytes + packets * PACKET_OVERHEAD
    let lost = 0
    for (let i = 0; i < packets; i++) if (this.#isLost()) lost++
    if (lost === 0 && this.isOpen(load.from, load.to)) {
      const jitter = (this.jitterMs * this.#random.below(1_001)) / 1_000
      const slow = Math.max(this.#slow.get(load.from) ?? 0, this.#slow.get(load.to) ?? 0)
      this.#clock.after(this.latencyMs + jitter + slow, arrived)
      return
    }
    const rest = {
      ...load,
      bytes: lost === 0 ? load.bytes : Math.min(load.bytes, lost * PACKET_BYTES),
    }
    this.#clock.after(timeoutMs, () => this.#carry(rest, timeoutMs * 2, arrived))
  }

  #isLost(): boolean {
    return this.loss > 0 && this.#random.below(1_000_000) < this.loss * 1_000_000
  }

  #untilAbort<T>(
    signal: AbortSignal,
    work: (done: (value: T) => void, fail: (error: Error) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error)
      if (signal.aborted) {
        abort()
        return
      }
      signal.addEventListener('abort', abort, { once: true })
      const end = (): void => signal.removeEventListener('abort', abort)
      work(
        value => {
          end()
          resolve(value)
        },
        error => {
          end()
          reject(error)
        },
      )
    })
  }
}
