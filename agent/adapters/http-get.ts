// SPDX-License-Identifier: Apache-2.0
import { Agent as HttpAgent, type ClientRequest } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import { Axios, getAdapter, isAxiosError, isCancel, type AxiosResponse } from 'axios'
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

const KEEP = { keepAlive: true, maxFreeSockets: 512, timeout: IDLE_CLOSE_MS }

const httpsAgents = (ca: string | undefined): Agents => {
  const trust = ca === 'insecure' ? { rejectUnauthorized: false } : ca === undefined ? {} : { ca }
  return { kept: new HttpsAgent({ ...KEEP, ...trust }), fresh: new HttpsAgent(trust) }
}

/** A kept connection that the server closed while it lay idle; this says nothing about the server. */
const wasStale = (error: unknown): boolean =>
  isAxiosError(error) &&
  (error.code === 'ECONNRESET' || error.code === 'EPIPE') &&
  (error.request as ClientRequest | undefined)?.reusedSocket === true

/** axios wraps the system's error; what it was called for is inside. */
const inner = (error: unknown): unknown =>
  isAxiosError(error) && error.cause instanceof Error ? error.cause : error

/** GET over axios, with its surprises off: no proxy, no redirects, no decompression, no unlimited body. */
class AxiosGet implements HttpGet {
  readonly #clock: Clock
  readonly #plain: Agents = { kept: new HttpAgent(KEEP), fresh: new HttpAgent() }
  readonly #tls = new Map<string | undefined, Agents>()
  readonly #bodies = new Set<Readable>()
  // Without axios' defaults, which nothing here needs and each request would merge anew.
  readonly #client = new Axios({
    adapter: getAdapter('http'),
    proxy: false,
    maxRedirects: 0,
    decompress: false,
    responseType: 'stream',
    validateStatus: () => true,
    headers: { 'User-Agent': 'edge-health', Accept: '*/*' },
  })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async get(request: HttpRequest): Promise<{ readonly status: number }> {
    const { signal } = request
    signal.throwIfAborted()
    try {
      return await this.#once(request)
    } catch (error) {
      // `reason` of a signal is the caller's to choose; axios says ERR_CANCELED whatever it is.
      if (isCancel(error) || signal.aborted) throw signal.reason
      if (request.reuse && wasStale(error)) return this.get({ ...request, reuse: false })
      throw inner(error)
    }
  }

  close(): void {
    for (const body of this.#bodies) body.destroy()
    destroy(this.#plain)
    for (const agents of this.#tls.values()) destroy(agents)
    this.#tls.clear()
  }

  async #once({ url, headers, ca, reuse, signal }: HttpRequest): Promise<{ status: number }> {
    const tls = this.#trusting(url, ca)
    const response = await this.#client.request<Readable, AxiosResponse<Readable>>({
      method: 'get',
      url,
      signal,
      httpAgent: reuse ? this.#plain.kept : this.#plain.fresh,
      ...(tls === undefined ? {} : { httpsAgent: reuse ? tls.kept : tls.fresh }),
      ...(headers === undefined ? {} : { headers: { ...headers } }),
    })
    this.#drain(response.data)
    return { status: response.status }
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
export const makeHttpGet = (clock: Clock): HttpGet => new AxiosGet(clock)
