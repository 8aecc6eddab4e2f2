// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../core/errors.js'
import { parseNodeName, type NodeName } from '../../core/ids.js'
import type { Logger } from '../../core/log.js'
import { readWhole } from '../../net/read-whole.js'
import { RareLog } from '../../core/rare-log.js'
import { tokenTrouble, type AuthorityBytes } from './join-token.js'
import type { Signer } from './signer.js'

/** Certificate requests rarely have 2 KiB. */
const MAX_REQUEST_BYTES = 16 << 10
const MAX_LOGGED = 80
/** An edge could connect with its certificate only until the bridge starts anew. */
export const AUTHORITY_REPLACED =
  'the Secret of the authority has changed: all bridges have to be started anew'

export interface EnrolSeams {
  readonly authority: AuthorityBytes
  readonly signer: Signer
  readonly clock: Clock
  readonly log: Logger
  /** Whether the cluster has a Node of that name. */
  readonly hasNode: (node: NodeName) => boolean
  /** Whether the cluster has a Node of this name that is not an edge node. Rejects while that is unknown. */
  readonly isForeign: (node: NodeName) => Promise<boolean>
  /** Whether the cluster still has this authority. Rejects while that is unknown. */
  readonly isCurrent: () => Promise<boolean>
}

type Working = EnrolSeams & { readonly rareLog: RareLog }

/** A failure; its reason is sent to the client and logged. */
interface Refusal {
  readonly status: 400 | 401 | 403 | 404 | 405 | 413 | 503
  readonly reason: string
}

type Outcome = { readonly body: Uint8Array; readonly type: string } | Refusal

const refusal = (status: Refusal['status'], reason: string): Refusal => ({ status, reason })

/** The body is too large. */
class TooLargeError extends Error {}

/** The caller: a node with a certificate that the authority signed, or somebody without one. */
type Caller =
  | { readonly kind: 'nobody' }
  | { readonly kind: 'known'; readonly commonName: string }
  | { readonly kind: 'unknown'; readonly reason: string }

interface TlsFacts {
  readonly authorized?: boolean
  readonly authorizationError?: unknown
  readonly getPeerCertificate?: () => { readonly subject?: { readonly CN?: unknown } } | undefined
}

const callerOf = (socket: Socket & TlsFacts): Caller => {
  const { subject } = socket.getPeerCertificate?.() ?? {}
  if (subject === undefined) return { kind: 'nobody' }
  if (socket.authorized !== true)
    return { kind: 'unknown', reason: String(socket.authorizationError) }
  return typeof subject.CN === 'string'
    ? { kind: 'known', commonName: subject.CN }
    : { kind: 'unknown', reason: 'its certificate must have one name' }
}

const nodeNamed = (text: unknown): NodeName | undefined => {
  try {
    return parseNodeName(text)
  } catch {
    return undefined
  }
}

/**
 * Why a caller may not have a certificate for a node. A node with a certificate may get a new one for itself; a caller
 * without one needs a token.
 */
const troubleOf = (
  { headers, socket }: IncomingMessage,
  node: NodeName,
  { authority, clock }: EnrolSeams,
): Refusal | undefined => {
  const caller = callerOf(socket)
  switch (caller.kind) {
    case 'known': {
      const isOwn = caller.commonName === `system:node:${node}`
      return isOwn ? undefined : refusal(403, 'the certificate is another node’s')
    }
    case 'unknown':
      return refusal(401, `the certificate is not accepted: ${caller.reason}`)
    case 'nobody': {
      const trouble = tokenTrouble(headers.authorization, authority.key, clock.wall())
      return trouble === undefined
        ? undefined
        : refusal(401, `the token is not accepted: ${trouble}`)
    }
  }
}

const signed = async (request: IncomingMessage, seams: Working): Promise<Outcome> => {
  const node = nodeNamed(request.headers['nodename'])
  if (node === undefined) return refusal(400, 'the header NodeName must name a node')
  const trouble = troubleOf(request, node, seams)
  if (trouble !== undefined) return trouble
  if (await seams.isForeign(node)) return refusal(403, 'the Node of that name is not an edge node')
  if (!(await seams.isCurrent())) return refusal(503, AUTHORITY_REPLACED)
  try {
    // Keep the connection of a client that sends too much, so that it gets an answer.
    const parts = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>
    const asked = await readWhole(parts, MAX_REQUEST_BYTES, () => new TooLargeError())
    const body = await seams.signer.signNode(asked, node, seams.clock.wall())
    const { remoteAddress: remote } = request.socket
    seams.rareLog.info(`signed ${node}`, 'a certificate was signed', { node, remote })
    return { body, type: 'application/octet-stream' }
  } catch (error) {
    if (error instanceof TooLargeError)
      return refusal(413, `the request must be at most ${MAX_REQUEST_BYTES} bytes long`)
    if (error instanceof InvalidInputError) return refusal(400, error.message)
    throw error
  }
}

const NODE_PATH = /^\/node\/([^/?]+)$/

const outcomeOf = async (request: IncomingMessage, seams: Working): Promise<Outcome> => {
  const { method, url = '' } = request
  if (method !== 'GET') return refusal(405, 'only GET')
  if (url === '/ca.crt')
    return { body: seams.authority.certificate, type: 'application/octet-stream' }
  if (url === '/edge.crt') return signed(request, seams)
  const node = nodeNamed(NODE_PATH.exec(url)?.[1])
  if (node !== undefined && seams.hasNode(node))
    return { body: new Uint8Array(), type: 'text/plain' }
  return refusal(404, 'there is nothing here')
}

const send = (response: ServerResponse, outcome: Outcome): void => {
  const isGood = 'body' in outcome
  const body = isGood ? outcome.body : Buffer.from(`${outcome.reason}\n`)
  response.writeHead(isGood ? 200 : outcome.status, {
    'Content-Type': isGood ? outcome.type : 'text/plain; charset=utf-8',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
  })
  response.end(body)
}

/**
 * The routes for edges that need a first or a next certificate: `/ca.crt`, `/edge.crt` with a certificate request in the
 * body, `/node/NAME`.
 */
export const enrolRoutes = (seams: EnrolSeams): RequestListener => {
  const rareLog = new RareLog(seams.clock, seams.log)
  return (request, response) => {
    const answer = async (): Promise<void> => {
      const outcome = await outcomeOf(request, { ...seams, rareLog })
      if (!('body' in outcome))
        rareLog.warn(String(outcome.status), 'an edge was not enrolled', {
          ...{ status: outcome.status, reason: outcome.reason },
          ...{ remote: request.socket.remoteAddress, path: request.url?.slice(0, MAX_LOGGED) },
        })
      send(response, outcome)
    }
    answer().catch((error: unknown) => {
      // Also when a client disconnects in the middle of its body.
      rareLog.warn('failed', 'enrolment failed', { error: reasonOf(error) })
      if (response.headersSent) response.destroy()
      else response.writeHead(500).end()
    })
  }
}
