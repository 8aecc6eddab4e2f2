// SPDX-License-Identifier: Apache-2.0
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { TYPE } from '../../../agent/stages/exchange/wire.js'
import { systemClock } from '../../../core/clock.js'
import { systemRandom } from '../../../core/random.js'
import type { Roster } from '../../../core/roster.js'
import type { WorldPeer } from './peer.js'
import type { Speech } from './speech.js'
import { WireCounter } from './wire-count.js'

const KEEP_ALIVE_MS = 120_000
const ANSWER_LIMIT_MS = 5_000

const readAll = async (message: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part as Buffer)
  return Buffer.concat(parts)
}

/** How the exchange went, of both sides. */
export interface ExchangeCount {
  /** Gossip and votes that the agent under test sent. */
  readonly fromAgent: number
  /** Gossip that the world began and the agent answered. */
  readonly toAgent: number
  /** Ours that the agent did not take. */
  readonly failed: number
  /** Bodies of its requests and answers. */
  readonly bodyBytes: number
  /** Its own that nobody here could believe. */
  readonly refused: number
}

/** Who is in the zone now, and how its members speak. */
export interface Talk {
  readonly roster: Roster
  readonly speech: Speech
}

/** The peers' side of the exchange: answers what the agent sends, and begins exchanges of its own. */
export class WorldExchange {
  readonly wire = new WireCounter()
  readonly #peers: ReadonlyMap<string, WorldPeer>
  readonly #talk: () => Talk
  readonly #to: { readonly host: string; readonly port: number }
  readonly #server
  #fromAgent = 0
  #toAgent = 0
  #failed = 0
  #refused = 0
  #bodyBytes = 0

  constructor(
    peers: ReadonlyMap<string, WorldPeer>,
    talk: () => Talk,
    to: { readonly host: string; readonly port: number },
  ) {
    this.#peers = peers
    this.#talk = talk
    this.#to = to
    this.#server = createServer(
      { keepAliveTimeout: KEEP_ALIVE_MS, noDelay: true },
      (asked, answer) => void this.#answer(asked, answer),
    )
    this.#server.on('connection', socket => this.wire.watch(socket))
  }

  get count(): ExchangeCount {
    return {
      ...{ fromAgent: this.#fromAgent, toAgent: this.#toAgent },
      ...{ failed: this.#failed, refused: this.#refused },
      bodyBytes: this.#bodyBytes,
    }
  }

  take(socket: Socket): void {
    this.#server.emit('connection', socket)
  }

  async #answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const peer = this.#peers.get(asked.socket.localAddress ?? '')
    answer.sendDate = false
    const bytes = await readAll(asked)
    this.#bodyBytes += bytes.length
    const route = asked.url === '/v1/vote' ? 'vote' : 'gossip'
    const [status, body] =
      peer === undefined ? [404, Buffer.alloc(0)] : this.#reply(peer, route, bytes)
    answer.setHeader('Content-Type', 'application/octet-stream')
    answer.setHeader('Content-Length', body.length)
    answer.statusCode = status
    answer.end(body)
  }

  #reply(peer: WorldPeer, route: 'gossip' | 'vote', bytes: Buffer): readonly [number, Buffer] {
    const { roster, speech } = this.#talk()
    const index = roster.indexOf(peer.member.name)
    const opened = index === undefined ? undefined : speech.open(index, bytes)
    if (index === undefined || opened?.ok !== true) return this.#refuse()
    const { senderBoot, senderSeq } = opened.header
    const back = { senderSeq, destBoot: senderBoot, heldMs: 0 }
    const now = systemClock.now()
    if (peer.session.admit(opened.header, now, ANSWER_LIMIT_MS).kind !== 'accepted') {
      const shown = peer.session.challenge(systemRandom, now)
      const header = { ...back, type: TYPE.challenge, senderBoot: shown, isEmpty: true }
      return [409, speech.message(index, header)]
    }
    this.#fromAgent++
    speech.take(index, opened)
    const isEmpty = route === 'vote'
    const type = isEmpty ? TYPE.ack : TYPE.state
    return [
      200,
      speech.message(index, { ...back, type, senderBoot: peer.session.next(now), isEmpty }),
    ]
  }

  #refuse(): readonly [number, Buffer] {
    this.#refused++
    return [403, Buffer.alloc(0)]
  }

  /** One push-pull that this peer begins. Never rejects. */
  async begin(peer: WorldPeer): Promise<void> {
    try {
      if ((await this.#send(peer)) === 409) await this.#send(peer)
      this.#toAgent++
    } catch {
      this.#failed++
    }
  }

  async #send(peer: WorldPeer): Promise<number> {
    const { roster, speech } = this.#talk()
    const index = roster.indexOf(peer.member.name)
    if (index === undefined) return 200
    const { boot: senderBoot, shown: destBoot } = peer
    const heldMs = destBoot === 0n ? 0 : Math.floor(systemClock.now() - peer.shownAt)
    const header = { type: TYPE.gossip, senderBoot, senderSeq: ++peer.seq, destBoot, heldMs }
    const { status, body } = await this.#post(peer, speech.message(index, header))
    this.#bodyBytes += body.length
    const opened = speech.open(index, body)
    if ((status !== 200 && status !== 409) || !opened.ok)
      throw new Error(`the agent answered ${status}`)
    peer.shown = opened.header.senderBoot
    peer.shownAt = systemClock.now()
    if (status === 200) speech.take(index, opened)
    return status
  }

  #post(peer: WorldPeer, body: Buffer): Promise<{ status: number; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          ...this.#to,
          ...{ method: 'POST', path: '/v1/gossip', agent: peer.agent },
          localAddress: peer.member.address,
          headers: { 'Content-Length': body.length },
          timeout: ANSWER_LIMIT_MS,
        },
        answer => {
          readAll(answer).then(
            bytes => resolve({ status: answer.statusCode ?? 0, body: bytes }),
            reject,
          )
        },
      )
      asked.on('socket', socket => this.wire.watch(socket))
      asked.on('timeout', () => asked.destroy(new Error('no answer')))
      asked.on('error', reject)
      asked.end(body)
    })
  }
}
