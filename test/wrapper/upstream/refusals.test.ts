// SPDX-License-Identifier: Apache-2.0
// A kube-apiserver refuses in the encoding that was asked for. The bytes are those of Kubernetes 1.36.
import t, { type Test } from 'tap'
import type { KubeStatusError } from '../../../core/errors.js'
import { KubeClient } from '../../../kube/client/client.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import { KnownVersion } from '../../../kube/client/known-version.js'
import { isTooNew, listAll } from '../../../kube/client/list-pages.js'
import { listWatch } from '../../../kube/client/list-watch.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { answer, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import { eventually } from '../../../testkit/kube/scripted-watch.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { seededRandom } from '../../../testkit/seeded-random.js'
import { ROWS } from '../../../wrapper/store/resources.js'
import { makeItemCodec, type RawObject } from '../../../wrapper/upstream/item-codec.js'
import { PROTOBUF } from '../wrapper-world.js'

const PATH = '/api/v1/services'
const FORBIDDEN =
  'azhzAAoMCgJ2MRIGU3RhdHVzEpwBCgYKABIAGgASB0ZhaWx1cmUaZ3NlcnZpY2VzIGlzIGZvcmJpZGRlbjogVXNlciAid2VhayIgY2Fubm90IGxpc3QgcmVzb3VyY2UgInNlcnZpY2VzIiBpbiBBUEkgZ3JvdXAgIiIgYXQgdGhlIGNsdXN0ZXIgc2NvcGUiCUZvcmJpZGRlbioSCgASABoIc2VydmljZXMoADIAMJMDGgAiAA=='
const TOO_LARGE =
  'azhzAAoMCgJ2MRIGU3RhdHVzEp8BCgYKABIAGgASB0ZhaWx1cmUaO1RpbWVvdXQ6IFRvbyBsYXJnZSByZXNvdXJjZSB2ZXJzaW9uOiA5OTk5OTk5OSwgY3VycmVudDogMjAwIgdUaW1lb3V0KkMKABIAGgAiNwoXUmVzb3VyY2VWZXJzaW9uVG9vTGFyZ2USGlRvbyBsYXJnZSByZXNvdXJjZSB2ZXJzaW9uGgAoATIAMPgDGgAiAA=='
const MESSAGE =
  'services is forbidden: User "weak" cannot list resource "services" in API group "" at the cluster scope'

const codec = makeItemCodec(ROWS.services)

const refused = (status: number, body: Buffer | string, type = PROTOBUF): Step =>
  answer(body, { status, headers: { 'content-type': type } })
const forbidden = refused(403, Buffer.from(FORBIDDEN, 'base64'))
const tooLarge = refused(504, Buffer.from(TOO_LARGE, 'base64'))

const start = async (t: Test, ...steps: readonly Step[]) => {
  const server = await startScripted()
  server.script(...steps)
  const clock = new FakeClock()
  const client = new KubeClient(fixedCredentials({ server: server.url, token: 'x' }), clock, 'test')
  t.teardown(async () => {
    await client.close()
    await server.close()
  })
  return { client, clock, random: seededRandom(1), log: recordingLog() }
}

const errorOf = async (t: Test, step: Step): Promise<KubeStatusError> => {
  const { client } = await start(t, step)
  const request = { path: PATH, query: {}, pageSize: 0, timeoutMs: 10_000, codec }
  return listAll(client, request, new AbortController().signal, raw => raw).then(
    () => t.fail('it was answered') as never,
    (error: unknown) => error as KubeStatusError,
  )
}

const follow = async (t: Test, known: KnownVersion, ...steps: readonly Step[]) => {
  const seams = await start(t, ...steps)
  const sink = { replace: () => undefined, upsert: () => undefined, remove: () => undefined }
  const spec = { what: 'services', path: PATH, query: {}, codec, known, sink }
  const parse = (raw: RawObject): RawObject => raw
  const watching = listWatch({ ...spec, parse }, seams, { fromCache: true })
  t.teardown(() => watching.stop())
  await eventually(() => watching.status.state === 'backing-off')
  const { lines } = seams.log
  return { trouble: watching.status.trouble, levels: lines.map(({ level }) => level) }
}

t.test('what a list is refused for is read in protobuf', async t => {
  const error = await errorOf(t, forbidden)
  t.equal(error.message, `GET ${PATH}: 403 Forbidden: ${MESSAGE}`)
  t.match(error, { isFromApi: true, reason: 'Forbidden', said: MESSAGE })
  t.match(error.details, { kind: 'services' })
  t.notOk(isTooNew(error))
})

t.test('causes and time to wait are read in protobuf', async t => {
  const error = await errorOf(t, tooLarge)
  t.ok(isTooNew(error))
  t.match(error, { status: 504, isFromApi: true, reason: 'Timeout', retryAfterMs: 1_000 })
})

t.test('a refusal in JSON or text is read as before', async t => {
  const body = JSON.stringify({ kind: 'Status', reason: 'Forbidden', message: MESSAGE })
  t.match(await errorOf(t, refused(403, body, 'application/json')), {
    ...{ isFromApi: true, said: MESSAGE },
  })
  t.match(await errorOf(t, refused(502, 'no backend', 'text/plain')), {
    ...{ isFromApi: false, said: 'no backend', reason: 'Bad Gateway' },
  })
})

t.test('protobuf that cannot be read is no text', async t => {
  const error = await errorOf(t, refused(500, Buffer.from('k8s\0\xff', 'latin1')))
  t.match(error, { status: 500, isFromApi: false, reason: 'Internal Server Error' })
  t.match(error.said, /^not readable: [\x20-\x7e]+$/)
})

t.test('a cache that lags is no trouble worth a warning', async t => {
  const known = new KnownVersion()
  known.reached('99999999')
  const { trouble, levels } = await follow(t, known, tooLarge)
  t.match(trouble, /504 Timeout: Timeout: Too large resource version: 99999999, current: 200$/)
  t.strictSame(levels, ['debug'])
})

t.test('why a watch was refused is read in protobuf, too', async t => {
  const listed = answer({ metadata: { resourceVersion: '7' }, items: [] })
  const { trouble, levels } = await follow(t, new KnownVersion(), listed, forbidden)
  t.equal(trouble, `GET ${PATH}: 403 Forbidden: ${MESSAGE}`)
  t.strictSame(levels, ['warn'])
})
