// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 on a bare socket: what is sent is exactly what was drawn, and it may be broken off at any byte.
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** Where one side listens. */
export interface Door {
  readonly port: number
  /** The authority of its certificate; undefined: plain HTTP. */
  readonly ca: string | undefined
}

export interface RawCall {
  readonly method: string
  /** Path and query, as they are written on the wire. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: string | Buffer | undefined
  /** Break off after so many bytes were sent, or came back. */
  readonly breakOff?: { readonly after: 'sent' | 'received'; readonly bytes: number } | undefined
}

export interface RawAnswer {
  /** 0: the connection ended before a status line. */
  readonly status: number
  /** By lower-case name; a header that came several times is joined by a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  /** `complete`: all that its framing promised; `broken`: it ended before; `late`: the limit passed. */
  readonly end: 'complete' | 'broken' | 'late' | 'broken off by us'
}

const LIMIT_MS = 30_000

const open = ({ port, ca }: Door): Socket =>
  ca === undefined
    ? connect({ port, host: '127.0.0.1' })
    : connectTls({ port, host: '127.0.0.1', ca, ALPNProtocols: ['http/1.1'] })

export const bytesOf = ({ method, target, headers, body }: RawCall): Buffer => {
  const isFramed = headers.some(([name]) => /^(content-length|transfer-encoding)$/i.test(name))
  const length =
    body === undefined || isFramed
      ? []
      : [['Content-Length', String(Buffer.byteLength(body))] as const]
  const lines = [...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`)
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
  return Buffer.concat([head, Buffer.from(body ?? '')])
}

/** A chunked body that is whole; undefined while it is not. */
const unchunk = (bytes: Buffer): Buffer | undefined => {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const end = line + 2 + size
    if (Number.isNaN(size) || bytes.length < end + 2) return undefined
    if (size === 0) return Buffer.concat(parts)
    parts.push(bytes.subarray(line + 2, end))
    at = end + 2
  }
}

const headersOf = (lines: readonly string[]): ReadonlyMap<string, string> => {
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return headers
}

type Parsed = Pick<RawAnswer, 'status' | 'headers' | 'body'> & { readonly isComplete: boolean }

const NOTHING: Parsed = { status: 0, headers: new Map(), body: Buffer.alloc(0), isComplete: false }

/** What the bytes so far say. @param isOver nothing more will come */
const parse = (bytes: Buffer, method: string, isOver: boolean): Parsed => {
  const head = bytes.indexOf('\r\n\r\n')
  if (head < 0) return NOTHING
  const [first = '', ...lines] = bytes.toString('latin1', 0, head).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0)
  const rest = bytes.subarray(head + 4)
  if (status >= 100 && status < 200 && status !== 101) return parse(rest, method, isOver)
  const headers = headersOf(lines)
  const answer = (body: Buffer, isComplete: boolean): Parsed => ({
    status,
    headers,
    body,
    isComplete,
  })
  if (method === 'HEAD' || status === 101 || status === 204 || status === 304)
    return answer(Buffer.alloc(0), true)
  if (headers.get('transfer-encoding')?.includes('chunked') === true) {
    const whole = unchunk(rest)
    return answer(whole ?? rest, whole !== undefined)
  }
  const length = headers.get('content-length')
  if (length === undefined) return answer(rest, isOver)
  return answer(rest.subarray(0, Number(length)), rest.length >= Number(length))
}

/** Send one request on a connection of its own. Never rejects. */
export const callRaw = (door: Door, call: RawCall): Promise<RawAnswer> =>
  new Promise(resolve => {
    const socket = open(door)
    const { breakOff, method } = call
    let got: Buffer = Buffer.alloc(0)
    let isSettled = false
    const settle = (end: RawAnswer['end'], { status, headers, body }: Parsed): void => {
      if (isSettled) return
      isSettled = true
      clearTimeout(timer)
      socket.destroy()
      resolve({ status, headers, body, end })
    }
    const timer = setTimeout(() => settle('late', parse(got, method, false)), LIMIT_MS)
    const send = (): void => {
      const bytes = bytesOf(call)
      if (breakOff?.after !== 'sent') socket.write(bytes)
      else
        socket.write(bytes.subarray(0, breakOff.bytes), () => settle('broken off by us', NOTHING))
    }
    socket.once(door.ca === undefined ? 'connect' : 'secureConnect', send)
    socket.on('data', (chunk: Buffer) => {
      got = Buffer.concat([got, chunk])
      if (breakOff?.after === 'received' && got.length >= breakOff.bytes) {
        settle('broken off by us', NOTHING)
        return
      }
      const parsed = parse(got, method, false)
      if (parsed.isComplete) settle('complete', parsed)
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      const parsed = parse(got, method, true)
      settle(parsed.isComplete ? 'complete' : 'broken', parsed)
    })
  })
