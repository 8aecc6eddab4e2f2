// SPDX-License-Identifier: Apache-2.0
import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { reasonOf } from '../../core/errors.js'
import { badRequest, Refusal, statusBody } from '../../kube/server/status.js'
import { readRequest, refuseOurVersion, type RequestHead } from './passed-request.js'
import { apiserverUnreachable } from './apiserver-unreachable.js'
import { endToEnd, headText, upgradeHeaders, type RawHeaders } from './headers.js'
import type { UpstreamPool } from './upstream-call.js'

/** An upgrade request of a client. */
export interface Upgrading {
  readonly request: IncomingMessage
  readonly socket: Duplex
  /** Bytes that the client has sent after its headers. */
  readonly head: Buffer
}

const answerHead = (status: number, message: string | undefined, headers: RawHeaders): string =>
  headText(`HTTP/1.1 ${status} ${message ?? STATUS_CODES[status] ?? ''}`, headers)

const refuse = (socket: Duplex, refusal: Refusal): void => {
  const body = `${JSON.stringify(statusBody(refusal))}\n`
  const headers = ['Content-Type', 'application/json', 'Connection', 'close']
  const length = ['Content-Length', String(Buffer.byteLength(body))]
  socket.end(answerHead(refusal.status, undefined, [...headers, ...length]) + body)
}

/** Pipe both directions until either end closes; then close the other. */
const join = (a: Duplex, b: Duplex): void => {
  for (const [from, to] of [
    [a, b],
    [b, a],
  ] as const) {
    from.pipe(to)
    from.on('error', () => to.destroy())
    from.on('close', () => to.destroy())
  }
}

/**
 * Pass on an upgrade: after 101 both ends speak the new protocol to each other. Rejects when it cannot be passed
 * on.
 */
export const tunnel = async (
  { request, socket, head }: Upgrading,
  pool: UpstreamPool,
  answerMs: number | undefined,
): Promise<void> => {
  socket.on('error', () => socket.destroy())
  let answer
  try {
    const { method = 'GET', url = '/', rawHeaders } = request
    const asked = readRequest(request as RequestHead)
    if (asked.hasBody) throw badRequest('an upgrade must have no body')
    refuseOurVersion(asked)
    const { host } = await pool.server()
    const headers = upgradeHeaders(rawHeaders, host)
    const call = await pool.open({ method, url, headers, answerMs, isPooled: false })
    const leave = (): void => void call.request.destroy()
    socket.once('close', leave)
    // The client may have left while the apiserver's address was read.
    if (socket.destroyed) leave()
    call.request.end()
    answer = await call.answer
  } catch (error) {
    refuse(socket, error instanceof Refusal ? error : apiserverUnreachable(reasonOf(error)))
    return
  }
  const { response } = answer
  const { statusCode = 502, statusMessage, rawHeaders } = response
  if (answer.kind === 'upgrade') {
    socket.write(answerHead(statusCode, statusMessage, rawHeaders), 'latin1')
    if (answer.head.length > 0) socket.write(answer.head)
    if (head.length > 0) answer.socket.write(head)
    join(socket, answer.socket)
    return
  }
  // No upgrade: pass on the response, and close.
  socket.write(
    answerHead(statusCode, statusMessage, [...endToEnd(rawHeaders), 'Connection', 'close']),
    'latin1',
  )
  response.on('error', () => socket.destroy())
  response.pipe(socket)
}
