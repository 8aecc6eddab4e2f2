// SPDX-License-Identifier: Apache-2.0
import { ChunkedEnd, endAfter, endWithConnection, type BodyEnd } from './http-body.js'

/** Most bytes of an answer before its body, interim answers included. */
const HEAD_LIMIT = 16 * 1024
const START = 'HTTP/1.'
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/
const END_OF_HEAD = '\r\n\r\n'
const LENGTH = /^\d{1,15}$/

const notHttp = (why: string): Error =>
  Object.assign(new Error(`the answer is not HTTP/1: ${why}`), { code: 'HPE_INVALID_ANSWER' })

/** The headers that say where the answer ends: the values of each, in small letters. */
interface Framing {
  readonly connection: string[]
  readonly 'content-length': string[]
  readonly 'transfer-encoding': string[]
}

const framingOf = (lines: readonly string[]): Framing => {
  const framing: Framing = { connection: [], 'content-length': [], 'transfer-encoding': [] }
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (colon < 1) throw notHttp('a header has no name')
    const name = line.slice(0, colon).toLowerCase()
    if (!Object.hasOwn(framing, name)) continue
    const values = line.slice(colon + 1).split(',')
    framing[name as keyof Framing].push(...values.map(value => value.trim().toLowerCase()))
  }
  return framing
}

const bodyOf = (status: number, framing: Framing): BodyEnd => {
  if (status === 204 || status === 304) return endAfter(0)
  const coding = framing['transfer-encoding'].at(-1)
  if (coding !== undefined) return coding === 'chunked' ? new ChunkedEnd() : endWithConnection()
  const lengths = new Set(framing['content-length'])
  const [length] = lengths
  if (length === undefined) return endWithConnection()
  if (lengths.size > 1 || !LENGTH.test(length)) throw notHttp('its Content-Length is no length')
  return endAfter(Number(length))
}

interface AnswerHead {
  readonly status: number
  readonly body: BodyEnd
  /** The server waits for another request on this connection. */
  readonly isKept: boolean
}

const parseHead = (text: string): AnswerHead => {
  const [first, ...lines] = text.split('\r\n')
  const [, minor, digits] = STATUS_LINE.exec(first!) ?? []
  if (digits === undefined) throw notHttp('its first line is no status')
  const framing = framingOf(lines)
  const status = Number(digits)
  const isClosing = minor === '0' || framing.connection.includes('close')
  // Two lengths: where one of them is a lie, the next answer on this connection would be too.
  const isAmbiguous =
    framing['transfer-encoding'].length > 0 && framing['content-length'].length > 0
  return { status, isKept: !isClosing && !isAmbiguous, body: bodyOf(status, framing) }
}

/** Reads one HTTP/1 answer (RFC 9112) as its bytes arrive: its status, and where it ends. Nothing else is kept. */
export class HttpAnswer {
  #pending: Buffer = Buffer.alloc(0)
  #headBytes = 0
  #bodyBytes = 0
  #head: AnswerHead | undefined

  /** Undefined until its whole head has arrived. */
  get status(): number | undefined {
    return this.#head?.status
  }

  /** Nothing of it has arrived. */
  get isEmpty(): boolean {
    return this.#head === undefined && this.#headBytes === 0 && this.#pending.length === 0
  }

  /** All of it has arrived. */
  get isWhole(): boolean {
    return this.#head?.body.isReached === true
  }

  /** Of the body, so far. */
  get bodyBytes(): number {
    return this.#bodyBytes
  }

  /** When it is whole, its connection may be used again. */
  get isKept(): boolean {
    return this.#head?.isKept === true
  }

  /** @throws Error with a `code` that begins with HPE_, as the parser of Node.js has them, for what is not HTTP/1 */
  push(chunk: Buffer): void {
    if (this.#head === undefined) {
      this.#pushHead(chunk)
      return
    }
    this.#bodyBytes += chunk.length
    this.#head.body.push(chunk)
  }

  #pushHead(chunk: Buffer): void {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    const begin = this.#pending.toString('latin1', 0, START.length)
    if (!START.startsWith(begin)) throw notHttp('it begins with something else')
    const end = this.#pending.indexOf(END_OF_HEAD)
    if (this.#headBytes + (end < 0 ? this.#pending.length : end) > HEAD_LIMIT)
      throw notHttp(`its head is longer than ${HEAD_LIMIT} bytes`)
    if (end >= 0) this.#endHead(end)
  }

  #endHead(end: number): void {
    const head = parseHead(this.#pending.toString('latin1', 0, end))
    const rest = this.#pending.subarray(end + END_OF_HEAD.length)
    this.#headBytes += end + END_OF_HEAD.length
    this.#pending = Buffer.alloc(0)
    // 1xx is followed by the answer itself, except 101, which nobody asked for.
    if (head.status >= 200 || head.status === 101) this.#head = head
    if (rest.length > 0) this.push(rest)
  }
}
