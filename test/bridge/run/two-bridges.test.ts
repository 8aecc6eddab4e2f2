// SPDX-License-Identifier: Apache-2.0
// Two bridges on real sockets, of which one does not know that the other has taken its place.
import { request } from 'node:https'
import t from 'tap'
import { makeAuthority } from '../../../bridge/enroll/signer.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'
import { encodeFrame, makeFrame, type Frame } from '../../../testkit/edge/frame.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { rawEdge } from './raw-edge.js'
import { openBridge, openCluster, until } from './stage.js'

const podOn = (nodeName: string, name: string): object => ({
  metadata: { name },
  spec: { nodeName, containers: [{ name: 'c', image: 'i' }] },
})

const keepalive = (): string =>
  encodeFrame(
    makeFrame(
      { source: 'websocket', group: 'resource', operation: 'keepalive', resource: 'node' },
      { content: 'ping', wall: 0 },
    ),
  )

const removes =
  (pod: string) =>
  ({ route: { operation, resource = '' } }: Frame): boolean =>
    operation === 'delete' && resource.endsWith(pod)

t.test('an edge moves to the other bridge while the first believes that it has it', async t => {
  const cluster = await openCluster(t)
  const clock = new FakeClock()
  const edges: Awaited<ReturnType<typeof rawEdge>>[] = []
  const later = (isSo: () => boolean | Promise<boolean>): Promise<void> =>
    until(async () => {
      for (const { link } of edges) link.send(keepalive())
      await clock.advance(100)
      return await isSo()
    })
  const one = await openBridge(t, cluster, {}, { clock })
  await later(one.isServing)
  const two = await openBridge(t, cluster, {}, { clock })
  await cluster.ask('POST /api/v1/nodes', {
    metadata: { name: 'e1', labels: { 'node-role.kubernetes.io/edge': '' } },
  })
  const before = await rawEdge(t, one, 'e1')
  edges.push(before)
  await cluster.ask('POST /api/v1/namespaces/shop/pods', podOn('e1', 'first'))
  await later(() => before.kept.has('shop/pod/first'))
  cluster.api.cutLink(one.user, 'refused')
  await later(two.isServing)
  const after = await rawEdge(t, two, 'e1')
  edges.push(after)
  t.equal(before.state.ended, '', 'the first bridge does not know of it')
  await cluster.ask('POST /api/v1/namespaces/shop/pods', podOn('e1', 'second'))
  await later(() => after.kept.has('shop/pod/second'))
  const renewal = { metadata: { name: 'e1' }, spec: { holderIdentity: 'e1' } }
  const path = 'GET /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/e1'
  cluster.api.healLink(one.user)
  const id = before.say('insert', 'kube-node-lease/lease/e1', renewal)
  await later(() => before.state.ended !== '')
  t.notOk(before.kept.has('shop/pod/second'))
  const answer = before.got.find(({ header }) => header.parent_msg_id === id)
  t.notMatch(answer, { content: { metadata: { name: 'e1' } } })
  t.equal((await cluster.ask(path)).status, 404, 'who does not lead writes nothing')
  t.equal(after.state.ended, '')
  // Back to the first one, while what the second has sent is deleted.
  await two.program.stop()
  await cluster.ask('DELETE /api/v1/namespaces/shop/pods/second?gracePeriodSeconds=0')
  await later(one.isServing)
  const again = await rawEdge(t, one, 'e1')
  edges.push(again)
  // The first bridge's own disk says nothing of that pod.
  await later(() => again.got.some(removes('shop/pod/second')))
  t.notOk(again.got.some(removes('shop/pod/first')))
})

t.test('the authority is replaced while two bridges run, of which one is started anew', async t => {
  const cluster = await openCluster(t)
  const secret = (name: string): string => `/api/v1/namespaces/kubeedge/secrets/${name}`
  const dataOf = async (name: string): Promise<Record<string, string>> =>
    (await cluster.ask(`GET ${secret(name)}`)).body['data'] as Record<string, string>
  const one = await openBridge(t, cluster)
  await until(one.isServing)
  const connected = await rawEdge(t, one, 'e1')
  await until(
    async () =>
      'tokendata' in (((await dataOf('tokensecret')) as Record<string, string> | undefined) ?? {}),
  )
  const [hash = '', ...token] = Buffer.from((await dataOf('tokensecret'))['tokendata']!, 'base64')
    .toString()
    .split('.')
  t.ok(hash)
  const { der } = await requestCertificate(edgeSubject('e2'))
  const enrol = (port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...{ Authorization: `Bearer ${token.join('.')}`, Nodename: 'e2' },
        'Content-Length': der.length,
      }
      const asked = request(
        { host: '127.0.0.1', port, path: '/edge.crt', headers, rejectUnauthorized: false },
        response => {
          response.resume()
          resolve(response.statusCode ?? 0)
        },
      )
      asked.on('error', reject)
      asked.end(der)
    })
  t.equal(await enrol(one.ports.enrol), 200)
  const { certificate, key } = await makeAuthority(Date.now())
  const data = {
    cadata: Buffer.from(certificate).toString('base64'),
    cakeydata: Buffer.from(key).toString('base64'),
  }
  const { metadata } = (await cluster.ask(`GET ${secret('casecret')}`)).body
  await cluster.ask(`PUT ${secret('casecret')}`, { metadata, data })
  const two = await openBridge(t, cluster)
  t.equal(await enrol(one.ports.enrol), 503, 'no certificate that the other bridge would refuse')
  t.equal(await enrol(two.ports.enrol), 401, 'the token is of the former authority')
  t.equal(connected.state.ended, '', 'who is connected stays')
  await one.program.stop()
  await until(two.isServing)
  t.equal((await dataOf('casecret'))['cadata'], data.cadata)
  const again = await rawEdge(t, two, 'e1')
  t.equal(again.state.refused, '', 'with a certificate of the new authority')
})
