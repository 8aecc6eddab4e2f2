// SPDX-License-Identifier: Apache-2.0
// A member that lies: whatever it says goes to everybody, as often as they listen to one source.
import { makeHttpTransport } from '../../../agent/adapters/http-transport.js'
import { makeKeyRing, type KeyRing, type SignKey } from '../../../agent/key-ring.js'
import type { Transport } from '../../../agent/ports/transport.js'
import { Heartbeat } from '../../../agent/records/heartbeat.js'
import { meshTopology } from '../../../agent/records/mesh.js'
import { RecordTable } from '../../../agent/records/table.js'
import { seal, TYPE, zoneHash, type Header } from '../../../agent/stages/exchange/wire.js'
import { sleep, systemClock } from '../../../core/clock.js'
import { parseNodeName, parseZoneName } from '../../../core/ids.js'
import { systemRandom } from '../../../core/random.js'
import { makeRoster, type RosterMember } from '../../../core/roster.js'
import type { Lies, Order } from './order.js'

export type LieOrder = Extract<Order, { do: 'lie' }>

/** Just below the rate at which one source is refused. */
const BELOW_LIMIT: Pace = { lanes: 1, everyMs: 60 }

/** Where the talk with one receiver stands. */
export interface Talk {
  readonly to: RosterMember
  destBoot: bigint
  shownAt: number
  seq: number
}

/** One message, ready to be sent. */
export interface Lie {
  readonly bytes: Buffer
  /** Goes before the status in the answers. */
  readonly as?: string
}

/** How often one receiver is told something. */
export interface Pace {
  /** Requests that are under way at the same time. */
  readonly lanes: number
  /** From one request of a lane to its next one, at least. */
  readonly everyMs: number
}

export abstract class Liar {
  protected readonly lies: Lies
  protected readonly table: RecordTable
  protected readonly keys: KeyRing
  protected readonly zone = zoneHash('', '')
  protected readonly pace: Pace = BELOW_LIMIT
  readonly #port: number
  readonly #talks: readonly Talk[]
  readonly #boot = systemRandom.bits64()
  readonly #count: (answer: string) => void

  constructor(order: LieOrder, count: (answer: string) => void) {
    this.lies = order.lies
    this.#port = order.port
    this.#count = count
    const roster = makeRoster(parseZoneName(''), parseNodeName(order.self), order.members)
    const heartbeat = new Heartbeat(systemClock, undefined, () => undefined)
    const topology = meshTopology(roster.members.length)
    this.table = new RecordTable(roster, topology, {
      ...{ clock: systemClock, heartbeat, recordTtlMs: 60_000 },
    })
    this.keys = makeKeyRing(order.key)
    this.#talks = roster.members
      .filter(member => member.name !== order.self)
      .map(to => ({ to, destBoot: 0n, shownAt: 0, seq: 0 }))
  }

  /** What is said next to one receiver. */
  protected abstract say(talk: Talk): Lie
  /** What the receiver answered; bring the talk up to date with it. */
  protected abstract hear(talk: Talk, answer: Uint8Array): void

  async run(signal: AbortSignal): Promise<void> {
    const transport = makeHttpTransport()
    const lanes = this.#talks.flatMap(talk =>
      Array.from({ length: this.pace.lanes }, () => this.#lieTo(talk, transport, signal)),
    )
    await Promise.all(lanes)
    transport.close()
  }

  /** Signed with `key`, in the name of `senderId`. */
  protected seal(
    talk: Talk,
    body: Uint8Array,
    key: SignKey,
    more: Pick<Header, 'count'> & Partial<Header>,
  ): Buffer {
    const { roster, self, hash, hb } = this.table
    const header: Header = {
      ...{ type: TYPE.gossip, flags: 0, membershipHash: hash, baseHb: hb[self]! },
      ...{ senderId: roster.members[self]!.id, senderBoot: this.#boot, senderSeq: ++talk.seq },
      destBoot: talk.destBoot,
      heldMs: talk.destBoot === 0n ? 0 : Math.floor(systemClock.now() - talk.shownAt),
      ...more,
    }
    return seal(header, body, this.zone, key)
  }

  /** The next message must show what this answer showed. */
  protected heard(talk: Talk, { senderBoot }: Header): void {
    talk.destBoot = senderBoot
    talk.shownAt = systemClock.now()
  }

  async #lieTo(talk: Talk, transport: Transport, signal: AbortSignal): Promise<void> {
    const { name, address } = talk.to
    const peer = { name, address, port: this.#port }
    const { everyMs } = this.pace
    while (!signal.aborted) {
      const sentAt = systemClock.now()
      const { bytes, as = '' } = this.say(talk)
      try {
        const inner = AbortSignal.any([signal, AbortSignal.timeout(1_000)])
        const answer = await transport.send(peer, 'gossip', bytes, inner)
        this.#count(`${as}${answer.status}`)
        this.hear(talk, answer.body)
      } catch {
        this.#count('unreachable')
      }
      await sleep(systemClock, Math.max(0, sentAt + everyMs - systemClock.now()), signal)
    }
  }
}
