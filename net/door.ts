// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import { Crowd, type CrowdLimits, type Visitor } from './crowd.js'
import { awaitBody, tellTooSlow, type PatienceLimits } from './patience.js'
import { endOf, type RemoteEnd, type Sources } from './sources.js'

/** What a door is set to. */
export interface DoorOptions {
  /** As it was asked for; for the log. */
  readonly address: string
  readonly limits: CrowdLimits & PatienceLimits & { readonly keepsStrangers: boolean }
  readonly sources: Sources
  readonly isSecure: boolean
}

interface DoorSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly onCrowded?: () => void
}

interface Guest extends Visitor {
  /** Ends the wait for its first request. */
  cancel: () => void
}

/** That somebody is turned away is told at most this often. */
const TOLD_EACH_MS = 60_000

/** Nobody has two connections from one port at a time. With TLS the socket of a request is another than that of its connection. */
const nameOf = ({ address, port }: RemoteEnd): string => `${address} ${port}`

/** Keeps the connections of one listener within its limits, and ends those that dawdle. */
export class Door {
  readonly #options: DoorOptions
  readonly #seams: DoorSeams
  readonly #crowd: Crowd
  readonly #guests = new Map<string, Guest & { readonly socket: Socket }>()
  #turnedAway = 0
  #toldAt = -Infinity

  constructor(options: DoorOptions, seams: DoorSeams) {
    this.#options = options
    this.#seams = seams
    this.#crowd = new Crowd(options.limits, options.sources, seams.random)
  }

  /** A connection was made. */
  enter(socket: Socket): void {
    const { clock } = this.#seams
    const end = endOf(socket)
    const name = nameOf(end)
    // A connection that Node.js was given back is the one that it was.
    if (this.#guests.get(name)?.socket === socket) return
    const guest = {
      ...end,
      socket,
      requests: 0,
      activeAt: clock.now(),
      end: () => void socket.destroy(),
      cancel: clock.after(this.#options.limits.headerMs, () => this.#cut(socket)),
    }
    this.#guests.set(name, guest)
    socket.once('close', () => {
      guest.cancel()
      this.#crowd.leave(guest)
      if (this.#guests.get(name) === guest) this.#guests.delete(name)
    })
    const ended = this.#crowd.admit(guest)
    if (ended !== undefined) this.#tell(ended)
  }

  /** A request's headers are there. */
  asked(request: IncomingMessage, response: ServerResponse): void {
    const { clock } = this.#seams
    const { limits } = this.#options
    const guest = this.#begin(request)
    if (guest === undefined) return
    response.once('close', () => {
      guest.requests--
      guest.activeAt = clock.now()
    })
    if (!limits.keepsStrangers && !this.#crowd.isMember(guest)) response.shouldKeepAlive = false
    awaitBody(request, response, limits, clock)
  }

  /** A connection becomes another protocol's: busy until it ends. */
  upgraded(request: IncomingMessage): void {
    this.#begin(request)
  }

  /** End what is left, at once. */
  endAll(): void {
    for (const { socket } of this.#guests.values()) socket.destroy()
  }

  /** It connected and did not ask. What is not encrypted cannot be said where TLS is spoken. */
  #cut(socket: Socket): void {
    if (this.#options.isSecure) socket.destroy()
    else tellTooSlow(socket)
  }

  #begin(request: IncomingMessage): Guest | undefined {
    const guest = this.#guests.get(nameOf(endOf(request.socket)))
    if (guest === undefined) return undefined
    guest.cancel()
    guest.requests++
    guest.activeAt = this.#seams.clock.now()
    return guest
  }

  #tell({ address: from }: Visitor): void {
    const { clock, log, onCrowded } = this.#seams
    this.#turnedAway++
    onCrowded?.()
    if (clock.now() - this.#toldAt < TOLD_EACH_MS) return
    this.#toldAt = clock.now()
    const { address } = this.#options
    const { size } = this.#crowd
    const fields = { address, from, open: size, endedSoFar: this.#turnedAway }
    log.warn('too many connections: some are ended to make room', fields)
  }
}
