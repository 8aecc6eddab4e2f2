// SPDX-License-Identifier: Apache-2.0
import http, { Agent as HttpAgent, type ClientRequest, type IncomingMessage } from 'node:http'
import https, { Agent as HttpsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import type { HttpGet, HttpRequest } from '../../core/dial.js'

/** What is read of a body, and for how long, so that its connection can be kept. */
const BODY_LIMIT = 64 * 1024
const BODY_MS = 1_000
/** CA bundles whose connections are kept; a rotated one pushes the oldest out. */
const TRUSTS = 8
const IDLE_CLOSE_MS = 60_000

interface Agents {
  readonly kept: HttpAgent
  readonly fresh: HttpAgent
}

const destroy = ({ kept, fresh }: Agents): void => {
  kept.destroy()
  fresh.destroy()
}

// Closed before a TCP keepalive would be due: Node.js sends one each second otherwise.
const KEEP = {
  keepAlive: true,
  keepAliveMsecs: 2 * IDLE_CLOSE_MS,
  maxFreeSockets: 512,
  timeout: IDLE_CLOSE_MS,
}

/**
 * Key exchanges offered to a kubelet. Node.js 24 offers a post-quantum one as well, whose key makes the first packet of each new
 * connection 1.2 kB longer; nothing that a probe sends is worth keeping secret for years.
 */
const KEY_EXCHANGES = 'X25519:P-256:P-384'

const httpsAgents = (ca: string | undefined): Agents => {
  const trust = ca === 'insecure' ? { rejectUnauthorized: false } : ca === undefined ? {} : { ca }
  const tls = { ecdhCurve: KEY_EXCHANGES, ...trust }
  return { kept: new HttpsAgent({ ...KEEP, ...tls }), fresh: new HttpsAgent(tls) }
}

/** How a request failed. */
class FailedGet extends Error {
  /** On a kept connection that the server closed while it lay idle; this says nothing about the server. */
  readonly wasStale: boolean

  constructor(cause: NodeJS.ErrnoException, { reusedSocket }: ClientRequest) {
    super(cause.message, { cause })
    this.wasStale = reusedSocket && (cause.code === 'ECONNRESET' || cause.code === 'EPIPE')
  }
}

/**
 * GET as plugins need it, on Node.js' own client: no proxy, no redirects, no decompression, no unlimited body, and no
 * header that says nothing (probes are most of what a node sends, and some links are paid for by the byte).
 */
class PlainGet implements HttpGet {
  readonly #clock: Clock
  readonly #plain: Agents = { kept: new HttpAgent(KEEP), fresh: new HttpAgent() }
  readonly #tls = new Map<string | undefined, Agents>()
  readonly #bodies = new Set<Readable>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(request: HttpRequest): Promise<{ readonly status: number }> {
    const { signal } = request
    signal.throwIfAborted()
    try {
      return await this.#once(request)
    } catch (error) {
      // `reason` of a signal is the caller's to choose; Node.js says ABORT_ERR whatever it is.
      if (signal.aborted) throw signal.reason
      if (!(error instanceof FailedGet)) throw error
      if (error.wasStale) return this.get({ ...request, reuse: false })
      throw error.cause
    }
  }

  close(): void {
    for (const body of this.#bodies) body.destroy()
    destroy(this.#plain)
    for (const agents of this.#tls.values()) destroy(agents)
    this.#tls.clear()
  }

  #once({ url, headers = {}, ca, reuse, signal }: HttpRequest): Promise<{ status: number }> {
    const tls = this.#trusting(url, ca)
    const { kept, fresh } = tls ?? this.#plain
    const options = { headers, signal, agent: reuse ? kept : fresh }
    const request = (tls === undefined ? http : https).request(url, options)
    // Kept connections are HTTP/1.1's default; Node.js says so all the same.
    if (reuse) request.removeHeader('connection')
    return new Promise((resolve, reject) => {
      request.once('error', error => reject(new FailedGet(error, request)))
      request.once('response', (response: IncomingMessage) => {
        this.#drain(response)
        resolve({ status: response.statusCode! })
      })
      request.end()
    })
  }

  #trusting(url: string, ca: string | undefined): Agents | undefined {
    if (!url.startsWith('https:')) return undefined
    const agents = this.#tls.get(ca) ?? httpsAgents(ca)
    // The latest used goes to the end, so that the first is the one to go.
    this.#tls.delete(ca)
    this.#tls.set(ca, agents)
    const oldest = [...this.#tls][0]!
    if (this.#tls.size > TRUSTS) {
      this.#tls.delete(oldest[0])
      destroy(oldest[1])
    }
    return agents
  }

  /** The status is known; the rest is read only so that the connection comes free, within limits of our own. */
  #drain(body: Readable): void {
    let read = 0
    const cancel = this.#clock.after(BODY_MS, () => body.destroy())
    this.#bodies.add(body)
    body.on('data', (chunk: Buffer) => {
      read += chunk.length
      if (read > BODY_LIMIT) body.destroy()
    })
    body.on('error', () => body.destroy())
    body.once('close', () => {
      cancel()
      this.#bodies.delete(body)
    })
  }
}

/** An `HttpGet` for this process; `close` gives up its kept connections. */
export const makeHttpGet = (clock: Clock): HttpGet => new PlainGet(clock)
