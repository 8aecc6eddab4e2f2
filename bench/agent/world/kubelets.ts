// SPDX-License-Identifier: Apache-2.0
import { createServer, get } from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock } from '../../../core/clock.js'
import { makeCertificate } from '../../../sandbox/kubelet-server.js'
import type { WorldPeer } from './peer.js'
import { WireCounter } from './wire-count.js'

/** A round that comes this late was missed: the period's jitter, and a second for everything else. */
const missedAfter = (periodMs: number): number => 1.1 * periodMs + 1_000

/** What the agent's probes did. */
export interface ProbeCount {
  readonly probes: number
  /** Rounds that came too late, by the kubelets' own sight. */
  readonly missed: number
  readonly longestGapMs: number
}

/** The kubelets that the agent probes: their authenticated port answers 401, as to everybody without a token. */
export class Kubelets {
  readonly wire = new WireCounter()
  readonly #peers: ReadonlyMap<string, WorldPeer>
  readonly #clock: Clock
  readonly #periodMs: number
  readonly #server: TlsServer
  #probes = 0
  #missed = 0
  #longest = 0

  static async make(
    peers: ReadonlyMap<string, WorldPeer>,
    clock: Clock,
    periodMs: number,
  ): Promise<Kubelets> {
    return new Kubelets(peers, { clock, periodMs, pair: await makeCertificate('any', '127.0.0.1') })
  }

  private constructor(
    peers: ReadonlyMap<string, WorldPeer>,
    o: {
      readonly clock: Clock
      readonly periodMs: number
      readonly pair: { readonly key: string; readonly cert: string }
    },
  ) {
    this.#peers = peers
    this.#clock = o.clock
    this.#periodMs = o.periodMs
    this.#server = createTlsServer({ ...o.pair, keepAliveTimeout: 300_000 }, (asked, answer) => {
      this.#probed(asked.socket.localAddress ?? '')
      answer.writeHead(401, { 'Content-Type': 'text/plain; charset=utf-8' })
      answer.end('Unauthorized')
    })
  }

  take(socket: Socket): void {
    this.wire.watch(socket)
    this.#server.emit('connection', socket)
  }

  get count(): ProbeCount {
    return { probes: this.#probes, missed: this.#missed, longestGapMs: this.#longest }
  }

  /** Judge gaps from now on. */
  forget(): void {
    for (const peer of this.#peers.values()) peer.probedAt = -Infinity
    this.#missed = 0
    this.#longest = 0
  }

  #probed(address: string): void {
    const peer = this.#peers.get(address)
    if (peer === undefined) return
    const now = this.#clock.now()
    const gap = now - peer.probedAt
    peer.probedAt = now
    this.#probes++
    if (gap === Infinity) return
    this.#longest = Math.max(this.#longest, gap)
    if (gap > missedAfter(this.#periodMs)) this.#missed++
  }
}

/** The kubelet of the agent's own node: says that it is well, and asks the agent the same. */
export class OwnKubelet {
  // A real kubelet sets no limit to idle connections.
  readonly #server = createServer({ keepAliveTimeout: 300_000 }, (_asked, answer) => {
    answer.end('ok')
  })
  readonly #clock: Clock
  readonly #cancels: (() => void)[] = []
  answered = 0
  failed = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(): Promise<string> {
    return new Promise(resolve => {
      this.#server.listen(0, '127.0.0.1', () => {
        const { port } = this.#server.address() as AddressInfo
        resolve(`http://127.0.0.1:${port}/healthz`)
      })
    })
  }

  /** The probes of the DaemonSet, each on a connection of its own, as kubelets do. */
  probe(url: string): void {
    this.#every(10_000, `${url}/healthz`)
    this.#every(5_000, `${url}/readyz`)
  }

  close(): void {
    for (const cancel of this.#cancels) cancel()
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #every(ms: number, url: string): void {
    const place = this.#cancels.length
    const round = (): void => {
      this.#cancels[place] = this.#clock.after(ms, round)
      get(url, { agent: false, headers: { Connection: 'close', 'User-Agent': 'kube-probe/1.33' } })
        .on('response', answer => {
          if (answer.statusCode === 200) this.answered++
          else this.failed++
          answer.resume()
        })
        .on('error', () => this.failed++)
    }
    this.#cancels.push(this.#clock.after(ms, round))
  }
}
