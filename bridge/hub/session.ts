// SPDX-License-Identifier: Apache-2.0
import type { WebSocket } from 'ws'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { ByteBudget } from '../../net/byte-budget.js'
import { IncompleteMessage } from './incomplete-message.js'
import { Intake, type Hold, type IntakeLimits } from './intake.js'
import { LATE_MS, Liveness, type LivenessLimits } from './liveness.js'

/** Limits of one connection. */
export interface SessionLimits extends LivenessLimits {
  /** Within this time some of the buffered bytes must reach the network, however few. */
  readonly writeMs: number
  /**
   * While more than this many bytes sent to the edge are unread, nothing is read from it. More than the largest object and
   * the window of a lane, so that only answers reach it: who is sent objects over a slow link still renews its Lease.
   */
  readonly unreadBytes: number
  readonly intake: IntakeLimits
}

/** Why a connection ended. */
export type EndReason =
  | 'closed by the edge'
  | 'connection broke'
  | 'no keepalive'
  | 'no answer to pings'
  | 'does not read'
  | 'too much in one frame'
  | 'a message takes too long'
  | 'binary frame'
  | 'another connection of the node'
  | 'the bridge is leaving'

export interface SessionSeams {
  readonly clock: Clock
  /** Accounts for the memory of incomplete messages. */
  readonly frames: ByteBudget
  /** Bytes that the network has taken so far; undefined when unknown. */
  readonly taken: () => number | undefined
  /** A complete frame arrived. */
  readonly onFrame: (frame: string) => void
  /** It was behind, and has read half of what was too much. */
  readonly onCaughtUp: () => void
  /** Called once. */
  readonly onEnded: (why: EndReason, detail: string) => void
}

const LEAVING = 1001
const CLOSE_MS = 1_000

/** One websocket connection of a node: flow control in both directions, and its end. */
export class Session {
  readonly node: NodeName
  /** The remote address, for people. */
  readonly remote: string
  /** Clock ms. */
  readonly since: number
  readonly #socket: WebSocket
  readonly #limits: SessionLimits
  readonly #seams: SessionSeams
  readonly #intake: Intake
  readonly #liveness: Liveness
  readonly #incomplete: IncompleteMessage
  #isOver = false
  #why: EndReason | undefined
  #detail = ''
  #writtenAt = 0
  readonly #cancels = new Map<'write' | 'close', () => void>()

  constructor(
    of: { readonly node: NodeName; readonly remote: string; readonly socket: WebSocket },
    limits: SessionLimits,
    seams: SessionSeams,
  ) {
    const { clock } = seams
    this.node = of.node
    this.remote = of.remote
    this.since = clock.now()
    this.#socket = of.socket
    this.#limits = limits
    this.#seams = seams
    this.#intake = new Intake(clock, limits.intake, {
      deliver: frame => seams.onFrame(frame),
      read: isOn => (isOn ? this.#resume() : this.#socket.pause()),
    })
    this.#incomplete = new IncompleteMessage({
      ...{ clock, budget: seams.frames },
      onTooMuch: detail => this.end('too much in one frame', detail),
      onTooSlow: () => this.end('a message takes too long'),
    })
    this.#listen()
    this.#liveness = new Liveness(limits, {
      clock,
      ping: () => this.#socket.ping(),
      isHeld: () => this.isHeld,
      onGone: why => this.end(why),
    })
  }

  /** Whether reading from it is paused. */
  get isHeld(): boolean {
    return this.#intake.isHeld
  }

  /** Too much of what was sent to it is unread; `onCaughtUp` is called when half of that is read. */
  get isBehind(): boolean {
    return this.#intake.isHeldFor('unread')
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The node's keepalive arrived. */
  keepalive(): void {
    this.#liveness.keepalive()
  }

  /** Bytes arrived, of any frame. @internal called by the hub, which sees the network socket */
  received(bytes: number): void {
    this.#liveness.heard()
    if (!this.#isOver) this.#incomplete.add(bytes)
  }

  /** Send a frame. @returns false when the connection is over; true does not promise that it arrives */
  send(frame: string, onLeft: () => void = () => undefined): boolean {
    if (this.#isOver) return false
    this.#socket.send(frame, { binary: false }, () => {
      this.#wrote()
      onLeft()
    })
    if (this.#socket.bufferedAmount > 0) this.#watchWrites()
    if (this.#socket.bufferedAmount > this.#limits.unreadBytes) this.#intake.hold('unread')
    return true
  }

  /** Pause reading from the node until `release`. */
  hold(why: Hold): void {
    if (!this.#isOver) this.#intake.hold(why)
  }

  release(why: Hold): void {
    this.#intake.release(why)
  }

  /** End the connection at once. May be called twice. */
  end(why: EndReason, detail = ''): void {
    this.#why ??= why
    this.#detail = this.#detail === '' ? detail : this.#detail
    this.#socket.terminate()
    this.#over()
  }

  /** Send a close frame, and end the connection when the edge has answered it or a timeout is over. */
  leave(why: EndReason): void {
    if (this.#isOver || this.#cancels.has('close')) return
    this.#why ??= why
    // Go on reading, for the edge's close frame, but deliver nothing more.
    this.#intake.stop()
    this.#socket.resume()
    this.#socket.close(LEAVING, why)
    this.#set('close', CLOSE_MS, () => this.end(why))
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('message', (bytes: Buffer, isBinary: boolean) => this.#whole(bytes, isBinary))
    socket.on('pong', () => {
      this.#liveness.heard()
      this.#charge()
    })
    // Each ping is answered by the `ws` package, which closes connections that send too many at once.
    socket.on('ping', () => this.#charge())
    socket.on('error', error => {
      this.#why ??= 'connection broke'
      this.#detail = reasonOf(error)
    })
    socket.on('close', code => {
      this.#why ??= code === 1006 ? 'connection broke' : 'closed by the edge'
      if (this.#detail === '') this.#detail = `close code ${code}`
      this.#over()
    })
  }

  /** A frame without content arrived. Pongs may come without having been asked for. */
  #charge(): void {
    if (!this.#isOver) this.#intake.charge(1)
  }

  #whole(bytes: Buffer, isBinary: boolean): void {
    this.#incomplete.end()
    if (this.#isOver || this.#cancels.has('close')) return
    if (isBinary) this.end('binary frame')
    else this.#intake.push(bytes.toString('utf8'))
  }

  #resume(): void {
    this.#liveness.resumed()
    this.#socket.resume()
  }

  #wrote(): void {
    this.#writtenAt = this.#seams.clock.now()
    if (!this.isBehind || this.#socket.bufferedAmount > this.#limits.unreadBytes / 2) return
    this.#intake.release('unread')
    this.#seams.onCaughtUp()
  }

  #watchWrites(): void {
    if (this.#cancels.has('write')) return
    const { clock } = this.#seams
    const since = clock.now()
    // A large message on a slow link is a single write that takes minutes.
    const taken = this.#seams.taken()
    const dueAt = since + this.#limits.writeMs
    this.#set('write', this.#limits.writeMs, () => {
      if (this.#socket.bufferedAmount === 0) return
      const isLate = clock.now() - dueAt > LATE_MS
      const isStuck = this.#writtenAt < since && this.#seams.taken() === taken
      if (isStuck && !isLate) this.end('does not read')
      else this.#watchWrites()
    })
  }

  #set(name: 'write' | 'close', ms: number, wake: () => void): void {
    this.#cancels.get(name)?.()
    const cancel = this.#seams.clock.after(ms, () => {
      this.#cancels.delete(name)
      wake()
    })
    this.#cancels.set(name, cancel)
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#liveness.stop()
    for (const cancel of this.#cancels.values()) cancel()
    this.#cancels.clear()
    this.#incomplete.end()
    this.#intake.stop()
    this.#seams.onEnded(this.#why ?? 'connection broke', this.#detail)
  }
}
