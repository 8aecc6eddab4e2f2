// SPDX-License-Identifier: Apache-2.0
import type { WebSocket } from 'ws'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'
import type { ByteBudget, ByteHold } from '../../net/byte-budget.js'
import { Intake, type Hold, type IntakeLimits } from './intake.js'

/** What a connection is held to. */
export interface SessionLimits {
  /** KubeEdge's edges send a keepalive each 15 s; who sent none for so long is gone. */
  readonly keepaliveMs: number
  /** From one ping to the next; who answered neither of the last two is gone. */
  readonly pingMs: number
  /** In so long something of what is buffered must reach the network. */
  readonly writeMs: number
  /** With more than so many bytes that the edge has not read, nothing more is read from it. */
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
  | 'binary frame'
  | 'another connection of the node'
  | 'the bridge is leaving'

export interface SessionSeams {
  readonly clock: Clock
  /** Holds what is received of frames that are not whole yet. */
  readonly frames: ByteBudget
  /** A whole frame arrived. */
  readonly onFrame: (frame: string) => void
  /** Called once. */
  readonly onEnded: (why: EndReason, detail: string) => void
}

/** A timer that fires so late says that this process stood still, and nothing about the edge. */
const LATE_MS = 5_000
/** Frames that arrive in smaller parts are not counted until they have this size. */
const COUNTED_BYTES = 64 << 10
const LEAVING = 1001
const CLOSE_MS = 1_000

/** One connection of a node: says what arrives, and when it is over. */
export class Session {
  readonly node: NodeName
  /** Where it comes from, for people. */
  readonly remote: string
  /** Clock ms. */
  readonly since: number
  readonly #socket: WebSocket
  readonly #limits: SessionLimits
  readonly #seams: SessionSeams
  readonly #intake: Intake
  #keepaliveAt: number
  /** Pings since the last sign of life. */
  #unanswered = 0
  #isOver = false
  #why: EndReason | undefined
  #detail = ''
  #partBytes = 0
  #part: ByteHold | undefined
  #writtenAt = 0
  readonly #cancels = new Map<'keepalive' | 'ping' | 'write' | 'close', () => void>()

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
    this.#keepaliveAt = clock.now()
    this.#intake = new Intake(clock, limits.intake, {
      deliver: frame => seams.onFrame(frame),
      read: isOn => (isOn ? this.#resume() : this.#socket.pause()),
    })
    this.#listen()
    this.#watchKeepalive()
    this.#ping()
  }

  /** Nothing is read from it at present. */
  get isHeld(): boolean {
    return this.#intake.isHeld
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Bytes that wait to be sent. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount
  }

  /** The node's keepalive arrived. */
  keepalive(): void {
    this.#keepaliveAt = this.#seams.clock.now()
  }

  /** Some bytes arrived, of whichever frame. @internal for the hub, which sees the network's socket */
  received(bytes: number): void {
    this.#unanswered = 0
    this.#partBytes += bytes
    if (this.#partBytes < COUNTED_BYTES || this.#isOver) return
    // One source for all nodes: of those who fill it the largest gives way, so that nobody keeps others' frames out.
    this.#part ??= this.#seams.frames.open({ key: 'nodes', isMember: true }, () =>
      this.end('too much in one frame', 'others need the room'),
    )
    try {
      this.#part.take(bytes)
    } catch (error) {
      this.end('too much in one frame', reasonOf(error))
    }
  }

  /** Send a frame. @returns false when the connection is over; else it is on its way, which is no promise that it arrives */
  send(frame: string): boolean {
    if (this.#isOver) return false
    this.#socket.send(frame, { binary: false }, () => this.#wrote())
    if (this.#socket.bufferedAmount > 0) this.#watchWrites()
    if (this.#socket.bufferedAmount > this.#limits.unreadBytes) this.#intake.hold('unread')
    return true
  }

  /** Read nothing more from the node until `release`. */
  hold(why: Hold): void {
    if (!this.#isOver) this.#intake.hold(why)
  }

  release(why: Hold): void {
    this.#intake.release(why)
  }

  /** End it at once. May be called twice. */
  end(why: EndReason, detail = ''): void {
    this.#why ??= why
    this.#detail = this.#detail === '' ? detail : this.#detail
    this.#socket.terminate()
    this.#over()
  }

  /** Say to the edge that it ends, and end it when the edge has answered or did not in time. */
  leave(why: EndReason): void {
    if (this.#isOver || this.#cancels.has('close')) return
    this.#why ??= why
    // Its answer must be read.
    this.#intake.stop()
    this.#socket.resume()
    this.#socket.close(LEAVING, why)
    this.#set('close', CLOSE_MS, () => this.end(why))
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('message', (bytes: Buffer, isBinary: boolean) => this.#whole(bytes, isBinary))
    socket.on('pong', () => (this.#unanswered = 0))
    // Each is answered; who sends too many at once is cut off by the package.
    socket.on('ping', () => {
      if (!this.#isOver) this.#intake.charge(1)
    })
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

  #whole(bytes: Buffer, isBinary: boolean): void {
    this.#part?.free()
    this.#part = undefined
    this.#partBytes = 0
    if (this.#isOver || this.#cancels.has('close')) return
    if (isBinary) this.end('binary frame')
    else this.#intake.push(bytes.toString('utf8'))
  }

  #resume(): void {
    // What it could not say meanwhile counts from now on.
    this.#keepaliveAt = this.#seams.clock.now()
    this.#unanswered = 0
    this.#socket.resume()
  }

  #watchKeepalive(): void {
    const { clock } = this.#seams
    const { keepaliveMs } = this.#limits
    const dueAt = this.#keepaliveAt + keepaliveMs
    this.#set('keepalive', dueAt - clock.now(), () => {
      const now = clock.now()
      if (this.isHeld || now - dueAt > LATE_MS) this.#keepaliveAt = now
      if (now - this.#keepaliveAt >= keepaliveMs) this.end('no keepalive')
      else this.#watchKeepalive()
    })
  }

  #ping(): void {
    const { clock } = this.#seams
    const { pingMs } = this.#limits
    const dueAt = clock.now() + pingMs
    this.#set('ping', pingMs, () => {
      if (this.isHeld || clock.now() - dueAt > LATE_MS) this.#unanswered = 0
      if (this.#unanswered >= 2) {
        this.end('no answer to pings')
        return
      }
      this.#unanswered++
      this.#socket.ping()
      this.#ping()
    })
  }

  #wrote(): void {
    this.#writtenAt = this.#seams.clock.now()
    if (this.#isOver || this.#socket.bufferedAmount > this.#limits.unreadBytes / 2) return
    this.#intake.release('unread')
  }

  #watchWrites(): void {
    if (this.#cancels.has('write')) return
    const { clock } = this.#seams
    const since = clock.now()
    const dueAt = since + this.#limits.writeMs
    this.#set('write', this.#limits.writeMs, () => {
      if (this.#socket.bufferedAmount === 0) return
      const isLate = clock.now() - dueAt > LATE_MS
      if (this.#writtenAt < since && !isLate) this.end('does not read')
      else this.#watchWrites()
    })
  }

  #set(name: 'keepalive' | 'ping' | 'write' | 'close', ms: number, wake: () => void): void {
    this.#cancels.get(name)?.()
    const cancel = this.#seams.clock.after(Math.max(0, ms), () => {
      this.#cancels.delete(name)
      wake()
    })
    this.#cancels.set(name, cancel)
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const cancel of this.#cancels.values()) cancel()
    this.#cancels.clear()
    this.#part?.free()
    this.#intake.stop()
    this.#seams.onEnded(this.#why ?? 'connection broke', this.#detail)
  }
}
