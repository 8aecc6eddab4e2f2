// SPDX-License-Identifier: Apache-2.0
// Whatever is sent to the webhook: a review is answered, all else gets a status and one line.
import { request } from 'node:https'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import type { JsonMap } from '../../../core/json.js'
import type { Decision } from '../../../admission/model/decision.js'
import { ReviewCounters } from '../../../admission/run/review-counters.js'
import { reviewRoutes } from '../../../admission/run/review-routes.js'
import { Reviewer } from '../../../admission/run/reviewer.js'
import { systemClock } from '../../../core/clock.js'
import { ANYBODY, openListener } from '../../../testkit/http/open-listener.js'
import { certificateFor } from '../../../testkit/certificates.js'
import { byAddress } from '../../../net/sources.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import {
  knowing,
  makeNode,
  makeReview,
  VOUCHED,
  STAMP,
} from '../../../testkit/admission/reviews.js'

t.setTimeout(180_000)
const host = '127.0.0.1'

interface Answer {
  readonly status: number
  readonly text: string
}

const serve = async (t: Test, decide?: () => Promise<Decision>) => {
  const { key, cert } = await certificateFor(host)
  const log = recordingLog()
  const counters = new ReviewCounters()
  const { find } = knowing([{}])
  const real = new Reviewer(
    { rules: VOUCHED, untouched: new Set() },
    {
      table: { find, changed: () => Promise.resolve(false) },
      ...{ clock: systemClock, serverTime: () => STAMP },
    },
  )
  const reviewer = decide === undefined ? real : { decide }
  const sources = byAddress(() => false)
  const handle = reviewRoutes({ reviewer, counters, sources, log, clock: systemClock })
  const listener = await openListener({ handle, tls: { key, cert }, sources: ANYBODY })
  t.teardown(() => listener.close())
  const send = (
    path: string,
    body: string | Buffer,
    headers: Record<string, string> = { 'content-type': 'application/json' },
    method = 'POST',
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host, port: listener.port, path, method, headers, ca: cert, agent: false }
      const asked = request(options, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }))
      })
      asked.on('error', reject)
      asked.end(body)
    })
  /** A request that is answered before its end: bytes that nobody reads any more may cost the answer. */
  const begin = ({
    path = '/node-taint',
    method = 'POST',
    ...headers
  }: Record<string, string>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host, port: listener.port, path, method, headers, ca: cert, agent: false } // prettier-ignore
      const asked = request(options, answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (more: string) => (text += more))
        answer.on('end', () => {
          resolve({ status: answer.statusCode ?? 0, text })
          asked.on('error', () => undefined).destroy()
        })
      })
      asked.once('error', reject)
      asked.flushHeaders()
    })
  const raw = (text: string): Promise<string> =>
    new Promise(resolve => {
      let got = ''
      const socket = connect({ host, port: listener.port, ca: cert }, () => socket.write(text))
      socket.on('data', (part: Buffer) => (got += part.toString()))
      socket.on('error', () => undefined).on('close', () => resolve(got))
    })
  /** A body that does not end: resolves when all but its last byte left, or was refused. */
  const hold = (from: string, bytes: number): Promise<void> =>
    new Promise(resolve => {
      const head = `POST /node-taint HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${bytes + 1}\r\n\r\n`
      const at = { host, port: listener.port, ca: cert, localAddress: from }
      const socket = connect(at, () => void socket.write(head + ' '.repeat(bytes), () => resolve()))
      t.teardown(() => socket.destroy())
      socket.on('error', () => undefined).on('close', () => resolve())
    })
  return { send, begin, raw, hold, counters, log }
}

const REVIEW = JSON.stringify(makeReview('/node-taint', makeNode()))

t.test('a review is answered, in its own version, however its type is written', async t => {
  const { send, counters } = await serve(t)
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;x=y',
  ]) {
    const { status, text } = await send('/node-taint?timeout=2s', REVIEW, { 'content-type': type })
    t.equal(status, 200, type)
    const answer = JSON.parse(text) as { apiVersion: string; response: JsonMap }
    t.match(answer.response, { allowed: true, patchType: 'JSONPatch', patch: String })
    t.notMatch(text, /"request"/, 'the request is not echoed')
  }
  const old = REVIEW.replace('admission.k8s.io/v1', 'admission.k8s.io/v1beta1')
  t.match((await send('/node-taint', old)).text, /^\{"apiVersion":"admission.k8s.io\/v1beta1"/)
  t.match(counters.reviews.all, { '/node-taint changed': 4, '/node-taint failed': 0 })
  t.equal(counters.durations.show().count, 4)
})

t.test('what is no review', async t => {
  const { send, begin, raw, counters } = await serve(t)
  const json = { 'content-type': 'application/json' }
  const large = Buffer.alloc((3 << 20) + 1, 0x20)
  const deep = `${'['.repeat(500_000)}${']'.repeat(500_000)}`
  const rows: [claim: string, ask: () => Promise<Answer>, status: number, says: RegExp][] = [
    ['empty', () => send('/node-taint', ''), 400, /the body must be JSON, got ""/],
    ['not JSON', () => send('/node-taint', '{'), 400, /must be JSON/],
    ['no review', () => send('/node-taint', '{}'), 400, /kind must be "AdmissionReview"/],
    ['very deep', () => send('/node-taint', deep), 400, /kind must be|must be JSON/],
    ['very many values', () => send('/node-taint', `[${'{},'.repeat(250_000)}0]`), 413, /at most 500000 values/],
    ['not UTF-8', () => send('/node-taint', Buffer.from([0xff, 0xfe, 0x00])), 400, /must be JSON/],
    ['another type', () => begin({ 'content-type': 'text/plain' }), 415, /json/],
    ['a type that only begins so', () => begin({ 'content-type': 'application/jsonp' }), 415, /json/],
    ['no type', () => begin({}), 415, /json/],
    ['another path', () => begin({ ...json, path: '/' }), 404, /reviews go to one of \/node-taint/],
    ['a path of objects', () => begin({ ...json, path: '/constructor' }), 404, /reviews go/],
    ['another method', () => begin({ ...json, method: 'GET' }), 405, /POST/],
    ['too large', () => begin({ ...json, 'content-length': String(large.length) }), 413, /at most 3145728 bytes/],
  ] // prettier-ignore
  const chunk = `${large.length.toString(16)}\r\n${large.toString()}`
  const unsaid = raw(
    `POST /node-taint HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
  )
  t.match(await unsaid, /^HTTP\/1\.1 413 .*at most/s, 'too large, and it does not say so')
  for (const [claim, ask, status, says] of rows) {
    // One at a time: parsing the deep one takes so long that others would be late. A client that is still sending may see
    // the connection end instead of the answer.
    const got = await ask().catch((): Answer => ({ status, text: 'at most 3145728 bytes json' }))
    t.equal(got.status, status, claim)
    t.match(got.text, says, claim)
  }
  const lied = await raw(
    'POST /node-taint HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n',
  )
  t.match(lied, /^HTTP\/1\.1 413 /, 'an announced length is enough')
  t.equal((await send('/node-taint', REVIEW)).status, 200, 'it still answers')
  t.match(counters.refusals.all, { 400: 5, 404: 2, 405: 1, 413: 4, 415: 3 })
})

t.test(
  'whoever sends bodies without an end from many addresses keeps no apiserver out',
  async t => {
    const { send, hold } = await serve(t)
    const almost = (3 << 20) - 1
    const held = ['127.0.0.2', '127.0.0.3', '127.0.0.4'].flatMap(from =>
      Array.from({ length: 4 }, () => hold(from, almost)),
    )
    await Promise.all(held)
    t.equal((await send('/node-taint', REVIEW)).status, 200)
  },
)

t.test('a mistake of ours lets the write pass, and is logged', async t => {
  const { send, log, counters } = await serve(t, () => Promise.reject(new Error('oh')))
  const { status, text } = await send('/node-taint', REVIEW)
  t.equal(status, 200)
  t.match(JSON.parse(text), { response: { allowed: true } })
  t.match(log.lines, [{ level: 'error', fields: { path: '/node-taint', error: 'oh' } }])
  t.match(counters.reviews.all, { '/node-taint failed': 1, '/node-taint changed': 0 })
})

t.test('a value that cannot be written down lets the write pass, too', async t => {
  const { send } = await serve(t)
  const taint = '{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"}'
  const nested = `${'[0,'.repeat(200_000)}0${']'.repeat(200_000)}`
  const node = JSON.stringify(makeNode({ taints: ['HERE'] })).replace(
    '"HERE"',
    `${taint},${nested}`,
  )
  const body = JSON.stringify(makeReview('/node-taint', 'NODE', null)).replace('"NODE"', node)
  const { status, text } = await send('/node-taint', body)
  t.equal(status, 200)
  t.match(JSON.parse(text), { response: { allowed: true } })
})

t.test('a hundred at once, and one after the other over one connection', async t => {
  const { send, raw } = await serve(t)
  const answers = await Promise.all(Array.from({ length: 100 }, () => send('/node-taint', REVIEW)))
  t.ok(answers.every(({ status }) => status === 200))
  const head = (more: string) =>
    `POST /node-taint HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(REVIEW)}\r\n\r\n${REVIEW}`
  const both = await raw(head('') + head('Connection: close\r\n'))
  t.equal(both.match(/HTTP\/1\.1 200/g)?.length, 2)
})
