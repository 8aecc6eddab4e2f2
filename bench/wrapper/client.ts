// SPDX-License-Identifier: Apache-2.0
// What a client of the API does on the wire: lists and watches, in protobuf or JSON.
import { Agent, request, type IncomingMessage } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { crc32, createGunzip } from 'node:zlib'
import { readEvent, readList, type Seen } from './proto.js'

const PROTOBUF = 'application/vnd.kubernetes.protobuf'

export type Encoding = 'protobuf' | 'json'

/** Where an API is. */
export interface Api {
  readonly url: string
  readonly token?: string
  readonly ca?: string
}

const AGENTS = { http: new Agent({ keepAlive: true }), https: new TlsAgent({ keepAlive: true }) }

/** One GET, until its headers are there. */
export const get = (
  api: Api,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const isTls = api.url.startsWith('https:')
    const sent = (isTls ? tlsRequest : request)(new URL(path, api.url), {
      agent: isTls ? AGENTS.https : AGENTS.http,
      ...(api.ca === undefined ? {} : { ca: api.ca }),
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...headers,
        ...(api.token === undefined ? {} : { authorization: `Bearer ${api.token}` }),
      },
    })
    sent.on('response', resolve).on('error', reject).end()
  })

const bodyOf = async (answer: IncomingMessage): Promise<Buffer> => {
  const isZipped = answer.headers['content-encoding'] === 'gzip'
  const parts: Buffer[] = []
  for await (const part of isZipped ? answer.pipe(createGunzip()) : answer)
    parts.push(part as Buffer)
  return Buffer.concat(parts)
}

interface JsonObject {
  readonly metadata: {
    readonly name: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly endpoints?: readonly unknown[] | null
}

const ofJson = ({ metadata, endpoints }: JsonObject): Seen => ({
  name: metadata.name,
  version: metadata.resourceVersion,
  n: Number(metadata.annotations?.['n'] ?? '0'),
  s: Number(metadata.annotations?.['s'] ?? '0'),
  count: endpoints?.length ?? 0,
  mark: endpoints === undefined || endpoints === null ? 0 : crc32(JSON.stringify(endpoints)),
  isInitialEnd: metadata.annotations?.['k8s.io/initial-events-end'] === 'true',
})

export interface Listed {
  readonly version: string
  readonly items: readonly Seen[]
  readonly bytes: number
}

export class ApiError extends Error {
  readonly code: number

  constructor(path: string, code: number, text: string) {
    super(`GET ${path}: ${code} ${text.slice(0, 200)}`)
    this.code = code
  }
}

/** A whole list. @throws ApiError */
export const list = async (
  api: Api,
  path: string,
  encoding: Encoding,
  isZipped = false,
): Promise<Listed> => {
  const headers = {
    accept: encoding === 'json' ? 'application/json' : `${PROTOBUF}, */*`,
    ...(isZipped ? { 'accept-encoding': 'gzip' } : {}),
  }
  const answer = await get(api, path, headers)
  const body = await bodyOf(answer)
  if (answer.statusCode !== 200)
    throw new ApiError(path, answer.statusCode ?? 0, body.toString('latin1'))
  if (encoding === 'protobuf') return { ...readList(body), bytes: body.length }
  const { metadata, items } = JSON.parse(body.toString()) as {
    metadata: { resourceVersion: string }
    items: readonly JsonObject[]
  }
  return { version: metadata.resourceVersion, items: items.map(ofJson), bytes: body.length }
}

/** One event of a watch; of an ERROR, the code. */
export interface Heard {
  readonly type: string
  readonly seen: Seen
}

/** Cuts what comes into events. */
export const makeReader = (encoding: Encoding): ((chunk: Buffer) => readonly Heard[]) => {
  let rest: Buffer = Buffer.alloc(0)
  const join = (chunk: Buffer): void => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
  }
  if (encoding === 'json')
    return chunk => {
      join(chunk)
      const end = rest.lastIndexOf(10)
      if (end < 0) return []
      const lines = rest.toString('utf8', 0, end).split('\n')
      rest = rest.subarray(end + 1)
      return lines.map(line => {
        const { type, object } = JSON.parse(line) as { type: string; object: JsonObject }
        return { type, seen: ofJson(object) }
      })
    }
  return chunk => {
    join(chunk)
    const heard: Heard[] = []
    let at = 0
    while (at + 4 <= rest.length) {
      const length = rest.readUInt32BE(at)
      if (at + 4 + length > rest.length) break
      const [type, seen] = readEvent(rest, at + 4, at + 4 + length)
      heard.push({ type, seen })
      at += 4 + length
    }
    rest = rest.subarray(at)
    return heard
  }
}

export const watchHeaders = (encoding: Encoding): Readonly<Record<string, string>> => ({
  accept: encoding === 'json' ? 'application/json' : `${PROTOBUF};stream=watch, ${PROTOBUF}`,
})
