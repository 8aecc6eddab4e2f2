// SPDX-License-Identifier: Apache-2.0
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import {
  InvalidInputError,
  KubeStatusError,
  KubeUnreachableError,
  TimeoutError,
} from '../../../core/errors.js'
import type { DataView, KubeApi } from '../../../agent/ports/kube-api.js'
import { parseConfigMap, parseSecret } from '../../../agent/adapters/data-view.js'
import { parseLease } from '../../../agent/adapters/lease-view.js'
import { parseNodeView } from '../../../agent/adapters/node-view.js'
import { watchError } from '../../../kube/client/status-error.js'
import { build, never, ok, rawNode, startPlain } from '../../../testkit/kube/built-kube.js'
import { certificateFor } from '../../../testkit/certificates.js'
import {
  answer,
  refusal,
  startScripted,
  type ScriptedServer,
  type Step,
} from '../../../testkit/http/scripted-server.js'

t.test('20 calls, one connection', async t => {
  const { server, api } = await startPlain(t, ...Array.from({ length: 20 }, () => ok))
  for (let i = 0; i < 20; i++) t.equal((await api.getNode('n1', never)).name, 'n1')
  t.equal(server.connections, 1)
  server.script(...Array.from({ length: 200 }, () => ok))
  await Promise.all(Array.from({ length: 200 }, () => api.getNode('n1', never)))
  t.ok(server.connections <= 32, `200 calls at once, ${server.connections} connections`)
})

t.test('every call of the port, as the apiserver gets it', async t => {
  const { server, api } = await startPlain(t)
  const lease = answer({
    metadata: { name: 'n1', resourceVersion: '3' },
    spec: {
      holderIdentity: 'n1',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseDurationSeconds: 40,
    },
  })
  const calls: [
    call: () => Promise<unknown>,
    method: string,
    path: string,
    type?: string | undefined,
    step?: Step,
  ][] = [
    [() => api.getNode('n1', never), 'GET', '/api/v1/nodes/n1'],
    [() => api.getNode('../x?y', never), 'GET', '/api/v1/nodes/..%2Fx%3Fy'],
    [
      () =>
        api.patchNode('n1', { type: 'json', operations: [{ op: 'remove', path: '/x' }] }, never),
      'PATCH',
      '/api/v1/nodes/n1',
      'application/json-patch+json',
    ],
    [
      () => api.patchNode('n1', { type: 'merge', body: { metadata: {} } }, never),
      'PATCH',
      '/api/v1/nodes/n1',
      'application/merge-patch+json',
    ],
    [
      () => api.patchNodeStatus('n1', { type: 'strategic-merge', body: { status: {} } }, never),
      'PATCH',
      '/api/v1/nodes/n1/status',
      'application/strategic-merge-patch+json',
    ],
    [
      () => api.tryPatch('node', 'n1', { type: 'merge', body: {} }, never),
      'PATCH',
      '/api/v1/nodes/n1',
      'application/merge-patch+json',
    ],
    [
      () => api.tryPatch('status', 'n1', { type: 'merge', body: {} }, never),
      'PATCH',
      '/api/v1/nodes/n1/status',
      'application/merge-patch+json',
    ],
    [
      () => api.tryPatch('lease', 'n1', { type: 'merge', body: {} }, never),
      'PATCH',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
      'application/merge-patch+json',
      lease,
    ],
    [
      () => api.getLease('n1', never),
      'GET',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
      undefined,
      lease,
    ],
    [
      () => api.patchLease('n1', { type: 'merge', body: { spec: {} } }, never),
      'PATCH',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
      'application/merge-patch+json',
      lease,
    ],
  ]
  for (const [call, method, path, type, step = ok] of calls) {
    server.script(step)
    await call()
    const asked = server.asked.at(-1)!
    t.match(asked, { method, path }, `${method} ${path}`)
    t.equal(asked.headers['content-type'], type)
    t.equal(
      asked.headers['user-agent'],
      'edge-health-agent',
      'SuperEdge’s begins with edge-health/',
    )
    if (method === 'PATCH') t.equal(asked.query.get('fieldManager'), 'edge-health-agent')
  }
  const tried = server.asked.filter(({ query }) => query.get('dryRun') === 'All')
  t.strictSame(
    tried.map(({ path }) => path),
    [
      '/api/v1/nodes/n1',
      '/api/v1/nodes/n1/status',
      '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1',
    ],
    'what is only tried says so',
  )
  t.same(JSON.parse(server.asked[2]!.body), [{ op: 'remove', path: '/x' }])
  t.same(JSON.parse(server.asked[3]!.body), { metadata: {} })
})

t.test('an Event about a Node', async t => {
  const { server, api } = await startPlain(
    t,
    answer({}, { status: 201 }),
    answer({}, { status: 201 }),
  )
  const event = {
    node: 'n1',
    nodeUid: 'u1',
    type: 'Warning',
    reason: 'PeersCondemned',
    action: 'Taint',
    note: 'ä'.repeat(600),
    reportingInstance: 'n2',
  } as const
  await api.createEvent(event, never)
  await api.createEvent(
    { ...event, note: 'short', node: `${'x'.repeat(235)}.${'y'.repeat(17)}` },
    never,
  )
  const [long, short] = server.asked.map(
    asked => JSON.parse(asked.body) as { note: string; metadata: { name: string } },
  )
  t.match(long, {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: /^n1\.[0-9a-f]{16}$/, namespace: 'default' },
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'edge-health-agent',
    regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' },
  })
  t.match(server.asked[0], {
    method: 'POST',
    path: '/apis/events.k8s.io/v1/namespaces/default/events',
  })
  t.ok(Buffer.byteLength(long!.note) <= 1024, 'the API counts bytes')
  t.match(long!.note, /^ä+…$/, 'and characters stay whole')
  t.equal(short!.note, 'short')
  t.match(short!.metadata.name, /^x{235}\.[0-9a-f]{16}$/, 'a name of at most 253 characters')
})

t.test('what may go wrong with a call, and the error that says so', async t => {
  const rows: [why: string, steps: Step[], error: Record<string, unknown>][] = [
    [
      'a Status',
      [refusal(409, 'Conflict')],
      {
        code: 'KUBE_STATUS',
        status: 409,
        reason: 'Conflict',
        message: 'GET /api/v1/nodes/n1: 409 Conflict: scripted 409',
      },
    ],
    [
      'a Status with Retry-After',
      [refusal(429, 'TooManyRequests', { 'retry-after': '3' })],
      { code: 'KUBE_STATUS', status: 429, retryAfterMs: 3_000 },
    ],
    [
      'an error page',
      [answer('<h1>Bad Gateway</h1>', { status: 502 })],
      { code: 'KUBE_STATUS', status: 502, message: /Bad Gateway/ },
    ],
    ['a redirect', [answer('', { status: 302 })], { code: 'KUBE_STATUS', status: 302 }],
    [
      'a page that is no JSON',
      [answer('<html>')],
      { code: 'KUBE_UNREACHABLE', message: /not JSON/ },
    ],
    ['JSON that is no Node', [answer({ a: 1 })], { code: 'KUBE_UNREACHABLE', message: /metadata/ }],
    ['a reset', [{ kind: 'reset' }], { code: 'KUBE_UNREACHABLE', cause: { code: 'ECONNRESET' } }],
    [
      'a reset inside the answer',
      [{ kind: 'stream', lines: ['{'], then: 'reset' }],
      { code: 'KUBE_UNREACHABLE' },
    ],
    [
      'an answer that is cut short',
      [{ kind: 'stream', lines: ['{'], then: 'cut' }],
      { code: 'KUBE_UNREACHABLE' },
    ],
    [
      'a body beyond all bounds',
      [answer(Buffer.alloc(9 * 1024 * 1024, 32))],
      { code: 'KUBE_UNREACHABLE', message: /larger than/ },
    ],
  ]
  for (const [why, steps, error] of rows) {
    const { api, server } = await startPlain(t, ...steps)
    t.match(await api.getNode('n1', never).catch((e: unknown) => e), error, why)
    t.equal(server.asked.length, 1)
    server.script(ok)
    await t.resolves(api.getNode('n1', never), `${why}: the next call is not disturbed`)
  }
  const { api } = await startPlain(t, refusal(500, 'InternalError'))
  await t.rejects(api.ping(never), KubeStatusError, 'a server error is no life sign')
})

t.test('deadlines, and callers who give up', async t => {
  const { api, server, clock } = await startPlain(
    t,
    ok,
    { kind: 'hang' },
    { kind: 'stream', lines: ['{'] },
  )
  await api.getNode('n1', never)
  for (const n of [1, 2]) {
    const call = api.getNode('n1', never)
    const refused = t.rejects(call, { code: 'KUBE_UNREACHABLE', cause: TimeoutError })
    const asked = await server.request(n)
    await clock.advance(15_000)
    await refused
    await asked.gone
  }
  const stop = new AbortController()
  const call = api.getNode('n1', stop.signal)
  const refused = t.rejects(call, { message: 'enough' })
  await server.request(3)
  stop.abort(new Error('enough'))
  await refused
  await t.rejects(api.getNode('n1', stop.signal), { message: 'enough' }, 'aborted before it began')
  t.equal(clock.waiting, 0, 'no timer is left')
})

t.test('a kept connection that is dead is replaced, for calls that may be repeated', async t => {
  const { api, server } = await startPlain(t, ok, { kind: 'reset' }, ok, ok, { kind: 'reset' }, ok)
  await api.getNode('n1', never)
  await api.getNode('n1', never)
  t.equal(server.asked.length, 3, 'a GET was repeated')
  await api.getNode('n1', never)
  const patch = { type: 'json', operations: [] } as const
  await t.rejects(api.patchNode('n1', patch, never), KubeUnreachableError, 'a JSON patch was not')
  t.equal(server.asked.length, 5)
})

t.test('a write over a version is not repeated: the first may have been carried out', async t => {
  const { api, server } = await startPlain(t)
  const patches = [
    { type: 'merge', body: { metadata: { resourceVersion: '1' } } },
    { type: 'strategic-merge', body: { metadata: { resourceVersion: '1' } } },
    { type: 'json', operations: [] },
  ] as const
  for (const patch of patches) {
    server.script(ok, { kind: 'reset' })
    await api.getNode('n1', never)
    await t.rejects(api.patchNode('n1', patch, never), KubeUnreachableError, patch.type)
  }
  t.equal(server.asked.length, 6)
})

t.test('FA22: what a server asks us to wait has a bound, wherever it stands', async t => {
  const status = (retryAfterSeconds: unknown) =>
    answer({ kind: 'Status', reason: 'x', details: { retryAfterSeconds } }, { status: 503 })
  const rows: [why: string, step: Step, retryAfterMs: number | undefined][] = [
    ['in the body', status(7), 7_000],
    ['far too long', status(1e300), 300_000],
    ['in the past', status(-5), 0],
    ['no number', status('7'), undefined],
    ['a header', refusal(503, 'x', { 'retry-after': '9'.repeat(40) }), 300_000],
    ['a date', refusal(503, 'x', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }), 300_000],
    ['nonsense', refusal(503, 'x', { 'retry-after': 'soon' }), undefined],
  ]
  for (const [why, step, retryAfterMs] of rows) {
    const { api } = await startPlain(t, step)
    const error: unknown = await api.getNode('n1', never).catch((e: unknown) => e)
    t.ok(error instanceof KubeStatusError, why)
    t.equal((error as KubeStatusError).retryAfterMs, retryAfterMs, why)
  }
  const error = watchError('nodes', { code: 429, details: { retryAfterSeconds: 1e300 } })
  t.equal(error.retryAfterMs, 300_000, 'an ERROR event of a watch')
})

t.test('close ends calls and watches, and later calls fail', async t => {
  const { api, server } = await startPlain(t)
  const refused = t.rejects(api.getNode('n1', never), {
    code: 'KUBE_UNREACHABLE',
    message: /closed/,
  })
  api.watchNode('n1', { replace: () => t.fail(), upsert: () => t.fail(), remove: () => t.fail() })
  await server.request(1)
  t.equal(
    server.asked.find(asked => asked.path.endsWith('nodes'))!.query.get('fieldSelector'),
    'metadata.name=n1',
  )
  await api.close()
  await refused
  await t.rejects(api.ping(never), { code: 'KUBE_UNREACHABLE' })
  await api.close()
})

const first = <T>(
  watch: (sink: { replace(items: readonly T[]): void; upsert(): void; remove(): void }) => unknown,
): Promise<readonly T[]> =>
  new Promise(resolve =>
    watch({ replace: resolve, upsert: () => undefined, remove: () => undefined }),
  )

t.test('ConfigMap and Secret by name; large answers come compressed', async t => {
  const items = (data: object) => ({
    metadata: { resourceVersion: '1' },
    items: [{ metadata: { name: 'x', resourceVersion: '1' }, data }],
  })
  const zipped = gzipSync(JSON.stringify(items({ key: 'value' })))
  const { api, server } = await startPlain(
    t,
    answer(zipped, { headers: { 'content-encoding': 'gzip' } }),
  )
  const [map] = await first<DataView>(sink => api.watchConfigMap('ns', 'x', sink))
  t.same(map, { name: 'x', resourceVersion: '1', data: { key: 'value' } })
  const [asked] = server.asked
  t.match(asked, {
    path: '/api/v1/namespaces/ns/configmaps',
    headers: { 'accept-encoding': 'gzip' },
  })
  t.equal(asked!.query.get('fieldSelector'), 'metadata.name=x')
  await server.request(1)
  server.script(answer(items({ key: Buffer.from('schlüssel').toString('base64') })))
  const [secret] = await first<DataView>(sink => api.watchSecret('ns', 'x', sink))
  t.same(secret!.data, { key: 'schlüssel' })
  t.ok(Object.isFrozen(secret!.data))
  t.equal(server.asked[2]!.path, '/api/v1/namespaces/ns/secrets')
})

t.test('views keep what is used, and name what is wrong', async t => {
  const view = parseNodeView({
    metadata: {
      ...rawNode.metadata,
      labels: { zone: 'a' },
      annotations: { nodeunhealth: 'yes', 'edge-health/x': '1', 'other/y': '2' },
      managedFields: [{}],
    },
    spec: {
      taints: [
        { key: 'k', effect: 'NoExecute', timeAdded: 't' },
        { key: 'l', value: 'v', effect: 'NoSchedule' },
      ],
    },
    status: {
      addresses: [
        { type: 'Hostname', address: 'n1' },
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'InternalIP', address: 'not-an-ip' },
        { type: 'InternalIP', address: 'fd00::1' },
      ],
      conditions: [
        { type: 'DiskPressure', status: 'False' },
        {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'm',
          lastTransitionTime: 't',
        },
        { type: 'PeerHealth', status: 'odd' },
      ],
      images: [{ names: ['x'] }],
    },
  })
  t.strictSame(view, {
    name: 'n1',
    uid: 'u1',
    resourceVersion: '7',
    labels: { zone: 'a' },
    annotations: { nodeunhealth: 'yes', 'edge-health/x': '1' },
    taints: [
      { key: 'k', effect: 'NoExecute', timeAdded: 't' },
      { key: 'l', effect: 'NoSchedule', value: 'v' },
    ],
    internalIPs: ['10.0.0.1', 'fd00::1'],
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'KubeletReady',
        message: 'm',
        lastTransitionTime: 't',
      },
      { type: 'PeerHealth', status: 'Unknown' },
    ],
  })
  const frozen = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(frozen))
  t.ok(frozen(view), 'frozen to the ground')
  t.match(parseNodeView(rawNode), { labels: {}, taints: [], internalIPs: [], conditions: [] })
  t.match(parseLease({ metadata: { name: 'l', resourceVersion: '1' } }), {
    holderIdentity: undefined,
  })
  t.match(parseConfigMap({ metadata: { name: 'c', resourceVersion: '1' } }), { data: {} })
  const bad: [why: RegExp, parse: () => unknown][] = [
    [/effect/, () => parseNodeView({ ...rawNode, spec: { taints: [{ key: 'k', effect: 'No' }] } })],
    [/node name/, () => parseNodeView({ metadata: { ...rawNode.metadata, name: 'N_1' } })],
    [
      /data\.key.*base64/,
      () =>
        parseSecret({ metadata: { name: 's', resourceVersion: '1' }, data: { key: 'geheim!' } }),
    ],
  ]
  for (const [why, parse] of bad) {
    t.throws(parse, InvalidInputError)
    t.throws(parse, { message: why })
  }
  t.notMatch(
    await Promise.resolve().then(bad[2]![1]).catch(String),
    /geheim/,
    'secrets are not quoted',
  )
})

const patch = { type: 'merge', body: { spec: {} } } as const

/** Writes with a guard: refused without a connection, then sent, then repeated on a connection that proved dead. */
const guarded = async (t: Test, server: ScriptedServer, api: KubeApi): Promise<void> => {
  const asked: string[] = []
  const guard = (reason?: string) => (): string | undefined => {
    asked.push(`after ${server.asked.length} requests`)
    return reason
  }
  await t.rejects(api.patchNode('n1', patch, never, guard('it is late')), {
    name: 'WithheldError',
    code: 'WITHHELD',
    message: 'PATCH /api/v1/nodes/n1: not sent, it is late',
  })
  t.equal(asked.length, 1)
  t.equal(server.asked.length, 0, 'nothing of it was sent')
  server.script(ok, { kind: 'reset' }, ok)
  await api.patchNode('n1', patch, never, guard())
  t.equal(server.asked.length, 1)
  asked.length = 0
  const { connections } = server
  await api.patchNode('n1', patch, never, guard())
  t.strictSame(
    asked,
    ['after 1 requests', 'after 2 requests'],
    'on the kept connection, and before the new one is used',
  )
  t.equal(server.asked.length, 3)
  t.equal(server.connections, connections + 1)
}

t.test(
  'FA10: a write is asked about when its connection is open, and before it is repeated',
  async t => {
    const { server, api } = await startPlain(t)
    await guarded(t, server, api)
  },
)

t.test('FA10: the same over TLS', async t => {
  const pair = await certificateFor('127.0.0.1')
  const server = await startScripted(pair)
  const config = {
    clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority': 'ca.crt' } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  }
  const folder = t.testdir({ config: JSON.stringify(config), 'ca.crt': pair.cert })
  const { api } = build({ kubeconfig: join(folder, 'config'), environment: {} })
  t.teardown(async () => {
    await api.close()
    await server.close()
  })
  await guarded(t, server, api)
})

t.test(
  'FA25: what the server says of its clock is a lower bound of it, and only a success counts',
  async t => {
    const date = 'Thu, 01 Jan 2026 00:00:07 GMT'
    const at = Date.parse(date)
    const { server, api, clock } = await startPlain(
      t,
      answer({}, { status: 502, headers: { date: 'Fri, 01 Jan 2100 00:00:00 GMT' } }),
      answer(rawNode, { headers: { date: 'never' } }),
      answer(rawNode, { headers: { date } }),
      answer(rawNode, { headers: { date: 'Thu, 01 Jan 2026 00:00:01 GMT' } }),
    )
    t.equal(api.serverTime(), undefined, 'nothing was said yet')
    await t.rejects(api.getNode('n1', never))
    await api.getNode('n1', never)
    t.equal(
      api.serverTime(),
      undefined,
      'a proxy has a clock of its own, and what is no date is none',
    )
    await api.getNode('n1', never)
    t.equal(api.serverTime(), at)
    await clock.advance(1_500)
    t.equal(api.serverTime(), at + 1_500)
    await api.getNode('n1', never)
    t.equal(
      api.serverTime(),
      at - 6_000,
      'the newest answer counts, also when the clock was set back',
    )
    t.equal(server.asked.length, 4)
  },
)

t.test('FA11: whose write the renewal of a Lease is, by the account of the apiserver', t => {
  const fieldsV1 = { 'f:spec': { 'f:renewTime': {} } }
  const time = '2026-01-01T00:00:07Z'
  const at = Date.parse(time)
  const rows: readonly (readonly [
    what: string,
    managedFields: unknown,
    want: { isByAgent: boolean; at: number } | undefined,
  ])[] = [
    ['no account', undefined, undefined],
    ['an empty one', [{}], undefined],
    ['the kubelet', [{ manager: 'kubelet', time, fieldsV1 }], { isByAgent: false, at }],
    ['an agent', [{ manager: 'edge-health-agent', time, fieldsV1 }], { isByAgent: true, at }],
    ['one of an earlier version', [{ manager: 'edge-health', time, fieldsV1 }], { isByAgent: true, at }], // prettier-ignore
    ['without a time', [{ manager: 'kubelet', fieldsV1 }], undefined],
    [
      'other fields',
      [{ manager: 'kubelet', time, fieldsV1: { 'f:spec': { 'f:x': {} } } }],
      undefined,
    ],
    ['no fields', [{ manager: 'kubelet', time, fieldsV1: { 'f:spec': null } }], undefined],
    [
      'two with the same value',
      [
        { manager: 'kubelet', time: '2026-01-01T00:00:05Z', fieldsV1 },
        { manager: 'edge-health-agent', time, fieldsV1 },
      ],
      { isByAgent: true, at },
    ],
  ]
  for (const [what, managedFields, want] of rows) {
    const metadata = { name: 'n1', resourceVersion: '1', managedFields }
    t.strictSame(parseLease({ metadata }).renewal, want, what)
  }
  t.end()
})
