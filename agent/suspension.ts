// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'

/** By what a suspension was noticed. */
type SuspensionSign =
  /** A timer fired late, or nothing at all ran: SIGSTOP, a frozen cgroup, a machine without CPU. */
  | 'late'
  /** The machine slept: its boot clock went on without its monotonic clock. */
  | 'slept'
  /** The wall clock ran ahead of the boot clock: it was set after a pause, or for the first time since the start. */
  | 'wall-clock'
  /** A paused VM stops every clock of its own. More time went by for the apiserver. */
  | 'apiserver'
  /** More time went by for a peer. */
  | 'peers'

interface SuspensionSeams {
  readonly clock: Clock
  readonly log: Logger
  /** What the apiserver's clock shows at least, in epoch ms; undefined before it said so. */
  readonly serverTime: () => number | undefined
  /** Called at once, by whatever noticed the suspension first: everything that is known is from before it. */
  readonly onResume: () => void
}

/** Shorter pauses are usual, and the monotonic clock counts them. */
const SUSPENDED_MS = 5_000
/**
 * The boot clock costs three system calls, so it is read this often, or when another clock went on by more: the kernel adds
 * the time asleep to the wall clock as well. If that was set back by as much meanwhile, a sleep is noticed this much later.
 */
const BOOT_CLOCK_MS = 1_000
/** A look at least this often, so that a long pause between two looks is one of the process. */
const LOOK_EVERY_MS = 2_000
/** The apiserver's `Date` may have been on its way for as long as a request may take. */
const SERVER_LAG_MS = 20_000
/**
 * Signs from other members, and from the wall clock, count as one suspension for this long. So neither a member that lies
 * nor a forged time server can keep this agent silent for ever.
 */
const SAME_MS = 60_000
/** How many times in a row the apiserver is believed sooner, if a minute passed on its own clock; after that its clock is what jumps. */
const SOONER = 3
/** After this long without any sign, that count begins anew. */
const CALM_MS = 10 * SAME_MS

/** What the clocks show at one moment. */
interface Reading {
  readonly now: number
  readonly wall: number
  readonly boot: number
}

/**
 * Notices that this process, or its machine, stood still for a while: what it knows is then out of date. To be asked before
 * anything is decided or sent; each timer of `clock` asks before its callback.
 */
export class SuspensionWatch {
  /** The machine's clock, whose timers look first. */
  readonly clock: Clock
  readonly #seams: SuspensionSeams
  #seen: Reading
  /** The last one for which the boot clock was asked. */
  #asked: Reading | undefined
  /** How far the boot clock was ahead of the monotonic one when what we know began. */
  #sleptMs: number
  /** How far the apiserver's clock was ahead of the boot clock at most. */
  #serverAheadMs: number | undefined
  #resumedAt = -Infinity
  #sooner = 0
  /** The next jump of the apiserver's clock belongs to a suspension that was noticed by another sign. */
  #isExplained = false
  #count = 0
  /** The timer for when no other one looks; undefined before the start and after the end. */
  #tick: { readonly setAt: number; readonly cancel: () => void } | undefined

  constructor(seams: SuspensionSeams) {
    this.#seams = seams
    const { clock } = seams
    this.#seen = this.#read()
    this.#sleptMs = this.#seen.boot - this.#seen.now
    this.clock = {
      now: () => clock.now(),
      boot: () => clock.boot(),
      wall: () => clock.wall(),
      after: (ms, wake) => this.#after(ms, wake),
    }
  }

  /** Suspensions so far. What was learned under another count is not known any more. */
  get count(): number {
    return this.#count
  }

  /** Nothing was known before this: a slow start is no suspension. */
  start(): void {
    this.#seen = this.#read()
    this.#setTick()
  }

  stop(): void {
    this.#tick?.cancel()
    this.#tick = undefined
  }

  /** Compare the clocks. When `onResume` has to be called, it has been when this returns. */
  look(): void {
    this.#look(-Infinity)
  }

  /** Another part of the agent noticed a suspension. */
  reportedBy(by: 'peers'): void {
    if (!this.#isSame) this.#resume(by, undefined)
  }

  get #isSame(): boolean {
    return this.#seams.clock.now() - this.#resumedAt < SAME_MS
  }

  #setTick(): void {
    this.#tick?.cancel()
    const { clock } = this.#seams
    this.#tick = {
      setAt: clock.now(),
      // Like every timer it looks, and is set anew, before it wakes anybody.
      cancel: this.clock.after(LOOK_EVERY_MS, () => undefined),
    }
  }

  /** Another timer looked: as long as others do so often enough, this one does not wake the process. */
  #postponeTick(): void {
    const waitedMs = this.#seams.clock.now() - (this.#tick?.setAt ?? Infinity)
    if (waitedMs > LOOK_EVERY_MS / 2) this.#setTick()
  }

  #read(): Reading {
    const { clock } = this.#seams
    const [now, wall, asked] = [clock.now(), clock.wall(), this.#asked]
    const isRecent =
      asked !== undefined &&
      now - asked.now < BOOT_CLOCK_MS &&
      Math.abs(wall - asked.wall) < BOOT_CLOCK_MS
    if (isRecent) return { now, wall, boot: asked.boot + now - asked.now }
    this.#asked = { now, wall, boot: clock.boot() }
    return this.#asked
  }

  #after(ms: number, wake: () => void): () => void {
    const { clock } = this.#seams
    const dueAt = clock.now() + ms
    const count = this.#count
    return clock.after(ms, () => {
      // Other timers that are late by now were delayed by the same suspension.
      this.#look(count === this.#count ? clock.now() - dueAt : -Infinity)
      this.#postponeTick()
      wake()
    })
  }

  #look(lateMs: number): void {
    const last = this.#seen
    const seen = this.#read()
    this.#seen = seen
    const sleptMs = seen.boot - seen.now
    const wallMs = seen.wall - last.wall - (seen.boot - last.boot)
    const signs: readonly [SuspensionSign, number][] = [
      ['late', Math.max(lateMs, seen.now - last.now - LOOK_EVERY_MS)],
      ['slept', sleptMs - this.#sleptMs],
      ['wall-clock', this.#isSame ? 0 : wallMs],
    ]
    const found = signs.find(([, ms]) => ms > SUSPENDED_MS)
    const serverMs = this.#lookAtServer(seen.boot)
    if (found !== undefined) {
      this.#sleptMs = sleptMs
      this.#resume(...found)
    } else if (serverMs > SERVER_LAG_MS && this.#isAnother(serverMs)) {
      this.#resume('apiserver', serverMs)
    }
  }

  /** Whether it is a new suspension, by the apiserver's own clock: a VM may be paused twice in a minute of its own clock. */
  #isAnother(serverMs: number): boolean {
    const sinceMs = this.#seams.clock.now() - this.#resumedAt
    if (sinceMs >= CALM_MS) this.#sooner = 0
    if (sinceMs >= SAME_MS) return true
    const isExplained = this.#isExplained
    this.#isExplained = false
    return !isExplained && sinceMs + serverMs >= SAME_MS && this.#sooner++ < SOONER
  }

  /** How much further the apiserver's clock is ahead of the boot clock than ever before; that one goes on while a machine sleeps. */
  #lookAtServer(boot: number): number {
    const time = this.#seams.serverTime()
    if (time === undefined) return 0
    const aheadMs = time - boot
    const before = this.#serverAheadMs ?? aheadMs
    this.#serverAheadMs = Math.max(before, aheadMs)
    return aheadMs - before
  }

  #resume(sign: SuspensionSign, ms: number | undefined): void {
    this.#count++
    this.#resumedAt = this.#seams.clock.now()
    // The boot clock goes on while a process is stopped or a machine sleeps: then the apiserver's does not jump.
    this.#isExplained = sign === 'peers' || sign === 'wall-clock'
    this.#seams.log.warn('this agent was suspended: it probes and exchanges anew', { sign, ms })
    this.#seams.onResume()
  }
}
