// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../core/clock.js'
import type { NodeName } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import { ByteBudget } from '../../net/byte-budget.js'
import { listen, type Listener, type ListenerStatus, type ServerTls } from '../../net/listen.js'
import { byAddress } from '../../net/sources.js'
import { Admission } from './admission.js'
import type { NodeChecks } from './checked-sends.js'
import { Connections, type ConnectionCounts } from './connections.js'
import { HUB_LIMITS, type HubLimits, type HubOptions } from './hub-options.js'
import type { HubSink, NodeLink } from './node-link.js'

export interface HubSeams extends NodeChecks {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
  readonly sink: HubSink
}

/** What the hub has seen, for metrics. */
export interface HubStatus extends ConnectionCounts {
  /** Refused requests, by HTTP status. */
  readonly refused: Readonly<Record<string, number>>
}

const CLOSE_MS = 1_500
/** Of one message: KubeEdge's edges send pieces of 4 KiB. */
const MAX_FRAGMENTS = 5_000

class Hub implements OpenHub {
  readonly #seams: HubSeams
  readonly #limits: HubLimits
  readonly #websockets: WebSocketServer
  readonly #connections: Connections
  readonly #admission: Admission
  #listener: Listener | undefined
  #isServing = false

  constructor(limits: Partial<HubLimits>, seams: HubSeams) {
    this.#seams = seams
    const { clock, log, sink, isForeign, isEdge } = seams
    this.#admission = new Admission({
      ...{ clock, log, isForeign },
      unavailable: node => this.#unavailable(node),
    })
    this.#limits = { ...HUB_LIMITS, ...limits }
    const { session, partBytes, frameBytes } = this.#limits
    const frames = new ByteBudget({ total: partBytes, perSource: partBytes })
    this.#connections = new Connections(session, {
      ...{ clock, log, sink, frames, isEdge, isForeign },
    })
    this.#websockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: frameBytes,
      maxFragments: MAX_FRAGMENTS,
    })
  }

  async open({ address, port, tls }: HubOptions): Promise<void> {
    this.#listener = await listen(
      {
        ...{ address, port, tls, limits: this.#limits.listen, sources: byAddress(() => false) },
        handle: (_request, response) => void response.writeHead(404).end(),
        upgrade: (request, socket, head) => void this.#upgrade(request, socket, head),
        // The hub itself limits connections: one per node.
        areUpgradesCounted: false,
      },
      this.#seams,
    )
  }

  get port(): number {
    return this.#listener?.port ?? 0
  }

  get listening(): ListenerStatus | undefined {
    return this.#listener?.status
  }

  get status(): HubStatus {
    return { ...this.#connections.counts, refused: this.#admission.refused }
  }

  linkOf(node: NodeName): NodeLink | undefined {
    return this.#connections.linkOf(node)
  }

  serve(): void {
    this.#isServing = true
  }

  pause(): void {
    this.#isServing = false
  }

  standBy(): void {
    this.pause()
    this.#connections.leave()
  }

  renew(tls: ServerTls): void {
    this.#listener?.renew(tls)
  }

  async close(): Promise<void> {
    this.standBy()
    await this.#connections.end(CLOSE_MS)
    await this.#listener?.close()
  }

  /** Never rejects. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Until it is a websocket nobody else listens, and an 'error' without a listener would end the process.
    socket.on('error', () => undefined)
    const admitted = await this.#admission.admit(request, socket)
    if (admitted === undefined) return
    this.#websockets.handleUpgrade(request, socket, head, websocket =>
      this.#connections.accept({ ...admitted, socket: websocket }, socket),
    )
  }

  #unavailable(node: NodeName): string | undefined {
    if (!this.#isServing) return 'this bridge does not lead'
    const { size } = this.#connections
    const isFull = size >= this.#limits.nodes && this.linkOf(node) === undefined
    return isFull ? 'too many nodes are connected' : undefined
  }
}

/** An open hub. It refuses edges until `serve`. */
export interface OpenHub {
  readonly port: number
  readonly status: HubStatus
  /** Undefined while it does not listen. */
  readonly listening: ListenerStatus | undefined
  /** The connection of a node; undefined while it has none. */
  linkOf(node: NodeName): NodeLink | undefined
  /** Accept edges from now on. */
  serve(): void
  /** Accept no more edges; those that are connected stay. */
  pause(): void
  /** Another bridge serves: end all connections, refuse new ones with 503. */
  standBy(): void
  /** Use these certificates for new connections. */
  renew(tls: ServerTls): void
  /** Close all connections with WebSocket status 1001 (going away), and stop listening. */
  close(): Promise<void>
}

/** Listen for edges. @throws ListenError */
export const openHub = async (options: HubOptions, seams: HubSeams): Promise<OpenHub> => {
  const hub = new Hub(options.limits ?? {}, seams)
  await hub.open(options)
  return hub
}
