// SPDX-License-Identifier: Apache-2.0
// As much of Kubernetes' protobuf as the bench needs, written for it alone: a judge does not use the accused's reader.
import { crc32 } from 'node:zlib'

const varint = (value: number): readonly number[] => {
  const bytes: number[] = []
  let rest = value
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128)
  bytes.push(rest)
  return bytes
}

type Part = Buffer | readonly Part[]

/** A field that has a length. */
const bytes = (number: number, ...parts: readonly Part[]): Buffer => {
  const body = Buffer.concat(parts.flat(Infinity as 1) as Buffer[])
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(body.length)]), body])
}
const text = (number: number, value: string): Buffer => bytes(number, Buffer.from(value))
const whole = (number: number, value: number): Buffer =>
  Buffer.from([number << 3, ...varint(value)])

type Words = Readonly<Record<string, string>>

const map = (number: number, words: Words): readonly Buffer[] =>
  Object.entries(words).map(([key, value]) => bytes(number, text(1, key), text(2, value)))

export interface Identity {
  readonly name: string
  readonly namespace: string
  readonly version: number
  readonly labels: Words
  readonly annotations: Words
}

const metadata = ({ name, namespace, version, labels, annotations }: Identity): Buffer =>
  bytes(
    1,
    text(1, name),
    namespace === '' ? [] : text(3, namespace),
    text(5, `00000000-0000-4000-8000-${name.padStart(12, '0').slice(-12)}`),
    version === 0 ? [] : text(6, String(version)),
    whole(7, 1),
    bytes(8, whole(1, 1_790_000_000)),
    map(11, labels),
    map(12, annotations),
  )

export interface Endpoint {
  readonly address: string
  readonly node: string
  /** The Pod behind it; a reference is what most of an endpoint's bytes are. */
  readonly pod?: string
}

const endpoint = ({ address, node, pod }: Endpoint): Buffer =>
  bytes(
    2,
    text(1, address),
    bytes(2, whole(1, 1), whole(2, 1), whole(3, 0)),
    pod === undefined
      ? []
      : bytes(
          4,
          text(1, 'Pod'),
          text(2, 'default'),
          text(3, pod),
          text(4, '11111111-2222-4333-8444-555555555555'),
        ),
    text(6, node),
  )

export const slice = (identity: Identity, endpoints: readonly Endpoint[]): Buffer =>
  Buffer.concat([
    metadata(identity),
    ...endpoints.map(endpoint),
    bytes(3, text(1, 'http'), text(2, 'TCP'), whole(3, 8_080)),
    text(4, 'IPv4'),
  ])

export const endpoints = (identity: Identity, all: readonly Endpoint[]): Buffer =>
  Buffer.concat([
    metadata(identity),
    bytes(
      2,
      all.map(({ address, node }) => bytes(1, text(1, address), text(4, node))),
      bytes(3, text(1, 'http'), whole(2, 8_080), text(3, 'TCP')),
    ),
  ])

export const service = (identity: Identity, clusterIP: string): Buffer =>
  Buffer.concat([
    metadata(identity),
    bytes(
      2,
      bytes(
        1,
        text(1, 'http'),
        text(2, 'TCP'),
        whole(3, 80),
        bytes(4, whole(1, 0), whole(2, 8_080)),
      ),
      clusterIP === '' ? [] : text(3, clusterIP),
      text(4, 'ClusterIP'),
      text(7, 'None'),
      clusterIP === '' ? [] : text(18, clusterIP),
    ),
  ])

export const node = (identity: Identity, address: string): Buffer =>
  Buffer.concat([
    metadata(identity),
    bytes(2),
    bytes(3, bytes(5, text(1, 'InternalIP'), text(2, address))),
  ])

const MAGIC = Buffer.from('k8s\0')

/** A whole body. */
export const envelope = (apiVersion: string, kind: string, raw: Buffer): Buffer =>
  Buffer.concat([MAGIC, bytes(1, text(1, apiVersion), text(2, kind)), bytes(2, raw)])

export const list = (version: number, items: readonly Buffer[], next = ''): Buffer =>
  Buffer.concat([
    bytes(1, text(2, String(version)), next === '' ? [] : text(3, next)),
    ...items.map(item => bytes(2, item)),
  ])

/** A Status that ends a watch. */
export const status = (code: number, reason: string): Buffer =>
  Buffer.concat([bytes(1), text(2, 'Failure'), text(3, reason), text(4, reason), whole(6, code)])

export const frame = (type: string, body: Buffer): Buffer => {
  const event = Buffer.concat([text(1, type), bytes(2, bytes(1, body))])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(event.length)
  return Buffer.concat([length, event])
}

/** Called with each field that has a length: its number, and where its bytes are. */
const walk = (
  buffer: Buffer,
  start: number,
  end: number,
  field: (number: number, from: number, to: number) => void,
): void => {
  let at = start
  const read = (): number => {
    let value = 0
    for (let shift = 1; ; shift *= 128) {
      const byte = buffer[at++]!
      value += (byte & 127) * shift
      if (byte < 128) return value
    }
  }
  while (at < end) {
    const key = read()
    if ((key & 7) === 0) read()
    else {
      const length = read()
      field(key >>> 3, at, at + length)
      at += length
    }
  }
}

/** What the bench reads of an object. */
export interface Seen {
  name: string
  version: string
  /** The annotation `n`: how often the object changed. */
  n: number
  /** The annotation `s`: upstream's version of that change. */
  s: number
  /** Endpoints of a slice; else 0. */
  count: number
  /** Alike for the same endpoints. */
  mark: number
  /** The annotation that ends the initial events. */
  isInitialEnd: boolean
}

/** Read an object's metadata, and count its top-level fields 2. */
const readObject = (buffer: Buffer, from: number, to: number): Seen => {
  const seen: Seen = { name: '', version: '', n: 0, s: 0, count: 0, mark: 0, isInitialEnd: false }
  let first = to
  let last = from
  walk(buffer, from, to, (number, start, end) => {
    if (number === 2) {
      seen.count++
      first = Math.min(first, start)
      last = end
    }
    if (number !== 1) return
    walk(buffer, start, end, (inner, at, until) => {
      if (inner === 1) seen.name = buffer.toString('latin1', at, until)
      else if (inner === 6) seen.version = buffer.toString('latin1', at, until)
      else if (inner === 12) {
        let key = ''
        walk(buffer, at, until, (part, a, b) => {
          if (part === 1) key = buffer.toString('latin1', a, b)
          else if (key === 'n') seen.n = Number(buffer.toString('latin1', a, b))
          else if (key === 's') seen.s = Number(buffer.toString('latin1', a, b))
          else if (key === 'k8s.io/initial-events-end') seen.isInitialEnd = true
        })
      }
    })
  })
  if (seen.count > 0) seen.mark = crc32(buffer.subarray(first, last))
  return seen
}

/** The object inside a body. */
const insideOf = (buffer: Buffer, from: number, to: number): readonly [number, number] => {
  let found: readonly [number, number] = [from, from]
  walk(buffer, from + MAGIC.length, to, (number, start, end) => {
    if (number === 2) found = [start, end]
  })
  return found
}

const readBody = (buffer: Buffer): readonly [from: number, to: number] =>
  insideOf(buffer, 0, buffer.length)

/** The list's version, its token for more, and its items. */
export const readList = (
  buffer: Buffer,
): { readonly version: string; readonly next: string; readonly items: readonly Seen[] } => {
  let version = ''
  let next = ''
  const items: Seen[] = []
  const [from, to] = readBody(buffer)
  walk(buffer, from, to, (number, start, end) => {
    if (number === 2) items.push(readObject(buffer, start, end))
    else if (number === 1)
      walk(buffer, start, end, (inner, at, until) => {
        if (inner === 2) version = buffer.toString('latin1', at, until)
        if (inner === 3) next = buffer.toString('latin1', at, until)
      })
  })
  return { version, next, items }
}

/** One frame without its length. */
export const readEvent = (buffer: Buffer, from: number, to: number): readonly [string, Seen] => {
  let type = ''
  let inside: readonly [number, number] = [from, from]
  walk(buffer, from, to, (number, start, end) => {
    if (number === 1) type = buffer.toString('latin1', start, end)
    else if (number === 2)
      walk(buffer, start, end, (inner, at, until) => {
        if (inner === 1) inside = insideOf(buffer, at, until)
      })
  })
  return [type, readObject(buffer, inside[0], inside[1])]
}
