// SPDX-License-Identifier: Apache-2.0
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { type Clock, withTimeout } from '../core/clock.js'
import { KubeStatusError, KubeUnreachableError, reasonOf } from '../core/errors.js'
import { parseJson } from '../core/parse.js'

/** Where an apiserver is and who asks. */
export interface ApiAddress {
  readonly server: string
  readonly token: string
  /** PEM text of the only authority that is believed; for an https server whose certificate no public one signed. */
  readonly ca?: string | undefined
}

/** A JSON object as the API sent it. */
export type Json = Readonly<Record<string, unknown>>

export type PatchKind = 'merge' | 'strategic-merge'

/** One change, as a watch tells it. */
export interface WatchEvent {
  readonly type: string
  readonly object: Json
}

/**
 * The Kubernetes API for those who play the cluster's own parts: plain requests, nothing cached. Every call
 * rejects with KubeStatusError, KubeUnreachableError or the signal's reason.
 */
export interface ApiClient {
  get(path: string, signal: AbortSignal): Promise<Json>
  post(path: string, body: Json, signal: AbortSignal): Promise<Json>
  put(path: string, body: Json, signal: AbortSignal): Promise<Json>
  patch(path: string, kind: PatchKind, body: Json, signal: AbortSignal): Promise<Json>
  delete(path: string, signal: AbortSignal): Promise<Json>
  /** Stays open until the server ends it or the signal aborts; both just resolve. */
  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void>
  close(): void
}

interface Call {
  readonly method: string
  readonly path: string
  readonly body?: Json
  readonly type?: string
  readonly signal: AbortSignal
}

const ANSWER_LIMIT_MS = 5_000

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const readAll = async (answer: IncomingMessage): Promise<string> => {
  const parts: Buffer[] = []
  for await (const part of answer) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

const asMap = (thing: string, text: string): Json => {
  if (text === '') return {}
  const value = parseJson(thing, text)
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

/** Open a client on one kept-alive connection pool. */
export const makeApiClient = (address: ApiAddress, clock: Clock): ApiClient => {
  const base = new URL(address.server)
  const isTls = base.protocol === 'https:'
  const agent = isTls
    ? new HttpsAgent({ keepAlive: true, ...(address.ca === undefined ? {} : { ca: address.ca }) })
    : new HttpAgent({ keepAlive: true })
  const ask = isTls ? httpsRequest : httpRequest

  const send = (call: Call): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const text = call.body === undefined ? undefined : JSON.stringify(call.body)
      const headers: Record<string, string> = {
        authorization: `Bearer ${address.token}`,
        accept: 'application/json',
        'user-agent': 'edge-health-sandbox',
      }
      if (text !== undefined) {
        headers['content-type'] = call.type ?? 'application/json'
        headers['content-length'] = String(Buffer.byteLength(text))
      }
      const { method, signal } = call
      const request = ask(new URL(call.path, base), { method, agent, headers, signal }, resolve)
      request.on('error', error => {
        if (signal.aborted) reject(signal.reason as Error)
        else
          reject(
            new KubeUnreachableError(`${method} ${call.path}`, reasonOf(error), { cause: error }),
          )
      })
      request.end(text)
    })

  const refuse = async (name: string, answer: IncomingMessage): Promise<never> => {
    const said = asMap(name, await readAll(answer).catch(() => ''))
    throw new KubeStatusError(name, {
      status: answer.statusCode ?? 0,
      reason: textOf(said['reason']),
      message: textOf(said['message']),
    })
  }

  const call = (what: Call): Promise<Json> =>
    withTimeout(clock, ANSWER_LIMIT_MS, what.signal, async signal => {
      const answer = await send({ ...what, signal })
      const name = `${what.method} ${what.path}`
      if ((answer.statusCode ?? 0) >= 300) return refuse(name, answer)
      return asMap(name, await readAll(answer))
    })

  return {
    get: (path, signal) => call({ method: 'GET', path, signal }),
    post: (path, body, signal) => call({ method: 'POST', path, body, signal }),
    put: (path, body, signal) => call({ method: 'PUT', path, body, signal }),
    patch: (path, kind, body, signal) =>
      call({ method: 'PATCH', path, body, type: `application/${kind}-patch+json`, signal }),
    delete: (path, signal) => call({ method: 'DELETE', path, signal }),
    watch: async (path, onEvent, signal) => {
      const answer = await send({ method: 'GET', path, signal })
      if (answer.statusCode !== 200) await refuse(`WATCH ${path}`, answer)
      let rest = ''
      try {
        for await (const part of answer.setEncoding('utf8')) {
          const lines = (rest + (part as string)).split('\n')
          rest = lines.pop() ?? ''
          for (const line of lines)
            if (line !== '') onEvent(parseJson('watch event', line) as WatchEvent)
        }
      } catch (error) {
        if (!signal.aborted)
          throw new KubeUnreachableError(`WATCH ${path}`, reasonOf(error), { cause: error })
      }
    },
    close: () => agent.destroy(),
  }
}
