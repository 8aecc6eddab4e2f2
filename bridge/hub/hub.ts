// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { randomUUID } from 'node:crypto'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Clock } from '../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import type { Random } from '../../core/random.js'
import { ByteBudget } from '../../net/byte-budget.js'
import { listen, type Listener, type ListenerStatus, type ServerTls } from '../../net/listen.js'
import { byAddress } from '../../net/sources.js'
import { frameOf } from '../model/message/frame.js'
import type { Message } from '../model/message/message.js'
import { parseMessage } from '../model/message/parse.js'
import { controlReply } from '../model/message/reply.js'
import { routeUpstream, type Upstream } from '../model/route/upstream.js'
import { Admission } from './admission.js'
import { HUB_LIMITS, type HubLimits, type HubOptions } from './hub-options.js'
import { Session, type EndReason } from './session.js'

/** Receives connections and messages. None of its methods may throw. */
export interface HubSink {
  /** A node is connected. If it had another connection, `ended` was called for that one before. */
  connected(link: NodeLink): void
  /**
   * A request or an acknowledgement arrived. Keepalives and the like are answered by the hub itself.
   * @param length of its frame, in characters
   */
  received(link: NodeLink, message: Message, what: Upstream, length: number): void
  ended(link: NodeLink, why: EndReason): void
}

/** A node's connection, for those who send to the node. */
export type NodeLink = Pick<
  Session,
  'node' | 'since' | 'remote' | 'hold' | 'release' | 'isHeld'
> & {
  /** @returns false when the connection is over; true is no promise that it arrives */
  send(message: Message): boolean
}

export interface HubSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
  readonly sink: HubSink
  /** Whether the cluster has a Node of this name that is not an edge node. Rejects while that is unknown: the edge is refused then. */
  readonly isForeign: (node: NodeName) => Promise<boolean>
}

/** What the hub has seen, for metrics. */
export interface HubStatus {
  readonly connected: number
  /** Connections accepted since the start. */
  readonly accepted: number
  /** Refused requests, by HTTP status. */
  readonly refused: Readonly<Record<string, number>>
  /** Ended connections, by reason. */
  readonly ended: Readonly<Record<string, number>>
  readonly framesIn: number
  readonly framesOut: number
  /** Frames that could not be parsed as messages. */
  readonly malformed: number
}

const CLOSE_MS = 1_500

class Hub implements OpenHub {
  readonly #seams: HubSeams
  readonly #limits: HubLimits
  readonly #frames: ByteBudget
  readonly #websockets: WebSocketServer
  readonly #sessions = new Map<NodeName, { readonly session: Session; readonly link: NodeLink }>()
  readonly #admission: Admission
  readonly #ended = new Map<EndReason, number>()
  #listener: Listener | undefined
  #isServing = false
  #accepted = 0
  #framesIn = 0
  #framesOut = 0
  #malformed = 0

  constructor(limits: Partial<HubLimits>, seams: HubSeams) {
    this.#seams = seams
    const { clock, log, isForeign } = seams
    this.#admission = new Admission({
      ...{ clock, log, isForeign },
      unavailable: node => this.#unavailable(node),
    })
    this.#limits = { ...HUB_LIMITS, ...limits }
    const { partBytes, frameBytes } = this.#limits
    this.#frames = new ByteBudget({ total: partBytes, perSource: partBytes })
    this.#websockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: frameBytes,
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
    return {
      connected: this.#sessions.size,
      accepted: this.#accepted,
      refused: this.#admission.refused,
      ended: Object.fromEntries(this.#ended),
      framesIn: this.#framesIn,
      framesOut: this.#framesOut,
      malformed: this.#malformed,
    }
  }

  linkOf(node: NodeName): NodeLink | undefined {
    return this.#sessions.get(node)?.link
  }

  serve(): void {
    this.#isServing = true
  }

  pause(): void {
    this.#isServing = false
  }

  standBy(): void {
    this.pause()
    for (const { session } of this.#sessions.values()) session.leave('the bridge is leaving')
  }

  renew(tls: ServerTls): void {
    this.#listener?.renew(tls)
  }

  async close(): Promise<void> {
    this.standBy()
    await new Promise<void>(resolve => {
      const cancel = this.#seams.clock.after(CLOSE_MS, resolve)
      this.#whenEmpty = () => {
        cancel()
        resolve()
      }
      if (this.#sessions.size === 0) this.#whenEmpty()
    })
    for (const { session } of this.#sessions.values()) session.end('the bridge is leaving')
    await this.#listener?.close()
  }

  #whenEmpty: () => void = () => undefined

  /** Never rejects. */
  async #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    // Until it is a websocket nobody else listens, and an 'error' without a listener would end the process.
    socket.on('error', () => undefined)
    const admitted = await this.#admission.admit(request, socket)
    if (admitted === undefined) return
    this.#websockets.handleUpgrade(request, socket, head, websocket =>
      this.#accept({ ...admitted, socket: websocket }, socket),
    )
  }

  #unavailable(node: NodeName): string | undefined {
    if (!this.#isServing) return 'this bridge does not lead'
    const isFull = this.#sessions.size >= this.#limits.nodes && !this.#sessions.has(node)
    return isFull ? 'too many nodes are connected' : undefined
  }

  #accept(
    of: { readonly node: NodeName; readonly remote: string; readonly socket: WebSocket },
    network: Duplex,
  ): void {
    const { clock, log, sink } = this.#seams
    const { node, remote } = of
    // Both connections proved to be this node's, so the edge has lost the older one.
    this.#sessions.get(node)?.session.end('another connection of the node')
    const session: Session = new Session(of, this.#limits.session, {
      clock,
      frames: this.#frames,
      onFrame: frame => this.#guarded(() => this.#received(session, link, frame)),
      onEnded: (why, detail) => this.#lost(session, link, why, detail),
    })
    const link: NodeLink = {
      ...{ node, remote, since: session.since },
      get isHeld() {
        return session.isHeld
      },
      hold: why => session.hold(why),
      release: why => session.release(why),
      send: message => this.#send(session, message),
    }
    this.#sessions.set(node, { session, link })
    this.#accepted++
    network.prependListener('data', (chunk: Buffer) => session.received(chunk.length))
    log.info('a node is connected', { node, remote })
    this.#guarded(() => sink.connected(link))
  }

  #lost(session: Session, link: NodeLink, why: EndReason, detail: string): void {
    const { node } = session
    this.#ended.set(why, (this.#ended.get(why) ?? 0) + 1)
    if (this.#sessions.get(node)?.session === session) this.#sessions.delete(node)
    this.#seams.log.info('a node is disconnected', { node, reason: why, detail })
    this.#guarded(() => this.#seams.sink.ended(link, why))
    if (this.#sessions.size === 0) this.#whenEmpty()
  }

  #received(session: Session, link: NodeLink, frame: string): void {
    const { clock, sink } = this.#seams
    this.#framesIn++
    const message = this.#parsed(session.node, frame)
    if (message === undefined) return
    const what = routeUpstream(message, session.node)
    if (what.kind === 'keepalive') session.keepalive()
    else if (what.kind === 'control')
      this.#send(session, controlReply(message, { id: randomUUID(), at: clock.wall() }))
    else sink.received(link, message, what, frame.length)
  }

  #parsed(node: NodeName, frame: string): Message | undefined {
    try {
      return parseMessage(frame)
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error
      this.#malformed++
      this.#seams.log.debug('a frame could not be parsed as a message', {
        node,
        error: reasonOf(error),
      })
      return undefined
    }
  }

  #send(session: Session, message: Message): boolean {
    const isSent = session.send(frameOf(message))
    if (isSent) this.#framesOut++
    return isSent
  }

  /** A bug in dealing with one node must not disturb the others. */
  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#seams.log.error('bug: handling a message failed', { error: reasonOf(error) })
    }
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
