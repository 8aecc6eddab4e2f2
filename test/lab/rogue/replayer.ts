// SPDX-License-Identifier: Apache-2.0
// Sends again what was once said: as it was, or (who holds the key) signed anew in a session of its own.
import { readFileSync } from 'node:fs'
import { makeHttpTransport } from '../../../agent/adapters/http-transport.js'
import { makeKeyRing, type KeyRing } from '../../../agent/key-ring.js'
import type { Route, Transport } from '../../../agent/ports/transport.js'
import { open, seal, zoneHash, type Header } from '../../../agent/stages/exchange/wire.js'
import { sleep, systemClock } from '../../../core/clock.js'
import type { Member } from '../../../core/roster.js'
import { systemRandom } from '../../../core/random.js'
import type { Order, Recorded } from './order.js'

type ReplayOrder = Extract<Order, { do: 'replay' }>

/** Below what a source may send in a second, so that refusals are the protocol's and not the rate's. */
const PER_TARGET_MS = 80

interface Message {
  readonly route: Route
  readonly bytes: Buffer
}

const routeOf = (path: string): Route => (path.endsWith('/vote') ? 'vote' : 'gossip')

/** Where the talk with one target stands, for who signs anew. */
interface Session {
  readonly boot: bigint
  destBoot: bigint
  shownAt: number
  seq: number
}

/** Everything that was recorded, to one target, again and again. */
export class Replayer {
  readonly #order: ReplayOrder
  readonly #messages: readonly Message[]
  readonly #count: (answer: string) => void
  readonly #keys: KeyRing | undefined
  readonly #zone = zoneHash('', '')

  constructor(order: ReplayOrder, count: (answer: string) => void) {
    this.#order = order
    this.#count = count
    this.#keys = order.key === undefined ? undefined : makeKeyRing(order.key)
    const all = JSON.parse(readFileSync(order.file, 'utf8')) as readonly Recorded[]
    this.#messages = all.map(({ path, body }) => ({
      route: routeOf(path),
      bytes: Buffer.from(body, 'base64'),
    }))
  }

  async run(signal: AbortSignal): Promise<void> {
    const transport = makeHttpTransport()
    await Promise.all(this.#order.members.map(member => this.#replayTo(member, transport, signal)))
    transport.close()
  }

  async #replayTo(to: Member, transport: Transport, signal: AbortSignal): Promise<void> {
    const peer = { name: to.name, address: to.address, port: this.#order.port }
    const session: Session = { boot: systemRandom.bits64(), destBoot: 0n, shownAt: 0, seq: 0 }
    for (let turn = 0; !signal.aborted && this.#messages.length > 0; turn++) {
      const message = this.#messages[turn % this.#messages.length]!
      const bytes = this.#prepare(message, session)
      try {
        const inner = AbortSignal.any([signal, AbortSignal.timeout(1_000)])
        const answer = await transport.send(peer, message.route, bytes, inner)
        this.#count(String(answer.status))
        this.#hear(session, answer.body)
      } catch {
        this.#count('unreachable')
      }
      await sleep(systemClock, PER_TARGET_MS, signal)
    }
  }

  #prepare({ bytes }: Message, session: Session): Buffer {
    if (this.#keys === undefined) return bytes
    const opened = open(bytes, this.#zone, this.#keys)
    if (!opened.ok) return bytes
    const header: Header = {
      ...opened.header,
      ...{ senderBoot: session.boot, destBoot: session.destBoot, senderSeq: ++session.seq },
      heldMs: session.destBoot === 0n ? 0 : Math.floor(systemClock.now() - session.shownAt),
    }
    return seal(header, opened.body, this.#zone, this.#keys.primary)
  }

  /** Every answer shows what the next message must. */
  #hear(session: Session, bytes: Uint8Array): void {
    if (this.#keys === undefined) return
    const reply = open(bytes, this.#zone, this.#keys)
    if (!reply.ok) return
    session.destBoot = reply.header.senderBoot
    session.shownAt = systemClock.now()
  }
}
