// SPDX-License-Identifier: Apache-2.0
import type { Answer, Route } from '../../agent/ports/transport.js'
import type { World } from '../../testkit/zone/world.js'

/** A request that went over the wire. */
export interface Recorded {
  /** By the world's clock. */
  readonly at: number
  readonly from: string
  readonly to: string
  readonly route: Route
  readonly body: Uint8Array
}

/** A member's request that the outsider brought to a member: whose word it is, and when that was said and heard. */
export interface Passed {
  readonly from: string
  readonly to: string
  readonly saidAt: number
  readonly at: number
}

/** An address that is no node's. */
const OWN_ADDRESS = '10.9.9.9'
const KEPT = 400
const MOST_AT_ONCE = 40
const FLOOD_MS = 3_000
const FLOOD_EVERY_MS = 50

const plain = (status: number, text: string): Answer => ({ status, body: Buffer.from(text) })

/** What may be answered to any request, whatever it asks; the last one holds the connection and never answers. */
const ANSWERS: readonly ((body: Uint8Array) => Answer)[] = [
  () => plain(404, '404 page not found\n'),
  () => plain(404, '404 page not found\n'),
  () => plain(200, ''),
  () => plain(409, 'again\n'),
  body => ({ status: 200, body }),
  () => ({ status: 200, body: Buffer.alloc(500, 0x5a) }),
]

/** Somebody on the network without a key: he sees every message, may send from any address, and takes free ones. */
export class Outsider {
  readonly #world: World
  readonly #recorded: Recorded[] = []
  /** Results in SuperEdge's form are rare and prove something for ever: they are kept apart. */
  readonly #results: Recorded[] = []
  readonly #held = new Set<string>()
  readonly #passedOn: Passed[] = []
  readonly #squats = new Map<string, () => void>()

  constructor(world: World) {
    this.#world = world
    world.network.onWire = (body, route, kind, { from, to }) => {
      if (kind === 'request')
        this.#record({ from, to, route, body: body.slice(), at: world.clock.now() })
    }
  }

  /** Results in SuperEdge's form that went over the wire so far. */
  get results(): number {
    return this.#results.length
  }

  /** What he brought to this address, in the order in which it was heard. */
  broughtTo(to: string): readonly Passed[] {
    return this.#passedOn.filter(passed => passed.to === to)
  }

  /** He sends this from that address. Who gets what a member said may believe it: it is that member's word, by another way. */
  #send(
    as: string,
    to: string,
    { route, body }: Pick<Recorded, 'route' | 'body'>,
    said?: Recorded,
  ): void {
    const { network, clock } = this.#world
    network.inject(as, to, route, body)
    if (said === undefined) return
    this.#passedOn.push({
      from: said.from,
      to,
      saidAt: said.at,
      at: clock.now() + network.latencyMs,
    })
  }

  #record(message: Recorded): void {
    if (message.route === 'result') this.#results.push(message)
    else {
      this.#recorded.push(message)
      if (this.#recorded.length > KEPT) this.#recorded.shift()
    }
  }

  /** The newest request from one address to another. */
  last(from: string, to: string): Recorded | undefined {
    return this.#recorded.findLast(message => message.from === from && message.to === to)
  }

  isSquatting(address: string): boolean {
    return this.#squats.has(address)
  }

  /** Take an address that nobody has, and answer to everything; `value` says what. */
  squat(address: string, value: number): void {
    const { network } = this.#world
    const answer = ANSWERS[value % ANSWERS.length]!
    const unlisten = network.listen(address, (route, body, from) => {
      this.#record({ from, to: address, route, body: body.slice(), at: this.#world.clock.now() })
      return answer(body)
    })
    network.powerOn(address)
    const isSilent = value % 7 === 6
    if (isSilent) network.freeze(address)
    this.#squats.set(address, () => {
      unlisten()
      if (isSilent) network.thaw(address)
    })
  }

  /** Whoever the address belongs to is about to come back. */
  yield(address: string): void {
    this.#squats.get(address)?.()
    this.#squats.delete(address)
  }

  /** Send recorded messages again: to whom they were meant for, to somebody else, or in the name of the absent. */
  replay(value: number, absent: readonly string[], present: readonly string[]): number {
    const theirs = this.#recorded.filter(({ from }) => absent.includes(from))
    const chosen = value % 2 === 0 && theirs.length > 0 ? theirs : this.#recorded
    const isForThisHost = value % 3 !== 0
    let sent = 0
    for (const said of chosen.slice(-MOST_AT_ONCE)) {
      const to = isForThisHost ? said.to : present[sent % present.length]!
      this.#send(said.from, to, said, said)
      sent++
    }
    for (const said of this.#results.slice(-MOST_AT_ONCE))
      for (const to of present) {
        this.#send(said.from, to, said, said)
        sent++
      }
    return sent
  }

  /** Keep what one sends to others until `release`. */
  hold(from: string, to: readonly string[]): void {
    for (const address of to) {
      this.#world.network.hold(from, address)
      this.#held.add(`${from} ${address}`)
    }
  }

  /** Whether he keeps what one sends to the other. */
  isHolding(from: string, to: string): boolean {
    return this.#held.has(`${from} ${to}`)
  }

  /** Pass on what was kept, at once or one after the other. @returns how many links there were. */
  release(apartMs = 0): number {
    const links = [...this.#held]
    this.#held.clear()
    for (const link of links) {
      const [from = '', to = ''] = link.split(' ')
      this.#world.network.release(from, to, apartMs)
    }
    return links.length
  }

  /** Many requests, some of them once valid, in a few seconds; from an address of his own and from the victim's peers'. */
  flood(to: string, as: string): void {
    const { clock } = this.#world
    const route = (count: number): Route => (count % 3 === 0 ? 'vote' : 'gossip')
    for (let count = 0; count * FLOOD_EVERY_MS < FLOOD_MS; count++)
      clock.after(count * FLOOD_EVERY_MS, () => {
        const known = count % 2 === 0 ? undefined : this.#recorded.at(-1 - (count % 50))
        const body = known?.body ?? Buffer.alloc(300, count)
        for (let i = 0; i < 3; i++)
          this.#send(i === 0 ? as : OWN_ADDRESS, to, { route: route(count), body }, known)
      })
  }
}
