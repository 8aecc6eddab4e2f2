// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Message } from '../../../../bridge/model/message/message.js'
import { KubeStatusError } from '../../../../core/errors.js'
import type { JsonMap } from '../../../../core/json.js'
import { valueAt } from '../../../../core/json-at.js'
import { settle } from '../../../../testkit/fake-clock.js'
import { AGENT_POD, openUpstream, said, type Asked } from './upstream-stage.js'

const TOKEN = '/api/v1/namespaces/edge-system/serviceaccounts/edge-health-agent/token'
const NODES = '/api/v1/nodes'
const CONFIG = '/api/v1/namespaces/edge-system/configmaps'

const bytes = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** What the MetaServer of the edge passes on. */
const asks = (Verb: string, Key: string, Option: object = {}, more: object = {}): Message => {
  const content = { ID: 'a', Key, Verb, Nodename: 'e9', Option: bytes(Option), ...more }
  return said('null', 'null', content, 'metaserver')
}

const patch = (name: string, value: unknown, more: object = {}, subresource = ''): Message =>
  asks(
    'patch',
    `/core/v1/nodes/null/${name}`,
    {
      ...{ Name: name, PatchType: 'application/merge-patch+json', Data: bytes(value) },
      ...{ Options: {}, Subresources: [subresource], ...more },
    },
    { Subresource: subresource },
  )

const open = (options: Parameters<typeof openUpstream>[0] = {}) => {
  const stage = openUpstream(options)
  stage.locations.setPod(AGENT_POD, 'e1' as Parameters<typeof stage.locations.setPod>[1])
  const node = (name: string): JsonMap => ({
    metadata: { name, uid: 'u', resourceVersion: '7', managedFields: [{}] },
    status: { images: [{}] },
  })
  for (const name of ['e1', 'e2']) stage.api.objects.set(`${NODES}/${name}`, node(name))
  stage.api.objects.set(`${CONFIG}/edge-health-zone-config`, {
    metadata: { name: 'edge-health-zone-config', resourceVersion: '8' },
    data: { a: '1' },
  })
  return stage
}

const bodyOf = (reply: Message | undefined): unknown =>
  JSON.parse(Buffer.from(String(valueAt(reply?.content, 'RespBody')), 'base64').toString())

t.test(
  'a request is carried out with the token of the agent, and answered as the edge reads it',
  async t => {
    const made = { verb: 'create', path: TOKEN }
    const by = 't1'
    const event = {
      metadata: { name: 'e2.1', namespace: 'default' },
      regarding: { kind: 'Node', name: 'e2' },
      ...{ reportingController: 'edge-health-agent', reportingInstance: 'e1' },
    }
    const rows: [title: string, message: Message, asked: Asked, body: object][] = [
    [
      'a Node, cut to what agents read',
      asks('get', '/core/v1/nodes/null/e2'),
      { by, verb: 'get', path: `${NODES}/e2`, body: undefined },
      { kind: 'Node', metadata: { name: 'e2' }, status: { images: undefined } },
    ],
    [
      'the Nodes of a zone, from the memory of the apiserver',
      asks('list', '/core/v1/nodes', { labelSelector: 'zone=a', resourceVersion: '0' }),
      {
        ...{ by, verb: 'list', path: NODES },
        body: { labelSelector: 'zone=a', fromCache: { known: undefined } },
      },
      { kind: 'NodeList', metadata: { resourceVersion: '42' }, items: [{ metadata: { name: 'e1' } }, {}] },
    ],
    [
      'a state that is not older than one',
      asks('list', '/core/v1/nodes', { resourceVersion: '40', limit: 500 }),
      { by, verb: 'list', path: NODES, body: { limit: 500, fromCache: { known: '40' } } },
      { kind: 'NodeList' },
    ],
    [
      'the next page',
      asks('list', '/core/v1/nodes', { resourceVersion: '40', continue: 'c' }),
      { by, verb: 'list', path: NODES, body: { continueAt: 'c', fromCache: undefined } },
      { kind: 'NodeList' },
    ],
    [
      'a ConfigMap by its name',
      asks('list', '/core/v1/configmaps/edge-system/edge-health-zone-config', {
        fieldSelector: 'metadata.name=edge-health-zone-config',
      }),
      {
        ...{ by, verb: 'list', path: CONFIG },
        body: { namespace: 'edge-system', name: 'edge-health-zone-config', fieldSelector: '' },
      },
      { kind: 'ConfigMapList', items: [{ kind: 'ConfigMap', data: { a: '1' } }] },
    ],
    [
      'a mark, byte for byte',
      patch('e2', { metadata: { annotations: { nodeunhealth: 'yes' } } }),
      {
        ...{ by, verb: 'patch', path: `${NODES}/e2` },
        body: '{"metadata":{"annotations":{"nodeunhealth":"yes"}}}',
      },
      { kind: 'Node', metadata: { name: 'e2' } },
    ],
    [
      'a condition',
      patch(
        'e2',
        { status: { conditions: [{ type: 'PeerHealth' }] } },
        { PatchType: 'application/strategic-merge-patch+json' },
        'status',
      ),
      { by, verb: 'patch', path: `${NODES}/e2/status`, body: /PeerHealth/ },
      { kind: 'Node' },
    ],
    [
      'an Event',
      asks('create', '/events.k8s.io/v1/events/default', {}, { ReqBody: bytes(event) }),
      {
        ...{ by, verb: 'create', body: event },
        path: '/apis/events.k8s.io/v1/namespaces/default/events/e2.1',
      },
      event,
    ],
  ] // prettier-ignore
    for (const [title, message, asked, body] of rows) {
    const { api, ask, connect } = open()
    const reply = await ask(connect(), message)
    t.match(api.asked, [{ ...made, body: { spec: { boundObjectRef: { kind: 'Pod', uid: 'a1' } } } }, asked], title)
    t.equal(api.asked.length, 2, title)
    t.match(reply, {
      operation: 'applicationResponse',
      resource: 'ignore/Application/ignore',
      content: { ID: 'a', Status: 'Approved', Error: undefined },
    }, title)
    t.match(bodyOf(reply), body, title)
  } // prettier-ignore
  },
)

t.test('a refused request never reaches the apiserver', async t => {
  const rows: [title: string, message: Message, code: number][] = [
    ['a Secret', asks('list', '/core/v1/secrets/shop'), 403],
    ['a watch of others', asks('watch', '/core/v1/pods'), 403],
    ['a label', patch('e2', { metadata: { labels: { zone: 'b' } } }), 403],
    ['nonsense', asks('get', 'x'), 400],
    ['another verb', asks('delete', '/core/v1/nodes/null/e2'), 400],
  ]
  for (const [title, message, code] of rows) {
    const { api, ask, connect } = open()
    const reply = await ask(connect(), message)
    const Error = { ErrStatus: { status: 'Failure', code } }
    t.match(reply?.content, { ID: 'a', Status: 'Rejected', Error }, title)
    t.notOk(api.asked.some(({ verb }) => verb !== 'create'), title)
  } // prettier-ignore
  const { api, ask, connect } = openUpstream()
  const reply = await ask(connect(), asks('list', '/core/v1/nodes'))
  t.match(reply?.content, { Error: { ErrStatus: { code: 403, message: /no Pod of the Service/ } } })
  t.strictSame(api.asked, [], 'a node without an agent is nobody')
})

t.test('the answer of the apiserver is passed on, whatever it is', async t => {
  const { api, ask, connect } = open()
  api.objects.delete(`${NODES}/e2`)
  const link = connect()
  const reply = await ask(link, asks('get', '/core/v1/nodes/null/e2'))
  t.match(reply?.content, { Error: { ErrStatus: { code: 404, reason: 'NotFound' } } })
  api.objects.set(`${NODES}/e1`, { metadata: { name: 'e1' }, data: 'x'.repeat(5 << 20) })
  const large = await ask(link, asks('list', '/core/v1/nodes'))
  t.match(large?.content, {
    Error: { ErrStatus: { code: 413, reason: 'RequestEntityTooLarge', message: /with a limit/ } },
  })
})

t.test('a token is made once, and again when it is old, refused or of another Pod', async t => {
  const { api, ask, clock, connect, locations, state } = open()
  const link = connect()
  const get = () => ask(link, asks('get', '/core/v1/nodes/null/e2'))
  await get()
  await get()
  t.equal(api.tokens, 1)
  await clock.advance(2_880_000)
  t.match((await get())?.content, { Status: 'Approved' })
  t.equal(api.tokens, 2, 'at four fifths of its life')
  let refusals = 1
  api.gate = ({ by }) => {
    if (by === undefined || refusals-- <= 0) return Promise.resolve()
    const status = { status: 401, reason: 'Unauthorized', message: 'expired' }
    return Promise.reject(new KubeStatusError('GET', status))
  }
  t.match((await get())?.content, { Status: 'Approved' }, 'one that was refused is made anew')
  t.equal(api.tokens, 3)
  refusals = 2
  t.match((await get())?.content, { Error: { ErrStatus: { code: 401 } } }, 'once')
  api.gate = () => Promise.resolve()
  const pod = { ...AGENT_POD, metadata: { ...AGENT_POD.metadata, uid: 'a2' } }
  locations.removePod('a1')
  locations.setPod(pod, 'e1' as Parameters<typeof locations.setPod>[1])
  await get()
  t.match(api.asked.findLast(({ path }) => path === TOKEN)?.body, {
    spec: { boundObjectRef: { uid: 'a2' } },
  })
  await clock.advance(3_000_000)
  state.guard = 'another bridge leads'
  t.match(
    (await get())?.content,
    { Error: { ErrStatus: { code: 503 } } },
    'no token without a term',
  )
  state.guard = undefined
  t.match((await get())?.content, { Status: 'Approved' }, 'and none of that is kept')
})

t.test('a watch is kept where the agent may list the same', async t => {
  const { api, ask, connect, watches } = open()
  const link = connect()
  const watch = (id: string, key = '/core/v1/nodes', labelSelector = '') =>
    asks('watch', key, { labelSelector, resourceVersion: '40' }, { ID: id })
  const reply = await ask(link, watch('w'))
  t.match(reply?.content, { ID: 'w', Status: 'Approved', RespBody: undefined })
  t.match(api.asked.at(-1), { by: 't1', verb: 'list', path: NODES, body: { limit: 1 } })
  t.equal(watches.status.watches, 1)
  t.match((await ask(link, watch('x', undefined, '=')))?.content, { Error: { ErrStatus: { code: 400 } } })
  const fields = asks('watch', '/core/v1/nodes', { fieldSelector: 'spec.x=y' })
  t.match((await ask(link, fields))?.content, { Error: { ErrStatus: { code: 400, message: /by labels/ } } })
  const forbidden = { status: 403, reason: 'Forbidden', message: 'no list' }
  api.gate = ({ verb }) =>
    verb === 'list' ? Promise.reject(new KubeStatusError('GET', forbidden)) : Promise.resolve()
  t.match((await ask(link, watch('y')))?.content, { Error: { ErrStatus: { code: 403 } } })
  t.equal(watches.status.watches, 1)
}) // prettier-ignore

t.test('the watches that an edge names are those that are kept', async t => {
  const { api, ask, connect, watches } = open()
  const link = connect()
  const content = (message: Message): unknown => message.content
  const watch = (id: string, more = '/core/v1/nodes') => content(asks('watch', more, {}, { ID: id }))
  const sync = (all: unknown) => said('null', 'watchapp/sync', all, 'metaserver')
  const first = await ask(link, sync({ a: watch('a'), b: watch('b') }))
  t.strictSame(first?.content, {}, 'none has failed')
  t.equal(watches.status.watches, 2)
  const asked = api.asked.length
  const forbidden = { ...(watch('d', '/core/v1/pods') as object), ID: 'd' }
  const second = await ask(link, sync({ b: watch('b'), c: content(asks('get', '/core/v1/nodes/null/e2')), d: forbidden }))
  t.match(second?.content, {
    b: undefined,
    c: { Status: 'Rejected', Error: { ErrStatus: { code: 400 } } },
    d: { Status: 'Rejected', Error: { ErrStatus: { code: 403 } } },
  })
  t.equal(watches.status.watches, 1)
  t.equal(api.asked.length, asked, 'what is kept is not asked for again')
  api.gate = () => Promise.reject(new KubeStatusError('GET', { status: 500, reason: '', message: '' }))
  t.match((await ask(link, sync({ e: watch('e') })))?.content, { e: { Error: { ErrStatus: { code: 500 } } } })
  const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`w${i}`, 1]))
  t.match(await ask(link, sync(many)), { operation: 'error', content: /at most 64/ })
  const long = await ask(link, sync({ ['x'.repeat(2_049)]: 7 }))
  t.match(long, { operation: 'error', content: /at most 2048 characters/ })
  t.ok(JSON.stringify(long).length < 1_024, 'a long id is not repeated')
  t.strictSame((await ask(link, sync(null)))?.content, {}, 'none at all')
  t.equal(watches.status.watches, 0)
  watches.ended(link)
  api.gate = () => Promise.resolve()
  t.match((await ask(link, asks('watch', '/core/v1/nodes')))?.content, { Error: { ErrStatus: { code: 503 } } })
}) // prettier-ignore

/** Each request waits until it is let go, by its path. */
const holdBack = (api: ReturnType<typeof open>['api']) => {
  const waiting: { readonly path: string; readonly go: () => void }[] = []
  api.gate = ({ path, by }) =>
    by === undefined
      ? Promise.resolve()
      : new Promise(resolve => waiting.push({ path, go: () => resolve() }))
  const go = async (path: string): Promise<void> => {
    const [one] = waiting.splice(waiting.findIndex(each => each.path === path), 1)
    one?.go()
    await settle()
  }
  return { go, paths: () => waiting.map(({ path }) => path) }
} // prettier-ignore

t.test(
  'a read that hangs delays no other object; requests about one object stay in order',
  async t => {
    const { api, connect, counters, say, upstream } = open()
    const link = connect()
    const { go, paths } = holdBack(api)
    const mark = patch('e2', { metadata: { annotations: { nodeunhealth: 'yes' } } })
    say(link, asks('list', '/core/v1/nodes'))
    await settle()
    say(link, mark)
    say(link, asks('get', '/core/v1/nodes/null/e2'))
    say(link, asks('get', '/core/v1/nodes/null/e1'))
    say(link, asks('get', '/core/v1/nodes/null/e3'))
    await settle()
    t.strictSame(paths(), [NODES, `${NODES}/e2`, `${NODES}/e1`], 'three, and one about each object')
    t.match([upstream.running, upstream.waiting], [3, 2])
    say(link, said('query', 'shop/configmap/must'))
    await settle()
    t.equal(counters.requests.all['read-object refused'], 1, 'pods do not wait for agents')
    await go(`${NODES}/e2`)
    t.equal(link.sent.at(-1)?.parentId, mark.id)
    t.strictSame(paths(), [NODES, `${NODES}/e1`, `${NODES}/e2`], 'what was asked first runs first')
    for (const path of [`${NODES}/e2`, `${NODES}/e1`, NODES]) await go(path)
    await go(`${NODES}/e3`)
    t.match([upstream.running, upstream.waiting], [0, 0])
    t.equal(link.sent.length, 6, 'all are answered')
  },
)

t.test('messages about watches are handled in order', async t => {
  const { api, connect, say, watches } = open()
  const link = connect()
  const { go } = holdBack(api)
  const watch = (id: string) => asks('watch', '/core/v1/nodes', {}, { ID: id })
  const sync = (...ids: readonly string[]) =>
    said('null', 'watchapp/sync', Object.fromEntries(ids.map(id => [id, watch(id).content])), 'metaserver')
  for (const message of [sync('a'), sync('a'), watch('b')]) say(link, message)
  await settle()
  for (let i = 0; i < 3; i++) await go(NODES)
  t.equal(watches.status.watches, 2, 'the younger one is not taken for one that has ended')
}) // prettier-ignore

t.test('an answer that outlived its connection goes to the node that asked, and to no other', async t => {
  const { api, connect, say, locations } = open()
  const [first, other] = [connect(), connect('e2')]
  const pod = { ...AGENT_POD, metadata: { ...AGENT_POD.metadata, uid: 'a2' } }
  locations.setPod(pod, 'e2' as Parameters<typeof locations.setPod>[1])
  const { go } = holdBack(api)
  const asked = asks('get', '/core/v1/nodes/null/e2')
  say(first, asked)
  await settle()
  const second = connect()
  await go(`${NODES}/e2`)
  t.strictSame([first.sent.length, other.sent.length], [0, 0])
  t.match(second.sent, [{ parentId: asked.id, content: { Status: 'Approved' } }])
}) // prettier-ignore
