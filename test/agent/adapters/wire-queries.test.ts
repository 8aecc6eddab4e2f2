// SPDX-License-Identifier: Apache-2.0
// What an agent asks of the apiserver, word by word: each of these words saves bytes on the cloud link, or load on the server.
import t, { type Test } from 'tap'
import { makeKubeApi } from '../../../agent/adapters/kube-api.js'
import type { KubeApi } from '../../../agent/ports/kube-api.js'
import { fixedCredentials } from '../../../kube/client/fixed-credentials.js'
import type { Watching } from '../../../kube/client/watching.js'
import { answer, refusal, startScripted, type Step } from '../../../testkit/http/scripted-server.js'
import {
  drawing,
  NotingClock,
  requestsOf,
  said,
  TABLE,
} from '../../../testkit/kube/kube-requests.js'
import { never, rawNode } from '../../../testkit/kube/built-kube.js'
import { eventually, gone } from '../../../testkit/kube/scripted-watch.js'
import { recordingLog } from '../../../testkit/recording-log.js'

const JSON_ALONE = 'application/json'
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1'
const METADATA = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1'

const { read, listed } = requestsOf('agent')

/** A cache that keeps one list for each user agent must not take it for the list of the members. */
const byReader = <R extends { readonly headers: object }>(request: R) => ({
  ...request,
  headers: { ...request.headers, 'user-agent': 'edge-health-agent-identities' },
})

const table = (version: string, ...names: readonly string[]) => ({
  kind: 'Table',
  metadata: { resourceVersion: version },
  columnDefinitions: [{ name: 'Name', format: 'name' }, { name: 'Internal-IP' }],
  rows: names.map(name => ({ cells: [name, '10.0.0.1'] })),
})
const event = (type: string, version: string, name: string) => ({
  type,
  object: table(version, name),
})
const none = answer({ metadata: { resourceVersion: '7' }, items: [] })
const open: Step = { kind: 'stream' }

const start = async (t: Test, place: number, ...steps: readonly Step[]) => {
  const server = await startScripted()
  server.script(...steps)
  const clock = new NotingClock()
  const log = recordingLog()
  const credentials = fixedCredentials({ server: server.url, token: 'of-agent' })
  const api = makeKubeApi(credentials, { clock, log, random: drawing(place) })
  t.teardown(async () => {
    await api.close()
    await server.close()
  })
  const troubles = (): number => log.lines.filter(line => line.message === 'watch trouble').length
  return {
    ...{ server, clock, api },
    /** The n-th request, from 0. */
    said: async (n: number) => {
      await eventually(() => server.asked.length > n)
      return said(server.asked[n]!)
    },
    /** How long the watch waits after its n-th trouble, from 1. That time passes. */
    passed: async (n: number): Promise<number> => {
      await eventually(() => troubles() === n)
      const waitMs = clock.waits.at(-1)!
      await clock.advance(waitMs)
      return waitMs
    },
    /** The present watch has lasted so long that its end is no failure. */
    steady: async (watching: Watching): Promise<void> => {
      await eventually(() => watching.status.state === 'watching')
      await clock.advance(5_000)
    },
  }
}

const ignore = { replace: () => undefined, upsert: () => undefined, remove: () => undefined }

const SELECTOR = 'zone in (a, b),x!=y'
const NODES = '/api/v1/nodes'
const MEMBERS = { labelSelector: SELECTOR, includeObject: 'None' }
const NODE_N1 = { fieldSelector: 'metadata.name=n1' }

const watchMembers = (api: KubeApi): Watching => api.watchMembers({ selector: SELECTOR }, ignore)

const FOLLOWED: readonly [
  what: string,
  watch: (api: KubeApi) => Watching,
  asked: readonly [accept: string, path: string, query: Record<string, string>],
][] = [
  ['the members of a zone', watchMembers, [TABLE, NODES, MEMBERS]],
  [
    'one member of a zone',
    api => api.watchMembers({ selector: SELECTOR, name: 'n1' }, ignore),
    [TABLE, NODES, { ...MEMBERS, ...NODE_N1 }],
  ],
  ['the own Node', api => api.watchNode('n1', ignore), [JSON_ALONE, NODES, NODE_N1]],
  [
    'a ConfigMap',
    api => api.watchConfigMap('ns', 'n1', ignore),
    [JSON_ALONE, '/api/v1/namespaces/ns/configmaps', NODE_N1],
  ],
  [
    'a Secret',
    api => api.watchSecret('ns', 'n1', ignore),
    [JSON_ALONE, '/api/v1/namespaces/ns/secrets', NODE_N1],
  ],
]

for (const [what, watch, [accept, path, query]] of FOLLOWED)
  for (const [place, timeoutSeconds] of [
    [0, '4800'],
    [0.5, '7200'],
    [1, '9600'],
  ] as const)
    t.test(`${what}: a list from the watch cache, then a watch of ${timeoutSeconds} s`, async t => {
      const { api, server, said } = await start(t, place, none, open)
      watch(api)
      const first = listed(accept, path, { ...query, resourceVersion: '0' })
      t.strictSame(await said(0), first, 'all in one page, of whatever version')
      const more = { watch: 'true', timeoutSeconds, resourceVersion: '7' }
      t.strictSame(await said(1), read(accept, path, { ...query, ...more }), 'without bookmarks')
      t.equal(server.asked.length, 2)
    })

t.test('a watch that ends on its time is resumed at once, from what came last', async t => {
  const { api, server, clock, said } = await start(t, 0, answer(table('7', 'a')), open, open, open)
  const heard: string[] = []
  api.watchMembers({ selector: SELECTOR }, { ...ignore, upsert: ({ name }) => heard.push(name) })
  const watch = await server.request(1)
  watch.line(event('MODIFIED', '9', 'b'))
  await eventually(() => heard.length === 1)
  await clock.advance(4_800_000)
  watch.end()
  const more = { watch: 'true', timeoutSeconds: '4800', resourceVersion: '9' }
  t.strictSame(await said(2), read(TABLE, NODES, { ...MEMBERS, ...more }))
  t.equal(server.asked.length, 3, 'and nothing was listed')
})

for (const [place, waitMs, againMs, timeoutSeconds] of [
  [0, 350, 5_000, '60'],
  [0.5, 5_000, 7_500, '90'],
  [1, 9_999, 9_999, '120'],
] as const)
  t.test(`a watch that breaks is resumed ${waitMs} ms later, without a list`, async t => {
    const internal = refusal(500, 'InternalError')
    const made = await start(t, place, answer(table('7', 'a')), open, internal, open)
    const { api, server, said, passed, steady } = made
    const watching = watchMembers(api)
    await steady(watching)
    server.asked[1]!.reset()
    t.equal(await passed(1), waitMs, 'members that lost one server do not come back together')
    const more = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds,
      resourceVersion: '7',
    }
    const trial = read(TABLE, NODES, { ...MEMBERS, ...more })
    t.strictSame(await said(2), trial, 'a short one that proves that the server knows the version')
    t.equal(await passed(2), againMs, 'nor when the server is not ready yet')
    t.strictSame(await said(3), trial)
    t.equal(server.asked.length, 4)
  })

t.test('after an outage the store says its version, which costs no list', async t => {
  const unavailable = refusal(503, 'ServiceUnavailable')
  const steps = [answer(table('7', 'a')), open, unavailable, answer(table('8')), open]
  const { api, server, said, passed, steady } = await start(t, 0, ...steps)
  await steady(watchMembers(api))
  server.asked[1]!.reset()
  await passed(1)
  await said(2)
  await passed(2)
  const nobody = read(TABLE, NODES, { ...MEMBERS, fieldSelector: 'metadata.name=0' })
  const byOther = { ...nobody.headers, 'user-agent': 'edge-health-store-version' }
  t.strictSame(await said(3), { ...nobody, headers: byOther })
  const more = { watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: '60' }
  const query = { ...MEMBERS, ...more, resourceVersion: '7' }
  t.strictSame(await said(4), read(TABLE, NODES, query))
  t.equal(server.asked.length, 5)
})

t.test('a version that the server forgot is listed anew, from the watch cache too', async t => {
  const steps = [answer(table('7', 'a')), open, answer(table('9', 'a')), open]
  const { api, server, said, passed, steady } = await start(t, 0, ...steps)
  await steady(watchMembers(api))
  server.asked[1]!.line(gone)
  await passed(1)
  const known = { resourceVersion: '7', resourceVersionMatch: 'NotOlderThan' }
  t.strictSame(await said(2), listed(TABLE, NODES, { ...MEMBERS, ...known }))
  const more = { watch: 'true', timeoutSeconds: '4800', resourceVersion: '9' }
  t.strictSame(await said(3), read(TABLE, NODES, { ...MEMBERS, ...more }))
})

t.test('members that are listed now and then come from the watch cache', async t => {
  const { api, said } = await start(t, 0, answer(table('7', 'a')), answer(table('8', 'a')))
  const { version } = await api.listMembers(SELECTOR, undefined, never)
  t.strictSame(await said(0), listed(TABLE, NODES, { ...MEMBERS, resourceVersion: '0' }))
  await api.listMembers(SELECTOR, version, never)
  const known = { resourceVersion: '7', resourceVersionMatch: 'NotOlderThan' }
  t.strictSame(await said(1), listed(TABLE, NODES, { ...MEMBERS, ...known }), 'none older')
})

t.test('what is read once is as small as the server makes it', async t => {
  const { api, said } = await start(
    t,
    0,
    answer(table('7', 'n1')),
    answer(rawNode),
    answer(rawNode),
  )
  await api.getMember(SELECTOR, 'n1', never)
  t.strictSame(await said(0), listed(TABLE, NODES, { ...MEMBERS, ...NODE_N1 }), 'a row, up to date')
  await api.getNode('n1', never)
  t.strictSame(await said(1), read(JSON_ALONE, `${NODES}/n1`))
  await api.getNodeNotes('n1', never)
  const notes = byReader(read(METADATA, `${NODES}/n1`))
  t.strictSame(await said(2), notes, 'notes are in the metadata')
})

t.test(
  'notes of many Nodes are a compressed list of metadata, from the memory of the server',
  async t => {
    const { api, said } = await start(t, 0, none, none, none)
    const which = { labelSelector: 'kubernetes.io/hostname in (n1,n2)' }
    const states = [
      [undefined, { resourceVersion: '0' }],
      ['7', { resourceVersion: '7', resourceVersionMatch: 'NotOlderThan' }],
      [null, {}],
    ] as const
    for (const [i, [from, query]] of states.entries()) {
      await api.listNodeNotes(['n1', 'n2'], from, never)
      const list = byReader(listed(METADATA_LIST, NODES, { ...which, ...query }))
      t.strictSame(await said(i), list)
    }
  },
)

t.test('a sign of life names nobody', async t => {
  const { api, server, said } = await start(t, 0, answer('ok'))
  await api.ping(never)
  t.strictSame(await said(0), { method: 'GET', path: '/livez', query: {}, headers: {} })
  t.equal(server.asked.length, 1)
})
