// SPDX-License-Identifier: Apache-2.0
// On real sockets: what an edge does from its first request to its first frame.
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import t, { type Test } from 'tap'
import { makeJoinToken } from '../../../bridge/enroll/join-token.js'
import { openEnrolment } from '../../../bridge/enroll/listener.js'
import { makeAuthority, makeSigner } from '../../../bridge/enroll/signer.js'
import { systemClock } from '../../../core/clock.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'
import { makeAuthority as makeOther, makeNodePair } from '../../../testkit/edge/certificates.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

interface Answer {
  readonly status: number
  readonly body: Buffer
}

const begin = async (t: Test) => {
  const now = Date.now()
  const authority = await makeAuthority(now)
  const signer = await makeSigner(authority)
  const log = recordingLog()
  const state = { isCurrent: true }
  const listener = await openEnrolment(
    { address: '127.0.0.1', port: 0, server: await signer.makeServer(['127.0.0.1'], now) },
    {
      ...{ authority, signer, log, clock: systemClock, random: seededRandom(1) },
      ...{ signal: new AbortController().signal, hasNode: node => node === 'there' },
      isForeign: node =>
        node === 'unknown' ? Promise.reject(new Error('away')) : Promise.resolve(node === 'cp-1'),
      isCurrent: () => Promise.resolve(state.isCurrent),
    },
  )
  t.teardown(() => listener.close())
  const ask = (
    path: string,
    more: {
      readonly method?: string
      readonly headers?: Record<string, string>
      readonly body?: Uint8Array
      readonly cert?: string
      readonly key?: string
    } = {},
  ): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { method = 'GET', headers = {}, body, ...shown } = more
      const length = body === undefined ? {} : { 'Content-Length': body.length }
      const sent = request(
        {
          ...{ host: '127.0.0.1', port: listener.port, path, method, agent: false, ca: signer.ca },
          ...{ headers: { ...length, ...headers }, ...shown },
        },
        response => {
          const parts: Buffer[] = []
          response.on('data', (part: Buffer) => parts.push(part))
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts) }),
          )
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  // The edge splits what its administrator gave it, and sends the second part.
  const [hash = '', ...token] = makeJoinToken(authority, now).split('.')
  const withToken = (node: string) => ({
    Authorization: `Bearer ${token.join('.')}`,
    Nodename: node,
  })
  return { ask, authority, signer, hash, withToken, log, state }
}

t.test('an edge finds the authority, gets its certificate and renews it with that', async t => {
  const { ask, authority, hash, withToken, log, signer } = await begin(t)
  const ca = await ask('/ca.crt')
  t.equal(ca.status, 200)
  t.strictSame(ca.body, Buffer.from(authority.certificate))
  t.equal(hash.length, 64)
  const { der, key } = await requestCertificate(edgeSubject('e1'))
  const first = await ask('/edge.crt', { headers: withToken('e1'), body: der })
  t.equal(first.status, 200)
  const certificate = new X509Certificate(first.body)
  t.match(certificate.subject, /CN=system:node:e1/)
  const cert = certificate.toString()
  const next = await requestCertificate(edgeSubject('e1'))
  const asked = { headers: { Nodename: 'e1' }, body: next.der, cert, key }
  const second = await ask('/edge.crt', asked)
  t.equal(second.status, 200, 'no token any more')
  t.ok(new X509Certificate(second.body).verify(new X509Certificate(signer.ca).publicKey))
  const other = await requestCertificate(edgeSubject('e2'))
  const stolen = { headers: withToken('e2'), body: other.der, cert, key }
  t.equal((await ask('/edge.crt', stolen)).status, 403, 'not for another node, token or not')
  const inside = { headers: { Nodename: 'e1' }, body: other.der, cert, key }
  t.equal((await ask('/edge.crt', inside)).status, 400, 'nor inside of the request')
  const text = JSON.stringify(log.lines)
  t.notMatch(text, /Bearer|eyJ/, 'no token in the log')
})

t.test('without a valid token there is no certificate', async t => {
  const { ask, withToken } = await begin(t)
  const { der: body } = await requestCertificate(edgeSubject('e1'))
  const headers = withToken('e1')
  const rows: readonly [string, Parameters<typeof ask>[1], number][] = [
    ['none', { headers: { Nodename: 'e1' }, body }, 401],
    ['another', { headers: { ...headers, Authorization: 'Bearer a.b.c' }, body }, 401],
    ['no node', { headers: { Authorization: headers.Authorization }, body }, 400],
    ['a node that is none', { headers: { ...headers, Nodename: '../e1' }, body }, 400],
    ['another node', { headers: { ...headers, Nodename: 'e2' }, body }, 400],
    ['no request', { headers }, 400],
    ['a large one', { headers, body: Buffer.alloc((16 << 10) + 1) }, 413],
    ['another method', { method: 'POST', headers, body }, 405],
  ]
  for (const [what, more, status] of rows)
    t.equal((await ask('/edge.crt', more)).status, status, what)
  const foreign = await makeNodePair(await makeOther(), 'e1')
  t.equal((await ask('/edge.crt', { headers, body, ...foreign })).status, 401, 'another authority')
})

t.test('no certificate is issued for a Node that is not an edge node', async t => {
  const { ask, withToken, log } = await begin(t)
  const { der: body } = await requestCertificate(edgeSubject('cp-1'))
  const refused = await ask('/edge.crt', { headers: withToken('cp-1'), body })
  t.equal(refused.status, 403)
  t.match(refused.body.toString(), /not an edge node/)
  const unknown = await requestCertificate(edgeSubject('unknown'))
  const asked = { headers: withToken('unknown'), body: unknown.der }
  t.equal((await ask('/edge.crt', asked)).status, 500, 'nor while nobody can say')
  t.notMatch(JSON.stringify(log.lines), /a certificate was signed/)
})

t.test('whether a node is there, and nothing else', async t => {
  const { ask } = await begin(t)
  t.equal((await ask('/node/there')).status, 200)
  for (const path of [
    '/node/away',
    '/node/',
    '/node/..',
    '/node/a/b',
    '/',
    '/ca.crt/',
    '/edge.crt?a',
  ])
    t.equal((await ask(path)).status, 404, path)
})

t.test('with an authority that the cluster no longer has nothing is signed', async t => {
  const { ask, withToken, state, log } = await begin(t)
  const { der } = await requestCertificate(edgeSubject('e1'))
  state.isCurrent = false
  const answer = await ask('/edge.crt', { headers: withToken('e1'), body: der })
  t.match([answer.status, String(answer.body)], [503, /started anew/])
  t.match(log.lines, [{ level: 'warn', fields: { status: 503 } }])
  state.isCurrent = true
  t.equal((await ask('/edge.crt', { headers: withToken('e1'), body: der })).status, 200)
})
