// SPDX-License-Identifier: Apache-2.0
import type { ServerResponse } from 'node:http'
import { createGzip, type Gzip } from 'node:zlib'

/** As kube-apiserver: smaller responses are not compressed. */
const GZIP_FROM = 128 * 1024
const BATCH = 64 * 1024

/** Joins many small chunks into a few larger ones. */
export const batches = function* (chunks: Iterable<Uint8Array>): Generator<Uint8Array, void> {
  let held: Uint8Array[] = []
  let size = 0
  for (const chunk of chunks) {
    held.push(chunk)
    size += chunk.length
    if (size < BATCH) continue
    yield held.length === 1 ? chunk : Buffer.concat(held, size)
    held = []
    size = 0
  }
  if (size > 0) yield Buffer.concat(held, size)
}

type Sink = Pick<ServerResponse | Gzip, 'once' | 'off' | 'destroyed'>

/** Resolves when the sink can take more, or the client has disconnected. */
const roomIn = (sink: Sink, response: ServerResponse): Promise<void> =>
  new Promise(resolve => {
    const go = (): void => {
      sink.off('drain', go)
      response.off('close', go)
      resolve()
    }
    sink.once('drain', go)
    response.once('close', go)
    if (response.destroyed) go()
  })

/** Lets other work run. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Write all chunks as fast as the client reads; the event loop runs other work after each one. */
const pour = async (
  pieces: Iterable<Uint8Array>,
  sink: ServerResponse | Gzip,
  response: ServerResponse,
): Promise<void> => {
  for (const piece of pieces) {
    if (response.destroyed) return
    if (sink.write(piece)) await turn()
    else await roomIn(sink, response)
  }
  sink.end()
}

/** Status and headers of a response. */
export interface Head {
  readonly code: number
  readonly type: string
  readonly headers?: Readonly<Record<string, string>>
}

const headersOf = ({ type, headers }: Head): Record<string, string> => ({
  'Content-Type': type,
  'Cache-Control': 'no-cache, private',
  ...headers,
})

/** Send a short response. */
export const sendWhole = (response: ServerResponse, head: Head, body: Uint8Array): void => {
  response.writeHead(head.code, { ...headersOf(head), 'Content-Length': body.length })
  response.end(body)
}

const compressed = (response: ServerResponse): Gzip => {
  const gzip = createGzip({ level: 1 })
  // `pipe` does not end the source when its target closes.
  response.once('close', () => gzip.destroy())
  gzip.once('error', () => response.destroy())
  gzip.pipe(response)
  return gzip
}

/**
 * Send a response of any length; only one chunk at a time is in memory.
 * @param mayCompress whether the client accepts gzip
 */
export const sendChunks = async (
  response: ServerResponse,
  head: Head,
  chunks: Iterable<Uint8Array>,
  mayCompress: boolean,
): Promise<void> => {
  const pieces = batches(chunks)
  const first: Uint8Array[] = []
  let size = 0
  for (let next = pieces.next(); ; next = pieces.next()) {
    if (next.done === true) {
      sendWhole(response, head, Buffer.concat(first, size))
      return
    }
    first.push(next.value)
    size += next.value.length
    if (size >= GZIP_FROM) break
  }
  const isCompressed = mayCompress
  response.writeHead(head.code, {
    ...headersOf(head),
    ...(isCompressed ? { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' } : {}),
  })
  const all = function* (): Iterable<Uint8Array> {
    yield* first.splice(0)
    yield* pieces
  }
  await pour(all(), isCompressed ? compressed(response) : response, response)
}
