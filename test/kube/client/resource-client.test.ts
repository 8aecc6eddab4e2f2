// SPDX-License-Identifier: Apache-2.0
// What the client sends for each verb, and what it makes of an answer. What a server does with it: testkit/kube/client-scenes.
import t, { type Test } from 'tap'
import { InvalidInputError, KubeStatusError, KubeUnreachableError } from '../../../core/errors.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import { makeResourceClient, makeTokenClients } from '../../../kube/client/http-resource-client.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import {
  metadataOf,
  parseMetadata,
  resourcePath,
  resourceText,
  scaleOf,
  statusOf,
  type ResourceType,
} from '../../../kube/client/resource.js'
import { testApi } from '../../../testkit/kube/api-client.js'
import { playScene, sceneNames } from '../../../testkit/kube/client-scenes.js'
import { FakeClock, settle } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { answer, refusal, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import { seededRandom } from '../../../testkit/seeded-random.js'

const never = new AbortController().signal
const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' } as const
const deployments: ResourceType<unknown> = { ...DEPLOYMENTS, parse: raw => raw }
const web = { namespace: 'shop', name: 'web' }
const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7' }
const ALL = '/apis/apps/v1/namespaces/shop/deployments'

const scripted = async (t: Test, ...steps: Step[]) => {
  const server = await startScripted()
  server.script(...steps)
  const clock = new FakeClock()
  const log = recordingLog()
  const from = { masterUrl: server.url, environment: {}, serviceAccountFolder: '/nonexistent' }
  const credentials = makeCredentials(from, { clock, log })
  const seams = { credentials, clock, log, random: seededRandom(1) }
  const client = makeResourceClient(seams, { fieldManager: 'tester' })
  t.teardown(async () => {
    await client.close()
    await server.close()
  })
  return { server, client, log }
}

t.test('each verb, as the server gets it', async t => {
  const { server, client } = await scripted(t)
  const rows: [
    call: (client: ResourceClient) => Promise<unknown>,
    request: string,
    media: string | undefined,
    body: string,
    accept?: string,
  ][] = [
    [c => c.get(deployments, web, never), `GET ${ALL}/web`, undefined, ''],
    [c => c.get(statusOf(deployments), web, never), `GET ${ALL}/web/status`, undefined, ''],
    [c => c.get(scaleOf(DEPLOYMENTS), web, never), `GET ${ALL}/web/scale`, undefined, ''],
    [
      c => c.get(metadataOf(DEPLOYMENTS), web, never),
      `GET ${ALL}/web`,
      undefined,
      '',
      'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ],
    [
      c => c.create(deployments, { namespace: 'shop' }, { body: { a: 1 } }, never),
      `POST ${ALL}?fieldManager=tester`,
      'application/json',
      '{"a":1}',
    ],
    [
      c => c.update(deployments, web, { body: { a: 1 }, fieldManager: 'other' }, never),
      `PUT ${ALL}/web?fieldManager=other`,
      'application/json',
      '{"a":1}',
    ],
    [
      c =>
        c.patch(
          deployments,
          web,
          { patch: { type: 'json', operations: [{ op: 'remove', path: '/x' }] } },
          never,
        ),
      `PATCH ${ALL}/web?fieldManager=tester`,
      'application/json-patch+json',
      '[{"op":"remove","path":"/x"}]',
    ],
    [
      c => c.patch(deployments, web, { patch: { type: 'merge', body: {} }, isDryRun: true }, never),
      `PATCH ${ALL}/web?dryRun=All&fieldManager=tester`,
      'application/merge-patch+json',
      '{}',
    ],
    [
      c => c.patch(deployments, web, { patch: { type: 'strategic-merge', body: {} } }, never),
      `PATCH ${ALL}/web?fieldManager=tester`,
      'application/strategic-merge-patch+json',
      '{}',
    ],
    [
      c => c.patch(deployments, web, { patch: { type: 'strategic-merge', text: '{"x": 1e30}' } }, never), // prettier-ignore
      `PATCH ${ALL}/web?fieldManager=tester`,
      'application/strategic-merge-patch+json',
      '{"x": 1e30}',
    ],
    [
      c => c.create(deployments, web, { body: { b: 2 } }, never),
      `POST ${ALL}?fieldManager=tester`,
      'application/json',
      '{"b":2}',
    ],
    [
      c => c.create({ ...deployments, subresource: 'token' }, web, { body: { spec: {} } }, never),
      `POST ${ALL}/web/token?fieldManager=tester`,
      'application/json',
      '{"spec":{}}',
    ],
    [
      c => c.delete(DEPLOYMENTS, web, { gracePeriodSeconds: 0 }, never),
      `DELETE ${ALL}/web`,
      'application/json',
      '{"gracePeriodSeconds":0}',
    ],
    [
      c => c.apply(deployments, web, { body: { kind: 'Deployment' } }, never),
      `PATCH ${ALL}/web?fieldManager=tester`,
      'application/apply-patch+yaml',
      '{"kind":"Deployment"}',
    ],
    [
      c => c.apply(deployments, web, { body: {}, isForced: true, isDryRun: true }, never),
      `PATCH ${ALL}/web?force=true&dryRun=All&fieldManager=tester`,
      'application/apply-patch+yaml',
      '{}',
    ],
    [c => c.delete(DEPLOYMENTS, web, {}, never), `DELETE ${ALL}/web`, 'application/json', '{}'],
    [
      c =>
        c.delete(
          DEPLOYMENTS,
          web,
          { uid: 'u', resourceVersion: '7', propagation: 'Orphan', isDryRun: true },
          never,
        ),
      `DELETE ${ALL}/web`,
      'application/json',
      '{"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Orphan","dryRun":["All"]}',
    ],
  ]
  for (const [call, request, media, body, accept = 'application/json'] of rows) {
    server.script(answer({ metadata }))
    await call(client)
    const asked = server.asked.at(-1)!
    const query = asked.query.toString()
    t.equal(`${asked.method} ${asked.path}${query === '' ? '' : `?${query}`}`, request)
    t.equal(asked.headers['content-type'], media)
    t.equal(asked.headers.accept, accept)
    t.equal(asked.body, body)
  }
})

t.test('in the names of others: their tokens, and nothing of our own', async t => {
  const server = await startScripted()
  const seams = { clock: new FakeClock(), log: recordingLog() }
  const kubeconfig = JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'x' },
    clusters: [{ name: 'x', cluster: { server: server.url } }],
    users: [{ name: 'x', user: { token: 'our-own' } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
  })
  const from = { kubeconfig: `${t.testdir({ kubeconfig })}/kubeconfig`, environment: {} }
  const credentials = makeCredentials(from, seams)
  const clients = makeTokenClients(
    { credentials, ...seams, random: seededRandom(1) },
    { fieldManager: 'tester' },
  )
  t.teardown(async () => {
    await clients.close()
    await server.close()
  })
  const object = answer({ metadata })
  server.script(object, answer({ kind: 'List', items: [], metadata: {} }), object, object)
  const one = clients.withToken('one')
  await one.get(deployments, web, never)
  await clients.withToken('two').list(deployments, web, never)
  await one.create(deployments, web, { body: {} }, never)
  const patch = { type: 'merge', text: '{"a":12345678901234567890}' } as const
  await one.patch(deployments, web, { patch }, never)
  server.script(refusal(401, 'Unauthorized'))
  await t.rejects(one.get(deployments, web, never), KubeStatusError)
  const asked = await Promise.all([0, 1, 2, 3, 4].map(at => server.request(at)))
  const bearers = asked.map(({ headers }) => headers.authorization)
  const [first, second] = ['Bearer one', 'Bearer two']
  t.strictSame(bearers, [first, second, first, first, first], 'a 401 is told at once')
  t.match(asked[3], { body: patch.text })
})

t.test('a list in pages', async t => {
  const items = [{ metadata }, { metadata: { ...metadata, name: 'db' } }]
  const { server, client } = await scripted(
    t,
    answer({ metadata: { resourceVersion: '9', continue: 'more' }, items }),
    answer({ kind: 'DeploymentList', metadata: { resourceVersion: '9' }, items: null }),
    refusal(410, 'Expired'),
    answer({ metadata: { resourceVersion: '9' }, items: [{ metadata: {} }] }),
    answer({ kind: 'SomethingElse' }),
  )
  const names = metadataOf(DEPLOYMENTS)
  const which = { namespace: 'shop', labelSelector: 'a=b', limit: 2 }
  const page = await client.list(names, which, never)
  t.match(page, { items: [{ name: 'web' }, { name: 'db' }], resourceVersion: '9', next: 'more' })
  t.match(server.asked[0], {
    path: ALL,
    headers: { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
  })
  const rest = await client.list(names, { ...which, continueAt: page.next }, never)
  t.strictSame(rest, { items: [], resourceVersion: '9', next: '' })
  t.equal(server.asked[1]!.query.toString(), 'labelSelector=a%3Db&limit=2&continue=more')
  await t.rejects(client.list(names, { ...which, continueAt: 'old' }, never), {
    name: 'KubeStatusError',
    message: /410 Expired/,
  })
  await t.rejects(client.list(names, {}, never), KubeUnreachableError, 'no name, no object')
  await t.rejects(client.list(names, {}, never), /no list of the Kubernetes API/)
})

t.test(
  'a watch of a namespaced resource: objects of one name in two namespaces are two',
  async t => {
    const of = (namespace: string, name: string, more: object = {}) => ({
      metadata: { ...metadata, namespace, name, ...more },
    })
    const { server, client, log } = await scripted(
      t,
      answer({
        metadata: { resourceVersion: '5' },
        items: [of('a', 'x'), of('b', 'x'), of('a', 'y', { uid: 3 }), of('b', 'y', { uid: 3 })],
      }),
      {
        kind: 'stream',
        lines: [
          { type: 'DELETED', object: of('a', 'x', { resourceVersion: '6' }) },
          { type: 'ADDED', object: of('', 'z', { resourceVersion: '7' }) },
          { type: 'DELETED', object: of('', 'z', { resourceVersion: '8' }) },
        ],
      },
    )
    const changes: string[] = []
    const watching = client.watch(
      metadataOf(DEPLOYMENTS),
      { name: 'x', fieldSelector: 'status.phase=Up' },
      {
        replace: items => changes.push(...items.map(item => `=${item.namespace}/${item.name}`)),
        upsert: item => changes.push(`+${item.name}`),
        remove: key => changes.push(`-${key}`),
      },
    )
    await server.request(1)
    while (changes.length < 5) await settle()
    t.strictSame(changes, ['=a/x', '=b/x', '-a/x', '+z', '-z'])
    t.equal(server.asked[0]!.path, '/apis/apps/v1/deployments')
    t.equal(server.asked[0]!.query.get('fieldSelector'), 'metadata.name=x,status.phase=Up')
    t.match(server.asked[1]!.headers.accept, /as=PartialObjectMetadata;/)
    t.match(
      log.lines.filter(({ message }) => message === 'object left out').map(({ fields }) => fields),
      [{ name: 'a/y', what: 'deployments.apps x' }, { name: 'b/y' }],
      'each is complained of',
    )
    t.equal(watching.status.state, 'watching')
    await watching.stop()
  },
)

t.test('an error says who, why and for how long, within bounds', async t => {
  const causes = Array.from({ length: 200 }, (_, i) => ({
    reason: 'FieldManagerConflict',
    message: 'x'.repeat(50),
    field: `.spec.f${i}`,
  }))
  const details = { name: 'web', group: 'apps', kind: 'deployments', uid: 'u', causes }
  const status = { kind: 'Status', code: 409, reason: 'Conflict', message: 'y'.repeat(20_000) }
  const { client } = await scripted(
    t,
    {
      ...answer({ ...status, details: { ...details, retryAfterSeconds: 9e9 } }),
      status: 409,
    } as Step,
    {
      ...answer({ ...status, details: { ...details, causes: ['?', null], uid: 5 } }),
      status: 409,
    } as Step,
    { ...answer({ ...status, details: 'none', reason: 5, message: null }), status: 429 } as Step,
    { ...answer('"a text"'), status: 502 } as Step,
  )
  const errorOf = async (): Promise<KubeStatusError> => {
    const error: unknown = await client.get(deployments, web, never).catch((e: unknown) => e)
    if (!(error instanceof KubeStatusError)) throw error
    return error
  }
  const conflict = await errorOf()
  t.match(conflict, { status: 409, reason: 'Conflict', retryAfterMs: 300_000 })
  t.match(conflict.details, { name: 'web', group: 'apps', kind: 'deployments', uid: 'u' })
  t.equal(conflict.details!.causes!.length, 100)
  t.strictSame(conflict.details!.causes![1], causes[1])
  t.equal(conflict.said.length, 4_096)
  const odd = await errorOf()
  t.equal(odd.details!.uid, undefined)
  t.strictSame(odd.details!.causes, [
    { reason: '', message: '' },
    { reason: '', message: '' },
  ])
  t.match(await errorOf(), { reason: 'Too Many Requests', said: '', details: undefined })
  t.match(await errorOf(), { status: 502, said: '"a text"' })
})

t.test(
  'an apply is sent again on a connection that was dead, unless it names a version',
  async t => {
    const apply = (client: ResourceClient, more: object = {}) =>
      client.apply(deployments, web, { body: { kind: 'Deployment', metadata: more } }, never)
    const { server, client } = await scripted(
      t,
      answer({ metadata }),
      { kind: 'reset' },
      answer({}),
    )
    await apply(client)
    await apply(client)
    t.equal(server.asked.length, 3)
    server.script({ kind: 'reset' })
    await t.rejects(apply(client, { resourceVersion: '7' }), KubeUnreachableError)
    server.script(answer({}), { kind: 'reset' })
    await apply(client)
    await t.rejects(client.delete(DEPLOYMENTS, web, {}, never), KubeUnreachableError)
    t.equal(server.asked.length, 6, 'a delete is not repeated')
  },
)

t.test('a guard stands before each kind of write', async t => {
  const { server, client } = await scripted(t)
  const options = { guard: () => 'too late' }
  const writes = [
    () => client.create(deployments, {}, { body: {}, ...options }, never),
    () => client.update(deployments, web, { body: {}, ...options }, never),
    () => client.apply(deployments, web, { body: {}, ...options }, never),
    () => client.delete(DEPLOYMENTS, web, options, never),
  ]
  for (const write of writes) await t.rejects(write(), { code: 'WITHHELD', message: /too late/ })
  t.equal(server.asked.length, 0)
})

t.test('paths: what is no name leads nowhere else', t => {
  const rows: [of: Parameters<typeof resourcePath>, path: string][] = [
    [[{ group: '', version: 'v1', resource: 'nodes' }, {}], '/api/v1/nodes'],
    [
      [{ group: '', version: 'v1', resource: 'nodes' }, { name: 'a/../b' }],
      '/api/v1/nodes/a%2F..%2Fb',
    ],
    [[DEPLOYMENTS, {}], '/apis/apps/v1/deployments'],
    [[DEPLOYMENTS, web], `${ALL}/web`],
    [[{ ...DEPLOYMENTS, subresource: 'scale' }, web], `${ALL}/web/scale`],
  ]
  for (const [of, path] of rows) t.equal(resourcePath(...of), path)
  for (const broken of [{ name: '' }, { name: '..' }, { name: '.' }, { namespace: '' }])
    t.throws(() => resourcePath(DEPLOYMENTS, broken), InvalidInputError)
  t.throws(() => resourcePath({ ...DEPLOYMENTS, group: '..' }, {}), InvalidInputError)
  t.equal(resourceText(DEPLOYMENTS), 'deployments.apps')
  t.throws(() => parseMetadata({ metadata: { name: 'x' } }), InvalidInputError)
  t.equal(
    parseMetadata({ metadata: { ...metadata, deletionTimestamp: 'now' } }).isBeingDeleted,
    true,
  )
  t.end()
})

t.test('a name that is none is refused before anything is sent', async t => {
  const { server, client } = await scripted(t)
  await t.rejects(client.get(deployments, { ...web, name: '..' }, never), InvalidInputError)
  await t.rejects(
    client.patch(deployments, { name: '' }, { patch: { type: 'merge', body: {} } }, never),
    InvalidInputError,
  )
  await t.rejects(client.delete(DEPLOYMENTS, { name: '' }, {}, never), InvalidInputError)
  t.equal(server.asked.length, 0)
})

// `npm run lab -- conformance` plays the same scenes to a real apiserver.
t.test('what comes of it on the embedded API', async t => {
  const { api, token } = await testApi()
  t.teardown(() => api.stop())
  const forget = async () => api.store.forgetHistory()
  for (const [index, name] of sceneNames.entries()) {
    const server = { url: api.url, token, id: `s${index}`, forget }
    t.strictSame(await playScene(server, index), [], name)
  }
})
