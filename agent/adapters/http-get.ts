// SPDX-License-Identifier: Apache-2.0
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls'
import type { Clock } from '../../core/clock.js'
import type { HttpGet, HttpRequest } from '../../core/dial.js'
import { FailedRequest } from './http-connection.js'
import { HttpConnections, type Origin } from './http-connections.js'

/** CA bundles whose connections are kept; a rotated one pushes the oldest out. */
const TRUSTS = 8
const SESSIONS = 1_024

/**
 * Key exchanges offered to a kubelet. Node.js 24 offers a post-quantum one as well, whose key makes the first packet of each new
 * connection 1.2 kB longer; nothing that a probe sends is worth keeping secret for years.
 */
const KEY_EXCHANGES = 'X25519:P-256:P-384'

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

/** How TLS connections of one CA bundle are made. */
class Trust {
  readonly #isChecked: boolean
  /** Made once: a connection that is given a bundle instead reads it anew and keeps its certificates for itself. */
  readonly #secureContext: SecureContext
  /** TLS sessions, which shorten the next handshake with a server. */
  readonly #sessions = new Map<string, Buffer>()

  /** @throws Error for a bundle that is not PEM */
  constructor(ca: string | undefined) {
    this.#isChecked = ca !== 'insecure'
    const trusted = this.#isChecked && ca !== undefined ? { ca } : {}
    this.#secureContext = createSecureContext({ ecdhCurve: KEY_EXCHANGES, ...trusted })
  }

  connect({ host, port, text }: Origin): Socket {
    const session = this.#sessions.get(text)
    const socket = connectTls({
      ...{ host, port, rejectUnauthorized: this.#isChecked, secureContext: this.#secureContext },
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (next: Buffer) => {
      if (this.#sessions.size >= SESSIONS) this.#sessions.clear()
      this.#sessions.set(text, next)
    })
    socket.once('error', () => this.#sessions.delete(text))
    return socket
  }
}

const originOf = ({ protocol, hostname, port, host }: URL): Origin => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: port === '' ? DEFAULT_PORTS[protocol]! : Number(port),
  text: host,
})

/** @throws TypeError for a header that would break out of its line */
const requestText = (
  { pathname, search, host }: URL,
  { headers = {}, reuse }: HttpRequest,
): string => {
  const fields = Object.entries({
    Host: host,
    ...headers,
    ...(reuse ? {} : { Connection: 'close' }),
  })
  for (const [name, value] of fields) {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  }
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`)
  return `GET ${pathname}${search} HTTP/1.1\r\n${lines.join('')}\r\n`
}

/**
 * GET as plugins need it, on sockets: no proxy, no redirects, no decompression, no unlimited body, and no header that
 * says nothing. Probes are most of what a node sends and does, and some links are paid for by the byte.
 */
class PlainGet implements HttpGet {
  readonly #clock: Clock
  readonly #plain: HttpConnections
  readonly #tls = new Map<string | undefined, HttpConnections>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
    this.#plain = new HttpConnections(clock, ({ host, port }) => connect({ host, port }))
  }

  async get(request: HttpRequest): Promise<{ readonly status: number }> {
    const { reuse, signal } = request
    signal.throwIfAborted()
    // Also for a request under way whose connection was closed: it is not retried.
    if (this.#isClosed) throw new Error('no request leaves any more: its client was closed')
    const url = new URL(request.url)
    const text = requestText(url, request)
    const origin = originOf(url)
    const connections = url.protocol === 'https:' ? this.#trusting(request.ca) : this.#plain
    const kept = reuse ? connections.takeIdle(origin) : undefined
    try {
      const connection = kept ?? connections.open(origin, reuse)
      return { status: await connection.ask(text, signal) }
    } catch (error) {
      if (!(error instanceof FailedRequest)) throw error
      if (error.wasStale) return this.get({ ...request, reuse: false })
      throw error.cause
    }
  }

  close(): void {
    this.#isClosed = true
    for (const connections of [this.#plain, ...this.#tls.values()]) connections.close()
    this.#tls.clear()
  }

  #trusting(ca: string | undefined): HttpConnections {
    const connections = this.#tls.get(ca) ?? this.#connectionsOf(new Trust(ca))
    // The most recently used goes to the end, so that the first is the one to evict.
    this.#tls.delete(ca)
    this.#tls.set(ca, connections)
    const [oldest, retired] = [...this.#tls][0]!
    if (this.#tls.size > TRUSTS) {
      this.#tls.delete(oldest)
      retired.retire()
    }
    return connections
  }

  #connectionsOf(trust: Trust): HttpConnections {
    return new HttpConnections(this.#clock, origin => trust.connect(origin))
  }
}

/** An `HttpGet` for this process; `close` gives up its kept connections. */
export const makeHttpGet = (clock: Clock): HttpGet => new PlainGet(clock)
