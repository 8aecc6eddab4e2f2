// SPDX-License-Identifier: Apache-2.0
import { request } from 'node:http'
import { connect } from 'node:net'
import type { Random } from '../../core/random.js'

/** Send bytes as they are and collect what comes back until the server closes, or until `until` is in it. */
export const sendRaw = (
  to: number | { readonly port: number; readonly host: string },
  text: string | Uint8Array,
  until?: string,
): Promise<string> =>
  new Promise(resolve => {
    let got = ''
    const at = typeof to === 'number' ? { port: to, host: '127.0.0.1' } : to
    const socket = connect(at, () => socket.write(text))
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      got += chunk
      if (until !== undefined && got.includes(until)) socket.destroy()
    })
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(got))
  })

/** A plain request; the answer whole. */
export const ask = (
  port: number,
  path: string,
  options: {
    readonly method?: string
    readonly body?: string | Uint8Array
    readonly headers?: Record<string, string | number>
  } = {},
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', body, headers = {} } = options
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const sent = request(
      { host: '127.0.0.1', port, path, method, agent: false, headers: { ...length, ...headers } },
      response => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => (text += chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })

/** One body out of samples: cut, grown, bytes flipped, or nothing but noise. */
export const spoil = (random: Random, samples: readonly Uint8Array[]): Uint8Array => {
  const noise = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, () => random.below(256)))
  const sample = samples[random.below(Math.max(1, samples.length))]
  const kind = random.below(4)
  if (sample === undefined || kind === 0) return noise(random.below(300))
  const body = Buffer.from(sample)
  if (kind === 1) return body.subarray(0, random.below(body.length + 1))
  if (kind === 2) return Buffer.concat([body, noise(1 + random.below(64))])
  for (let i = random.below(8); i >= 0; i--)
    body[random.below(body.length)]! ^= 1 << random.below(8)
  return body
}

/**
 * Send `count` fuzzed bodies to a route over one kept connection, each after the answer to the one before.
 * @param samples true messages to be spoiled; none sends noise alone.
 * @returns how often each status was answered; a connection that the server cut counts as 0 and is opened again.
 */
export const fuzzRoute = async (
  target: {
    readonly port: number
    readonly path: string
    readonly method: string
    /** @default '127.0.0.1' */
    readonly host?: string
    /** Whom the server takes us for. */
    readonly localAddress?: string
    /** From one body to the next at least; 0 sends as fast as answers come. @default 0 */
    readonly periodMs?: number
  },
  count: number,
  random: Random,
  samples: readonly Uint8Array[] = [],
): Promise<ReadonlyMap<number, number>> => {
  const statuses = new Map<number, number>()
  const { port, path, method, host = '127.0.0.1', localAddress, periodMs = 0 } = target
  let left = count
  const round = (): Promise<void> =>
    new Promise(resolve => {
      const socket = connect({ port, host, localAddress, noDelay: true })
      let sentAt = -Infinity
      let got = Buffer.alloc(0)
      const note = (status: number): void => {
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        left--
      }
      const next = (): void => {
        if (left === 0) {
          socket.destroy()
          return
        }
        const waitMs = sentAt + periodMs - performance.now()
        if (waitMs > 0) {
          setTimeout(next, waitMs)
          return
        }
        sentAt = performance.now()
        const body = spoil(random, samples)
        socket.write(
          `${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`,
        )
        socket.write(body)
      }
      socket.on('connect', next)
      socket.on('data', chunk => {
        got = Buffer.concat([got, chunk])
        const head = got.indexOf('\r\n\r\n')
        if (head < 0) return
        const text = got.subarray(0, head).toString('latin1')
        const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
        if (got.length < head + 4 + length) return
        got = got.subarray(head + 4 + length)
        note(Number(text.slice(9, 12)))
        if (!/connection: close/i.test(text)) next()
      })
      socket.on('error', () => note(0))
      socket.on('close', () => resolve())
    })
  while (left > 0) await round()
  return statuses
}
