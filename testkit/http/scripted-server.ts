// SPDX-License-Identifier: Apache-2.0
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'

/** What the server does with its next request. */
export type Step =
  | {
      readonly kind: 'answer'
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      /** Text as it is, anything else as JSON. */
      readonly body?: unknown
    }
  /** Headers and these lines; then the answer stays open for the test to write to, unless `then` ends it. */
  | {
      readonly kind: 'stream'
      readonly lines?: readonly unknown[]
      readonly then?: 'open' | 'end' | 'cut' | 'reset'
    }
  /** Read the request, answer nothing. */
  | { readonly kind: 'hang' }
  /** Reset the connection without an answer. */
  | { readonly kind: 'reset' }

/** A request that came, and the ways to go on with its answer. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
  /** The common name of the client's certificate; undefined without one. */
  readonly client: string | undefined
  /** Write a line (text as it is, anything else as JSON). */
  line(value: unknown): void
  /** Write bytes. */
  write(bytes: string | Buffer): void
  end(): void
  reset(): void
  /** Resolves when the client's connection, or this answer, is gone. */
  readonly gone: Promise<void>
}

export interface ScriptedServer {
  readonly url: string
  readonly port: number
  readonly asked: readonly Asked[]
  /** Connections so far, and those that are open now. */
  readonly connections: number
  readonly open: number
  /** Append to the script. A request that finds it empty hangs. */
  script(...steps: readonly Step[]): void
  /** Resolves with the n-th request, counted from 0, when it has come. */
  request(n: number): Promise<Asked>
  /** HTTP/2: tell all clients that their connections take no new requests; resolves when they know. */
  leave(): Promise<void>
  /** HTTP/2: resolves when all clients have taken what was sent to them so far. */
  pinged(): Promise<void>
  /** Cut all connections with a reset; idle ones too. */
  resetAll(): void
  close(): Promise<void>
}

export const answer = (
  body: unknown,
  more: { status?: number; headers?: Record<string, string> } = {},
): Step => ({
  kind: 'answer',
  body,
  ...more,
})

/** A Status of the Kubernetes API. */
export const refusal = (
  code: number,
  reason: string,
  headers: Record<string, string> = {},
): Step => ({
  kind: 'answer',
  status: code,
  headers,
  body: { kind: 'Status', status: 'Failure', code, reason, message: `scripted ${code}` },
})

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

const readAll = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const part of request.setEncoding('utf8') as AsyncIterable<string>) text += part
  return text
}

const commonName = (socket: Socket): string | undefined => {
  if (!('getPeerCertificate' in socket)) return undefined
  const read = socket.getPeerCertificate as () => { subject?: { CN?: string } }
  return read.call(socket).subject?.CN
}

const perform = (step: Step, response: ServerResponse, connection: Socket | undefined): void => {
  switch (step.kind) {
    case 'answer':
      response.writeHead(step.status ?? 200, {
        'content-type': 'application/json',
        ...step.headers,
      })
      response.end(
        Buffer.isBuffer(step.body) ? step.body : step.body === undefined ? '' : textOf(step.body),
      )
      break
    case 'stream':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      for (const line of step.lines ?? []) response.write(`${textOf(line)}\n`)
      if (step.then === 'end') response.end()
      // Closed in order, but in the middle of the answer.
      if (step.then === 'cut') response.write('', () => connection?.end())
      // The reset overtakes bytes that are not sent yet.
      if (step.then === 'reset') response.write('', () => connection?.resetAndDestroy())
      break
    case 'hang':
      break
    case 'reset':
      connection?.resetAndDestroy()
      break
  }
}

/** With TLS, and with HTTP/2 for those who ask for it. */
export interface ScriptedTls extends https.ServerOptions {
  readonly hasHttp2?: boolean
  /** Of one HTTP/2 connection, at the same time. */
  readonly maxRequests?: number
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void

const serverOf = (tls: ScriptedTls | undefined, listener: Listener): http.Server => {
  if (tls === undefined) return http.createServer(listener)
  const { hasHttp2, maxRequests, ...options } = tls
  if (hasHttp2 !== true) return https.createServer(options, listener)
  const settings =
    maxRequests === undefined ? {} : { settings: { maxConcurrentStreams: maxRequests } }
  // Node's HTTP/2 server has the interfaces of HTTP/1.1, too.
  const server: unknown = http2.createSecureServer(
    { ...options, ...settings, allowHTTP1: true },
    listener as unknown as Parameters<typeof http2.createSecureServer>[1] & object,
  )
  return server as http.Server
}

/** A server on a loopback port that does to each request what the script says next. */
export const startScripted = async (
  ...[tls, address = '127.0.0.1']: [tls?: ScriptedTls, address?: string]
): Promise<ScriptedServer> => {
  const asked: Asked[] = []
  const steps: Step[] = []
  const sockets = new Set<Socket>()
  const sessions = new Set<http2.ServerHttp2Session>()
  const waiters = new Map<number, ((asked: Asked) => void)[]>()
  let connections = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { remotePort } = request.socket
    // Those of TLS cannot be reset, those of HTTP/2 not even be closed.
    const connection = [...sockets].find(one => one.remotePort === remotePort)
    const url = new URL(request.url!, 'http://server')
    const one: Asked = {
      method: request.method!,
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: await readAll(request),
      client: commonName(request.socket),
      line: value => response.write(`${textOf(value)}\n`),
      write: bytes => response.write(bytes),
      end: () => response.end(),
      reset: () => connection?.resetAndDestroy(),
      gone: new Promise(resolve => response.once('close', resolve)),
    }
    const n = asked.push(one) - 1
    perform(steps.shift() ?? { kind: 'hang' }, response, connection)
    for (const waiter of waiters.get(n) ?? []) waiter(one)
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    handle(request, response).catch(() => response.destroy())
  }
  const server = serverOf(tls, listener)
  server.on('secureConnection', (socket: Socket) => socket.on('error', () => undefined))
  server.on('session', (session: http2.ServerHttp2Session) => {
    sessions.add(session)
    session.on('close', () => sessions.delete(session))
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  const pinged = async (): Promise<void> => {
    for (const session of sessions) await new Promise(resolve => session.ping(resolve))
  }
  await new Promise<void>(resolve => server.listen(0, address, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls === undefined ? 'http' : 'https'}://${address}:${port}`,
    port,
    asked,
    get connections() {
      return connections
    },
    get open() {
      return sockets.size
    },
    script: (...more) => void steps.push(...more),
    request: n =>
      new Promise(resolve => {
        const came = asked[n]
        if (came === undefined) waiters.set(n, [...(waiters.get(n) ?? []), resolve])
        else resolve(came)
      }),
    leave: async () => {
      for (const session of sessions) session.goaway()
      await pinged()
    },
    pinged,
    resetAll: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    close: async () => {
      const closed = new Promise(resolve => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
