// SPDX-License-Identifier: Apache-2.0
import { systemClock, type Clock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { startApi, type ApiOptions, type ApiServer } from '../../sandbox/api/server.js'

/** An answer of the embedded API, its body parsed where it is JSON. */
export interface Reply {
  readonly status: number
  readonly body: Record<string, unknown>
}

/** The embedded API on a free port, with a way to ask it as one client. */
export interface TestApi {
  readonly api: ApiServer
  readonly token: string
  ask(request: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  /** Open a watch; `lines(n)` are its next events, `rest()` all until it ends. */
  watch(path: string): Promise<WatchStream>
}

export interface WatchStream {
  readonly status: number
  lines(count: number): Promise<WatchEvent[]>
  rest(): Promise<WatchEvent[]>
  /** Stop reading, as a client that is stuck; the connection stays open. */
  close(): Promise<void>
}

export interface WatchEvent {
  readonly type: string
  readonly object: Record<string, unknown>
}

const openWatch = (response: Response): WatchStream => {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const ready: string[] = []
  let tail = ''
  const fill = async (): Promise<boolean> => {
    const { done, value } = await reader.read()
    if (done) return false
    const parts = (tail + Buffer.from(value).toString()).split('\n')
    tail = parts.pop()!
    ready.push(...parts)
    return true
  }
  const take = (count: number): WatchEvent[] =>
    ready.splice(0, count).map(line => JSON.parse(line) as WatchEvent)
  return {
    status: response.status,
    lines: async count => {
      while (ready.length < count) if (!(await fill())) break
      return take(count)
    },
    rest: async () => {
      while (await fill());
      return take(ready.length)
    },
    close: () => reader.cancel(),
  }
}

/** Start an embedded API for a test; stop it in the test's teardown. */
export const testApi = async (
  options: Partial<ApiOptions> & { readonly clock?: Clock } = {},
): Promise<TestApi> => {
  const api = await startApi({
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    log: silentLog,
    ...options,
  })
  const token = api.addClient('tester')
  const authorization = `Bearer ${token}`
  return {
    api,
    token,
    ask: async (request, body, headers = {}) => {
      const [method = '', path = ''] = request.split(' ')
      const response = await fetch(api.url + path, {
        method,
        headers: { authorization, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      const isJson = response.headers.get('content-type') === 'application/json'
      return {
        status: response.status,
        body: isJson ? (JSON.parse(text) as Record<string, unknown>) : { text },
      }
    },
    watch: async path => openWatch(await fetch(api.url + path, { headers: { authorization } })),
  }
}
