// SPDX-License-Identifier: Apache-2.0
import { Agent } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import { InboundSession, makeBoot } from '../../../agent/stages/exchange/session.js'
import { systemRandom } from '../../../core/random.js'
import type { Member } from '../../../core/roster.js'

/** Real agents keep idle connections this long. */
const IDLE_MS = 120_000

/** Hands connections to the servers that all peers share. */
export interface Doors {
  readonly exchange: (socket: Socket) => void
  readonly kubelet: (socket: Socket) => void
  readonly exchangePort: number
  readonly kubeletPort: number
}

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, resolve)
  })

/** One node of the world: an address with two open ports, and what its agent remembers of the one under test. */
export class WorldPeer {
  readonly member: Member
  session = new InboundSession()
  boot = makeBoot(systemRandom)
  /** What the agent under test last showed us, and when. */
  shown = 0n
  shownAt = -Infinity
  seq = 0
  /** Its own connections to the agent under test. */
  agent: Agent
  /** When the agent's probes came. */
  probedAt = -Infinity
  isAlive = true
  #servers: readonly Server[] = []
  readonly #sockets = new Set<Socket>()

  constructor(member: Member) {
    this.member = member
    this.agent = this.#makeAgent()
  }

  async open({ exchange, kubelet, exchangePort, kubeletPort }: Doors): Promise<void> {
    const door = (take: (socket: Socket) => void): Server =>
      createServer({ noDelay: true }, socket => {
        this.#sockets.add(socket)
        socket.once('close', () => this.#sockets.delete(socket))
        take(socket)
      })
    const pair = [door(exchange), door(kubelet)] as const
    this.#servers = pair
    await listen(pair[0], this.member.address, exchangePort)
    await listen(pair[1], this.member.address, kubeletPort)
    this.isAlive = true
  }

  /** Without a word, as a power cut. */
  close(): void {
    this.isAlive = false
    for (const server of this.#servers) server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.agent.destroy()
    this.agent = this.#makeAgent()
    this.session = new InboundSession()
    this.boot = makeBoot(systemRandom)
    this.shown = 0n
  }

  #makeAgent(): Agent {
    // Closed before a TCP keepalive would be due, as an agent's are.
    return new Agent({ keepAlive: true, keepAliveMsecs: 2 * IDLE_MS, timeout: IDLE_MS })
  }
}
