// SPDX-License-Identifier: Apache-2.0
import type { Duplex } from 'node:stream'
import { randomUUID } from 'node:crypto'
import type { WebSocket } from 'ws'
import type { Clock } from '../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import type { ByteBudget } from '../../net/byte-budget.js'
import { takenBytes } from '../../net/taken-bytes.js'
import { frameOf } from '../model/message/frame.js'
import type { Message } from '../model/message/message.js'
import { parseMessage } from '../model/message/parse.js'
import { controlReply } from '../model/message/reply.js'
import { routeUpstream } from '../model/route/upstream.js'
import { RareLog } from '../../core/rare-log.js'
import { CheckedSends, type NodeChecks } from './checked-sends.js'
import type { HubSink, NodeLink } from './node-link.js'
import { Session, type EndReason, type SessionLimits } from './session.js'

export interface ConnectionsSeams extends NodeChecks {
  readonly clock: Clock
  readonly log: Logger
  readonly sink: HubSink
  /** Accounts for the memory of incomplete frames, of all nodes. */
  readonly frames: ByteBudget
}

/** What the connections have seen, for metrics. */
export interface ConnectionCounts {
  readonly connected: number
  /** Connections accepted since the start. */
  readonly accepted: number
  /** Ended connections, by reason. */
  readonly ended: Readonly<Record<string, number>>
  readonly framesIn: number
  readonly framesOut: number
  /** Frames that could not be parsed as messages. */
  readonly malformed: number
}

interface Connection {
  readonly session: Session
  readonly sends: CheckedSends
}

/** The connections of all nodes, one per node. What they send is parsed, and answered here or given to the sink. */
export class Connections {
  readonly #limits: SessionLimits
  readonly #seams: ConnectionsSeams
  /** An edge may connect again and again, or send what a bug chokes on. */
  readonly #rareLog: RareLog
  readonly #sessions = new Map<NodeName, Connection & { readonly link: NodeLink }>()
  readonly #ended = new Map<EndReason, number>()
  #accepted = 0
  #framesIn = 0
  #framesOut = 0
  #malformed = 0
  #whenEmpty: () => void = () => undefined

  constructor(limits: SessionLimits, seams: ConnectionsSeams) {
    this.#limits = limits
    this.#seams = seams
    this.#rareLog = new RareLog(seams.clock, seams.log)
  }

  get counts(): ConnectionCounts {
    return {
      connected: this.#sessions.size,
      accepted: this.#accepted,
      ended: Object.fromEntries(this.#ended),
      framesIn: this.#framesIn,
      framesOut: this.#framesOut,
      malformed: this.#malformed,
    }
  }

  get size(): number {
    return this.#sessions.size
  }

  linkOf(node: NodeName): NodeLink | undefined {
    return this.#sessions.get(node)?.link
  }

  /** @param network the websocket's socket: what arrives there shows that the node lives, before a message is complete */
  accept(
    of: { readonly node: NodeName; readonly remote: string; readonly socket: WebSocket },
    network: Duplex,
  ): void {
    const { clock, sink, frames } = this.#seams
    const { node, remote } = of
    // Both connections proved to be this node's, so the edge has lost the older one.
    this.#sessions.get(node)?.session.end('another connection of the node')
    const session: Session = new Session(of, this.#limits, {
      ...{ clock, frames, taken: () => takenBytes(network) },
      onFrame: frame => this.#guarded(() => this.#received(session, link, frame)),
      onCaughtUp: () => this.#guarded(() => sink.caughtUp(link)),
      onEnded: (why, detail) => this.#lost(session, link, why, detail),
    })
    const sends = this.#checkedSends(session)
    const link: NodeLink = {
      ...{ node, remote, since: session.since },
      get isBehind() {
        return session.isBehind
      },
      get isHeld() {
        return session.isHeld
      },
      hold: why => session.hold(why),
      release: why => session.release(why),
      send: (message, onLeft) => this.#send({ session, sends }, message, onLeft),
    }
    this.#sessions.set(node, { session, sends, link })
    this.#accepted++
    network.prependListener('data', (chunk: Buffer) => session.received(chunk.length))
    this.#rareLog.info(`connected ${node}`, 'a node is connected', { node, remote })
    this.#guarded(() => sink.connected(link))
  }

  /** Tell all edges that this bridge is leaving. */
  leave(): void {
    for (const { session } of this.#sessions.values()) session.leave('the bridge is leaving')
  }

  /** Wait until all nodes have disconnected, but no longer than this, then cut the connections that are left. */
  async end(withinMs: number): Promise<void> {
    await new Promise<void>(resolve => {
      const cancel = this.#seams.clock.after(withinMs, resolve)
      this.#whenEmpty = () => {
        cancel()
        resolve()
      }
      if (this.#sessions.size === 0) this.#whenEmpty()
    })
    for (const { session } of this.#sessions.values()) session.end('the bridge is leaving')
  }

  #lost(session: Session, link: NodeLink, why: EndReason, detail: string): void {
    const { node } = session
    this.#ended.set(why, (this.#ended.get(why) ?? 0) + 1)
    if (this.#sessions.get(node)?.session === session) this.#sessions.delete(node)
    const fields = { node, reason: why, detail }
    this.#rareLog.info(`disconnected ${node}`, 'a node is disconnected', fields)
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
      link.send(controlReply(message, { id: randomUUID(), at: clock.wall() }))
    else sink.received(link, message, what, frame)
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

  #checkedSends(session: Session): CheckedSends {
    const { isEdge, isForeign, log } = this.#seams
    const { node } = session
    return new CheckedSends({
      ...{ node, isEdge, isForeign },
      onForeign: () => session.end('the bridge is leaving', 'the Node is not an edge node'),
      onUnknown: error =>
        log.debug('nothing is sent: it is not known whether the Node is an edge node', {
          node,
          error,
        }),
      onBug: error => this.#bug(error),
    })
  }

  #send({ session, sends }: Connection, message: Message, onLeft?: () => void): boolean {
    if (session.isOver) return false
    const work = (): void => {
      if (session.send(frameOf(message), onLeft)) this.#framesOut++
      else onLeft?.()
    }
    sends.send(() => this.#guarded(work), onLeft)
    return true
  }

  /** A bug in dealing with one node must not disturb the others. */
  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#bug(error)
    }
  }

  #bug(error: unknown): void {
    this.#seams.log.error('bug: handling a message failed', { error: reasonOf(error) })
  }
}
