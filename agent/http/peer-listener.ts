// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { Listener } from '../../net/listen.js'
import type { PeerListenerStatus } from '../results.js'

interface PeerListenerSeams {
  readonly clock: Clock
  readonly log: Logger
  /** Opens a listener; waits for an address that does not exist yet until `signal` aborts. @throws ListenError */
  readonly open: (address: string, signal: AbortSignal) => Promise<Listener>
  readonly onStatus: (status: PeerListenerStatus) => void
}

/** How often to try again what an operator may have repaired. */
const RETRY_MS = 10_000

/**
 * The peers' listener, which goes where the node's address goes: peers look for this agent at the address that its Node
 * has. The old listener is closed once the new one is open.
 */
export class PeerListener {
  readonly #seams: PeerListenerSeams
  readonly #closing = new Set<Promise<void>>()
  #listener: Listener | undefined
  #wanted = ''
  #trouble: string | null = 'the listener for peers is not open yet'
  #attempt = new AbortController()
  #moving: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(seams: PeerListenerSeams) {
    this.#seams = seams
    this.#report()
  }

  /** Open the first one. @throws ListenError when it cannot be opened, but not because of a `stop` or `follow` meanwhile. */
  async start(address: string): Promise<void> {
    const signal = this.#want(address)
    await this.#take(address, signal)
  }

  /** From now on peers look for this agent here. Trouble with it goes to `onStatus`. */
  follow(address: string): void {
    if (address === '' || address === this.#wanted || this.#isStopped) return
    this.#moving = this.#move(address, this.#want(address))
  }

  /** May be called twice. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#attempt.abort()
    await this.#moving
    if (this.#listener !== undefined) this.#close(this.#listener)
    await Promise.all(this.#closing)
  }

  #want(address: string): AbortSignal {
    this.#attempt.abort()
    this.#attempt = new AbortController()
    this.#wanted = address
    if (this.#listener?.address === address) this.#say(null)
    else this.#say(`the listener for peers is not open on ${address} yet`)
    return this.#attempt.signal
  }

  async #move(address: string, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#seams
    if (this.#listener?.address === address) return
    log.info("the node's address changed: the listener for peers follows", { address })
    do {
      try {
        await this.#take(address, signal)
        return
      } catch (error) {
        const trouble = reasonOf(error)
        if (this.#trouble !== trouble) log.error('peers cannot reach this agent', { trouble })
        this.#say(trouble)
      }
    } while (await sleep(clock, RETRY_MS, signal))
  }

  async #take(address: string, signal: AbortSignal): Promise<void> {
    let next: Listener
    try {
      next = await this.#seams.open(address, signal)
    } catch (error) {
      if (signal.aborted) return
      throw error
    }
    if (signal.aborted) {
      this.#close(next)
      return
    }
    if (this.#listener !== undefined) this.#close(this.#listener)
    this.#listener = next
    this.#say(null)
  }

  #close(listener: Listener): void {
    const closed = listener.close().then(() => void this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  #say(trouble: string | null): void {
    if (this.#trouble === trouble) return
    this.#trouble = trouble
    this.#report()
  }

  #report(): void {
    this.#seams.onStatus({ address: this.#listener?.address ?? '', trouble: this.#trouble })
  }
}
