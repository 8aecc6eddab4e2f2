// SPDX-License-Identifier: Apache-2.0
// A member that holds the shared key and lies: well-formed, rightly signed messages with whatever content it likes.
import { makeHttpTransport } from '../../../agent/adapters/http-transport.js'
import { BodyCodec } from '../../../agent/stages/exchange/body.js'
import { Heartbeat, MAX_HEARTBEAT } from '../../../agent/records/heartbeat.js'
import { makeKeyRing, type KeyRing } from '../../../agent/key-ring.js'
import { meshTopology } from '../../../agent/records/mesh.js'
import { RecordTable } from '../../../agent/records/table.js'
import type { Transport } from '../../../agent/ports/transport.js'
import { open, seal, TYPE, zoneHash } from '../../../agent/stages/exchange/wire.js'
import { sleep, systemClock } from '../../../core/clock.js'
import { parseNodeName, parseZoneName } from '../../../core/ids.js'
import { systemRandom } from '../../../core/random.js'
import { makeRoster, type RosterMember } from '../../../core/roster.js'
import { FLAG } from '../../../vote/evidence.js'
import type { Order } from './order.js'

type LieOrder = Extract<Order, { do: 'lie' }>

/** Just below the rate at which one source is refused. */
const ROUND_MS = 60
/** Above what was last heard, so that the true record is a while behind. */
const AHEAD = 5

/** Where the talk with one receiver stands. */
interface Talk {
  readonly to: RosterMember
  destBoot: bigint
  shownAt: number
  seq: number
}

export class Forger {
  readonly #order: LieOrder
  readonly #table: RecordTable
  readonly #codec: BodyCodec
  readonly #keys: KeyRing
  readonly #talks: readonly Talk[]
  readonly #boot = systemRandom.bits64()
  readonly #zone = zoneHash('', '')
  readonly #count: (answer: string) => void

  constructor(order: LieOrder, count: (answer: string) => void) {
    this.#order = order
    this.#count = count
    const roster = makeRoster(parseZoneName(''), parseNodeName(order.self), order.members)
    const heartbeat = new Heartbeat(systemClock, undefined, () => undefined)
    const topology = meshTopology(roster.members.length)
    this.#table = new RecordTable(roster, topology, {
      ...{ clock: systemClock, heartbeat, recordTtlMs: 60_000 },
    })
    this.#codec = new BodyCodec(this.#table)
    this.#keys = makeKeyRing(order.key)
    this.#talks = roster.members
      .filter(member => member.name !== order.self)
      .map(to => ({ to, destBoot: 0n, shownAt: 0, seq: 0 }))
  }

  /** Tell everybody, as often as they listen to one source. */
  async run(signal: AbortSignal): Promise<void> {
    const transport = makeHttpTransport()
    await Promise.all(this.#talks.map(talk => this.#tellAll(talk, transport, signal)))
    transport.close()
  }

  async #tellAll(talk: Talk, transport: Transport, signal: AbortSignal): Promise<void> {
    const { to } = talk
    const peer = { name: to.name, address: to.address, port: this.#order.port }
    while (!signal.aborted) {
      this.#forge()
      try {
        const inner = AbortSignal.any([signal, AbortSignal.timeout(1_000)])
        const answer = await transport.send(peer, 'gossip', this.#seal(talk), inner)
        this.#count(String(answer.status))
        this.#hear(talk, answer.body)
      } catch {
        this.#count('unreachable')
      }
      await sleep(systemClock, ROUND_MS, signal)
    }
  }

  #forge(): void {
    const { roster, self } = this.#table
    const { lies } = this.#order
    for (const name of lies.down) this.#table.setOwnVote(roster.indexOf(name) ?? -1, 'down', 2)
    this.#table.setOwnFlags(FLAG.kubeletWell, -Infinity)
    this.#table.beat()
    for (const member of roster.members) {
      const isSilenced = lies.silenced.includes(member.name)
      const isForged = lies.inAllNames || isSilenced
      const origin = roster.indexOf(member.name)!
      if (isForged && origin !== self) this.#forgeOf(origin, member.name, isSilenced)
    }
  }

  #forgeOf(origin: number, name: string, isSilenced: boolean): void {
    const table = this.#table
    const { lies } = this.#order
    const isCut = lies.cut.includes(name)
    const draft = table.makeDraft()
    draft.origin = origin
    draft.hb = isSilenced ? MAX_HEARTBEAT : Math.max(table.hb[origin]!, nowSeconds()) + AHEAD
    draft.producedAt = systemClock.now()
    draft.flags =
      (lies.inAllNames ? FLAG.kubeletWell : FLAG.selfSuspect) | (isCut ? FLAG.cloudCut : 0)
    draft.cloudCutAt = isCut ? systemClock.now() - 60_000 : -Infinity
    for (const victim of lies.down) {
      const slot = table.topology.slotOf(origin, table.roster.indexOf(victim) ?? -1)
      if (slot < 0) continue
      draft.anyDown = true
      draft.down[slot >> 3]! |= 1 << (slot & 7)
    }
    table.merge(draft)
  }

  #seal(talk: Talk): Buffer {
    const table = this.#table
    const baseHb = table.hb[table.self]!
    const order = { sparse: false, keySetHash: this.#keys.setHash, baseHb, suspects: [] }
    const body = this.#codec.encode(order, systemClock.now())
    const header = {
      type: TYPE.gossip,
      flags: 0,
      membershipHash: table.hash,
      senderId: table.roster.members[table.self]!.id,
      senderBoot: this.#boot,
      senderSeq: ++talk.seq,
      baseHb,
      destBoot: talk.destBoot,
      count: table.size,
      heldMs: talk.destBoot === 0n ? 0 : Math.floor(systemClock.now() - talk.shownAt),
    }
    return seal(header, body, this.#zone, this.#keys.primary)
  }

  /** What the others say, so that the lies stay ahead of it. */
  #hear(talk: Talk, bytes: Uint8Array): void {
    const reply = open(bytes, this.#zone, this.#keys)
    if (!reply.ok) return
    const { header, body } = reply
    talk.destBoot = header.senderBoot
    talk.shownAt = systemClock.now()
    if (header.type !== TYPE.challenge && this.#codec.canRead(header))
      this.#codec.read(header, body, systemClock.now(), draft => this.#table.merge(draft))
  }
}

const nowSeconds = (): number => Math.floor(systemClock.wall() / 1_000)
