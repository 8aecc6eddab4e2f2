// SPDX-License-Identifier: Apache-2.0
// Stands where a node's peers think its agent is, passes everything on and keeps a copy.
import { writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import type { Order, Recorded } from './order.js'

type RecordOrder = Extract<Order, { do: 'record' }>

export const record = (
  { listen, forward, file }: RecordOrder,
  count: (answer: string) => void,
  signal: AbortSignal,
): Promise<void> => {
  const kept: Recorded[] = []
  const pass = async (from: IncomingMessage, to: ServerResponse): Promise<void> => {
    const body = await buffer(from)
    const path = from.url ?? '/'
    if (path.startsWith('/v1/')) kept.push({ path, body: body.toString('base64') })
    const { method = 'POST' } = from
    const headers = { 'content-length': body.length }
    const onward = request({ ...forward, method, path, headers }, answer => {
      count(String(answer.statusCode))
      to.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(to)
    })
    onward.on('error', () => to.destroy())
    onward.end(body)
  }
  const server = createServer((from, to) => void pass(from, to).catch(() => to.destroy()))
  return new Promise(resolve => {
    server.listen(listen, '0.0.0.0')
    signal.addEventListener('abort', () => {
      writeFileSync(file, JSON.stringify(kept))
      server.close(() => resolve())
      server.closeAllConnections()
    })
  })
}
