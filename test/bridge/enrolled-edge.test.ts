// SPDX-License-Identifier: Apache-2.0
// An edge from its token to its first frames: enrolment and hub together, on real sockets.
import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import t from 'tap'
import { makeJoinToken } from '../../bridge/enroll/join-token.js'
import { openEnrolment } from '../../bridge/enroll/listener.js'
import { makeAuthority, makeSigner } from '../../bridge/enroll/signer.js'
import { openHub } from '../../bridge/hub/hub.js'
import { systemClock } from '../../core/clock.js'
import { silentLog } from '../../core/log.js'
import { edgeSubject, requestCertificate } from '../../testkit/edge/certificate-request.js'
import { Edge } from '../../testkit/edge/edge.js'
import { dialWebsocket } from '../../testkit/edge/link.js'
import { memoryStore } from '../../testkit/edge/store.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { until } from './hub/stage.js'

t.test('an edge that was given a token connects with the certificate that it gets', async t => {
  const now = Date.now()
  const authority = await makeAuthority(now)
  const signer = await makeSigner(authority)
  const server = await signer.makeServer(['127.0.0.1'], now)
  const seams = {
    ...{ clock: systemClock, random: seededRandom(1), log: silentLog },
    signal: new AbortController().signal,
  }
  const where = { address: '127.0.0.1', port: 0 }
  const enrolment = await openEnrolment(
    { ...where, server },
    {
      ...seams,
      authority,
      signer,
      hasNode: () => false,
      isForeign: () => Promise.resolve(false),
      isCurrent: () => Promise.resolve(true),
    },
  )
  const heard: string[] = []
  const hub = await openHub(
    { ...where, tls: { ca: signer.ca, ...server } },
    {
      ...seams,
      isEdge: () => false,
      isForeign: () => Promise.resolve(false),
      sink: {
        connected: ({ node }) => heard.push(`${node} connected`),
        received: ({ node }, { operation, resource }) =>
          heard.push(`${node} ${operation} ${resource}`),
        caughtUp: () => undefined,
        ended: () => undefined,
      },
    },
  )
  hub.serve()
  const token = makeJoinToken(authority, now).split('.').slice(1).join('.')
  const { der, key } = await requestCertificate(edgeSubject('e1'))
  const signed = await new Promise<Buffer>((resolve, reject) => {
    const headers = {
      ...{ Authorization: `Bearer ${token}`, Nodename: 'e1' },
      'Content-Length': der.length,
    }
    const asked = request(
      { host: '127.0.0.1', port: enrolment.port, path: '/edge.crt', ca: signer.ca, headers },
      answer => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.on('end', () => resolve(Buffer.concat(parts)))
      },
    )
    asked.on('error', reject)
    asked.end(der)
  })
  const tls = { ca: signer.ca, cert: new X509Certificate(signed).toString(), key }
  const url = `wss://127.0.0.1:${hub.port}`
  const edge = new Edge(
    { node: 'e1' },
    {
      ...{ clock: systemClock, random: seededRandom(1), store: memoryStore() },
      dial: events => dialWebsocket({ url, node: 'e1', tls }, events),
    },
  )
  const ended = edge.run()
  t.teardown(async () => {
    edge.kill()
    await ended
    await Promise.all([hub.close(), enrolment.close()])
  })
  await until(() => heard.includes('e1 insert null/node/e1'))
  t.equal(heard[0], 'e1 connected')
  t.ok(heard.includes('e1 query kube-node-lease/lease/e1'))
  t.ok(heard.includes('e1 get membership/detail'))
})
