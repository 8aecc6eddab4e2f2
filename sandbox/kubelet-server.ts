// SPDX-License-Identifier: Apache-2.0
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../core/clock.js'
import { ListenError, reasonOf } from '../core/errors.js'

/** A place to listen; port 0 takes a free one. */
export interface Listen {
  readonly host: string
  readonly port: number
}

export interface OpenServer {
  readonly port: number
  close(): Promise<void>
}

/** Asks the cluster whom a token belongs to; rejects when the cluster cannot be asked. */
export type ReviewToken = (token: string) => Promise<boolean>

const open = (server: Server, listen: Listen): Promise<OpenServer> =>
  new Promise((resolve, reject) => {
    const address = `${listen.host}:${listen.port}`
    server.once('error', error =>
      reject(new ListenError(address, reasonOf(error), { cause: error })),
    )
    server.listen(listen.port, listen.host, () =>
      resolve({
        port: (server.address() as AddressInfo).port,
        close: () =>
          new Promise(done => {
            server.close(() => done())
            server.closeAllConnections()
          }),
      }),
    )
  })

const say = (answer: ServerResponse, status: number, text: string): void => {
  answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' })
  answer.end(text)
}

/**
 * The kubelet's plain port for its own node: `/healthz`. `POST /sandbox/sick` and `POST /sandbox/well` make it
 * answer 500 and 200 again; no real kubelet has those two.
 */
export const openHealthz = (listen: Listen, health: { isSick: boolean }): Promise<OpenServer> =>
  open(
    createServer((request, answer) => {
      const state = /^\/sandbox\/(sick|well)$/.exec(request.url ?? '')?.[1]
      if (request.method === 'POST' && state !== undefined) {
        health.isSick = state === 'sick'
        say(answer, 200, 'ok')
      } else if (request.url !== '/healthz') say(answer, 404, '404 page not found\n')
      else if (health.isSick)
        say(answer, 500, '[-]syncloop failed: reason withheld\nhealthz check failed\n')
      else say(answer, 200, 'ok')
    }),
    listen,
  )

const BEARER = /^Bearer +(\S+)$/i
const REVIEW_MS = 120_000
const MAX_KEPT = 1_000

/**
 * A positive review is cached for two minutes, as kubelets do, so that a cut link shows late; a negative one is
 * not.
 */
const rememberYes = (review: ReviewToken, clock: Clock): ReviewToken => {
  const until = new Map<string, number>()
  return async token => {
    if ((until.get(token) ?? -Infinity) > clock.now()) return true
    const isKnown = await review(token)
    if (until.size >= MAX_KEPT) until.clear()
    if (isKnown) until.set(token, clock.now() + REVIEW_MS)
    else until.delete(token)
    return isKnown
  }
}

/** The kubelet's authenticated port: 401 for whoever cannot show a token that the cluster knows, else `ok`. */
export const openKubeletPort = async (
  listen: Listen,
  pair: { readonly key: string; readonly cert: string },
  review: ReviewToken,
  clock: Clock,
): Promise<OpenServer> => {
  const isKnown = rememberYes(review, clock)
  const answerTo = async (request: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1]
    // An unreachable cluster denies, as with a real kubelet.
    const isAllowed = token !== undefined && (await isKnown(token).catch(() => false))
    if (!isAllowed) say(answer, 401, 'Unauthorized')
    else if (request.url === '/healthz') say(answer, 200, 'ok')
    else say(answer, 404, '404 page not found\n')
  }
  return open(
    createTlsServer(pair, (request, answer) => void answerTo(request, answer)),
    listen,
  )
}

/** A new key and a self-signed certificate for this address. */
export const makeCertificate = async (
  nodeName: string,
  ip: string,
): Promise<{ readonly key: string; readonly cert: string }> => {
  // Loaded here, so that no other program needs its memory.
  const { generate } = await import('selfsigned')
  const made = await generate([{ name: 'commonName', value: `system:node:${nodeName}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: nodeName },
          { type: 7, ip },
        ],
      },
    ],
  })
  return { key: made.private, cert: made.cert }
}
