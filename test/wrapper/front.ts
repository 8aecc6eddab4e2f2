// SPDX-License-Identifier: Apache-2.0
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import type { TestApi } from '../../testkit/kube/api-client.js'

type Answering = (request: http.IncomingMessage, response: http.ServerResponse) => boolean

/** Pass a request on to the server at this address. */
export const passOn = (
  to: string,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): void => {
  const { method, headers, url = '/' } = request
  const on = http.request(to + url, { method, headers, agent: false }, answer => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    response.flushHeaders()
    answer.pipe(response)
  })
  on.on('error', () => response.destroy())
  response.on('close', () => on.destroy())
  request.pipe(on)
}

/** The embedded API behind a server that answers some requests itself. @param answers whether it did */
export const behind = async (t: Test, upstream: TestApi, answers: Answering): Promise<TestApi> => {
  const front = http.createServer((request, response) => {
    if (!answers(request, response)) passOn(upstream.api.url, request, response)
  })
  await new Promise<void>(resolve => front.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    front.closeAllConnections()
    front.close()
  })
  const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}`
  return { ...upstream, api: Object.assign(Object.create(upstream.api), { url }) as TestApi['api'] }
}

/** An answer of the apiserver that is a Status. */
export const refuseWith = (
  response: http.ServerResponse,
  code: number,
  headers: http.OutgoingHttpHeaders = {},
): void => {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, message: 'no' }
  response.writeHead(code, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify(status))
}
