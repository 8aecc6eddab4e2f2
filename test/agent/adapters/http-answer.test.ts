// SPDX-License-Identifier: Apache-2.0
// What a prober reads of an HTTP/1 answer: its status, and where it ends, however its bytes arrive.
import t from 'tap'
import { HttpAnswer } from '../../../agent/adapters/http-answer.js'

interface Reading {
  readonly status: number | undefined
  readonly isWhole: boolean
  readonly isKept: boolean
}

/** Pushes a text in pieces of so many bytes. @throws as HttpAnswer does */
const read = (text: string, size: number): Reading => {
  const answer = new HttpAnswer()
  const bytes = Buffer.from(text, 'latin1')
  for (let at = 0; at < bytes.length; at += size) answer.push(bytes.subarray(at, at + size))
  const { status, isWhole, isKept } = answer
  return { status, isWhole, isKept }
}

const SIZES = [1, 2, 3, 7, 64, 100_000]

t.test('answers, whole and in pieces', t => {
  const kept = { status: 200, isWhole: true, isKept: true }
  const rows: readonly (readonly [why: string, text: string, want: Reading])[] = [
    ['a length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', kept],
    ['no reason phrase', 'HTTP/1.1 200\r\ncontent-length:2\r\n\r\nok', kept],
    ['an empty body', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', kept],
    ['the same length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nok', kept],
    [
      'chunks, an extension, a trailer',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n',
      kept,
    ],
    ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', { ...kept, status: 204 }],
    ['not modified', 'HTTP/1.1 304 x\r\nContent-Length: 7\r\n\r\n', { ...kept, status: 304 }],
    [
      'interim answers first',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n',
      { ...kept, status: 503 },
    ],
    [
      'the server closes',
      'HTTP/1.1 200 OK\r\nConnection: keep-alive, Close\r\nContent-Length: 2\r\n\r\nok',
      { ...kept, isKept: false },
    ],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok', { ...kept, isKept: false }],
    [
      'a length beside chunks is not relied upon',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      { ...kept, isKept: false },
    ],
    ['until the end', 'HTTP/1.1 200 OK\r\n\r\nhello', { ...kept, isWhole: false }],
    [
      'in a coding that is not chunked',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello',
      { ...kept, isWhole: false },
    ],
    ['a protocol that nobody asked for', 'HTTP/1.1 101 x\r\n\r\n', { status: 101, isWhole: false, isKept: true }],
    ['the body is not all there', 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok', { ...kept, isWhole: false }],
    ['half a head', 'HTTP/1.1 200 OK\r\nContent-Len', { status: undefined, isWhole: false, isKept: false }],
    ['nothing', '', { status: undefined, isWhole: false, isKept: false }],
  ] // prettier-ignore
  for (const [why, text, want] of rows)
    for (const size of SIZES) t.strictSame(read(text, size), want, `${why}, by ${size}`)
  t.end()
})

t.test('what is no answer', t => {
  const head = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n`
  const rows: readonly (readonly [why: string, text: string, want: RegExp])[] = [
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n', /it begins with something else/],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n', /it begins with something else/],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n', /its first line is no status/],
    ['a status below 100', 'HTTP/1.1 099 OK\r\n\r\n', /its first line is no status/],
    ['a folded header', `${head}A: b\r\n c\r\n\r\n`, /a header has no name/],
    ['a header without name', `${head}: b\r\n\r\n`, /a header has no name/],
    ['a length that is none', `${head}Content-Length: -1\r\n\r\n`, /Content-Length is no length/],
    ['two lengths', `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, /is no length/],
    ['an endless head', `${head}${'A: b\r\n'.repeat(4_000)}`, /longer than 16384 bytes/],
    [
      'endless interim answers',
      'HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000),
      /longer than 16384 bytes/,
    ],
    ['more than announced', `${head}Content-Length: 1\r\n\r\nok`, /longer than was announced/],
    ['more after the last chunk', `${chunked}0\r\n\r\nHTTP/1.1`, /longer than was announced/],
    ['a chunk without size', `${chunked}ok\r\n`, /a chunk has no size/],
    ['a chunk longer than it says', `${chunked}1\r\nok\r\n`, /a chunk has no size/],
    ['a line without end', `${chunked}1;${'x'.repeat(2_000)}`, /a line of it has no end/],
  ]
  for (const [why, text, message] of rows)
    for (const size of SIZES)
      t.throws(() => read(text, size), { code: /^HPE_/, message }, `${why}, by ${size}`)
  t.end()
})
