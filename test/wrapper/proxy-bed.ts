// SPDX-License-Identifier: Apache-2.0
import http, { createServer, type IncomingMessage, type RequestOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import type { Material } from '../../kube/client/credentials.js'
import { Proxy, type ProxySeams } from '../../wrapper/proxy/proxy.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { startScripted } from '../../testkit/http/scripted-server.js'

/** A proxy that listens. */
export interface Bed {
  readonly port: number
  readonly proxy: Proxy
  /** Connections of clients that are open, upgraded ones too. */
  readonly connections: () => number
  readonly log: ReturnType<typeof recordingLog>
}

export const startProxy = async (
  t: Test,
  given: Partial<ProxySeams> & Pick<ProxySeams, 'upstream'>,
) => {
  const log = recordingLog()
  const proxy = new Proxy(
    { maxEvents: 6, maxBytes: 200_000 },
    {
      ...{ clock: systemClock, random: systemRandom, log },
      recordOf: () => undefined,
      isCut: () => false,
      ...given,
    },
  )
  const server = createServer(proxy.handle)
  let open = 0
  server.on('connection', socket => {
    open++
    socket.on('close', () => open--)
  })
  server.on('upgrade', proxy.upgrade)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    await proxy.stop()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const bed: Bed = { port, proxy, log, connections: () => open }
  return bed
}

export const upstreamAt = (url: string) => (): Promise<Material> =>
  Promise.resolve({ server: new URL(url), headers: {}, tls: undefined })

export const scripted = async (t: Test, ...given: Parameters<typeof startScripted>) => {
  const server = await startScripted(...given)
  t.teardown(() => server.close())
  return server
}

/** An answer, whole. */
export interface Got {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
}

export const openCall = (
  { port }: Bed,
  path: string,
  options: RequestOptions = {},
  body?: string | Buffer,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const headers = { ...length, ...(options.headers as http.OutgoingHttpHeaders | undefined) }
    const host = '127.0.0.1'
    const request = http.request({ port, host, path, agent: false, ...options, headers })
    request.on('response', resolve).on('error', reject)
    request.end(body)
  })

export const readText = async (response: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) text += part
  return text
}

export const call = async (...given: Parameters<typeof openCall>): Promise<Got> => {
  const response = await openCall(...given)
  const { statusCode: status = 0, headers } = response
  return { status, headers, text: await readText(response) }
}

export const until = async (holds: () => boolean): Promise<void> => {
  for (let i = 0; i < 1_000 && !holds(); i++) await new Promise(resolve => setTimeout(resolve, 5))
}
