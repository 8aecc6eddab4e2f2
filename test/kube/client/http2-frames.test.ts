// SPDX-License-Identifier: Apache-2.0
// What an HTTP/2 server does that Node's own never does: answers that break off, requests that it refuses.
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import tls, { type TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { KubeUnreachableError } from '../../../core/errors.js'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { never } from '../../../testkit/kube/built-kube.js'

const authority = await certificateFor('127.0.0.1')
const LIMITS = { timeoutMs: 15_000, maxBytes: 1_000_000 }
const CALL = { method: 'GET', path: '/api/v1/nodes' } as const
const body = { type: 'application/json', text: '{}' }
const CREATE = { ...CALL, method: 'POST', body } as const

/** Types and flags of frames (RFC 9113, section 6). */
const [DATA, HEADERS, RST_STREAM, SETTINGS, GOAWAY] = [0, 1, 3, 4, 7]
const [NONE, ACK, END_STREAM, END_HEADERS] = [0, 1, 1, 4]
const PREFACE_BYTES = 24
const HEADER_BYTES = 9
/** `:status: 200`, and `content-length: 99`, in HPACK. */
const OK = Buffer.from([0x88])
const LONGER = Buffer.from([0x88, 0x5c, 0x02, 0x39, 0x39])

const u32 = (...values: number[]): Buffer => {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i))
  return bytes
}

const frame = (
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUIntBE(payload.length, 0, 3)
  header.writeUInt8(type, 3)
  header.writeUInt8(flags, 4)
  header.writeUInt32BE(stream, 5)
  return Buffer.concat([header, payload])
}

type Reply = (stream: number, socket: TLSSocket) => readonly Buffer[]

const half = (stream: number, headers = OK): Buffer[] => [
  frame(HEADERS, END_HEADERS, stream, headers),
  frame(DATA, NONE, stream, Buffer.from('{"is":')),
]
const whole: Reply = stream => [
  frame(HEADERS, END_HEADERS, stream, OK),
  frame(DATA, END_STREAM, stream, Buffer.from('{"is":"whole"}')),
]
const reset =
  (code: number, ...before: Buffer[]): Reply =>
  stream => [...before, frame(RST_STREAM, NONE, stream, u32(code))]

/** A server that answers each request with the next reply; it tells how many came. */
const setUp = async (t: Test, ...replies: Reply[]) => {
  const seen = { requests: 0, connections: 0 }
  const sockets = new Set<Socket>()
  const server = tls.createServer({ ...authority, ALPNProtocols: ['h2'] }, socket => {
    seen.connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.write(frame(SETTINGS, NONE, 0))
    let left: Buffer = Buffer.alloc(0)
    let skip = PREFACE_BYTES
    socket.on('data', bytes => {
      left = Buffer.concat([left, bytes]).subarray(skip)
      skip = 0
      while (left.length >= HEADER_BYTES) {
        const end = HEADER_BYTES + left.readUIntBE(0, 3)
        if (left.length < end) return
        const [type, flags, stream] = [left[3], left[4], left.readUInt32BE(5)]
        left = left.subarray(end)
        if (type === SETTINGS && flags !== ACK) socket.write(frame(SETTINGS, ACK, 0))
        if (type !== HEADERS) continue
        seen.requests++
        socket.write(Buffer.concat(replies.shift()?.(stream, socket) ?? []))
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  const credentials = fixedCredentials({ server: url, token: 'one', ca: authority.cert })
  const client = new KubeClient(credentials, new FakeClock(), 'tester')
  t.teardown(async () => {
    await client.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { seen, client }
}

const broken: readonly (readonly [how: string, reply: Reply])[] = [
  ['reset: INTERNAL_ERROR', stream => reset(2, ...half(stream))(stream, undefined!)],
  ['reset: CANCEL', stream => reset(8, ...half(stream))(stream, undefined!)],
  ['reset: NO_ERROR', stream => reset(0, ...half(stream))(stream, undefined!)],
  [
    'shorter than its content-length',
    stream => [
      frame(HEADERS, END_HEADERS, stream, LONGER),
      frame(DATA, END_STREAM, stream, Buffer.from('{}')),
    ],
  ],
  [
    'cut off by GOAWAY with an error',
    stream => [...half(stream), frame(GOAWAY, NONE, 0, u32(stream, 2))],
  ],
  [
    'followed by the end of the connection',
    (stream, socket) => {
      socket.end(Buffer.concat(half(stream)))
      return []
    },
  ],
]
for (const [how, reply] of broken)
  t.test(`an answer that is ${how} is none`, async t => {
    const { client } = await setUp(t, reply)
    await t.rejects(client.json(CALL, LIMITS, never), KubeUnreachableError)
  })

const unprocessed: readonly (readonly [how: string, reply: Reply])[] = [
  ['refused', reset(7)],
  ['beyond the last one that the server takes', () => [frame(GOAWAY, NONE, 0, u32(0, 0))]],
]
for (const [how, reply] of unprocessed)
  t.test(`a write that is ${how} is sent again, since nobody has carried it out`, async t => {
    const { client, seen } = await setUp(t, reply, whole)
    t.strictSame(await client.json(CREATE, LIMITS, never), { is: 'whole' })
    t.equal(seen.requests, 2)
  })

t.test('a write that ends in another way is not', async t => {
  const { client, seen } = await setUp(t, reset(2), whole)
  await t.rejects(client.json(CREATE, LIMITS, never), KubeUnreachableError)
  t.equal(seen.requests, 1)
})
