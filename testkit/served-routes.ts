// SPDX-License-Identifier: Apache-2.0
import http, { type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** Serve routes on a free port until the test ends. @returns what asks one of them */
export const serveRoutes = async (t: Test, routes: RequestListener) => {
  const server = http.createServer(routes)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async (path: string, method = 'GET') => {
    const answer = await fetch(base + path, { method })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
}
