// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError } from '../../../../core/errors.js'
import { settle } from '../../../../testkit/fake-clock.js'
import { openUpstream, said, type Asked } from './upstream-stage.js'

const SHOP = '/api/v1/namespaces/shop'
const query = (name = 'must') => said('query', `shop/configmap/${name}`)
const lease = (node: string) =>
  said('update', `kube-node-lease/lease/${node}`, { spec: { leaseDurationSeconds: 40 } })
const podpatch = (phase: string) =>
  said('patch', 'shop/podpatch/web', `{"metadata":{"uid":"u1"},"status":{"phase":"${phase}"}}`)
const event = () =>
  said('insert', 'shop/event/web.1', {
    involvedObject: { kind: 'Pod', namespace: 'shop', name: 'web' },
    source: { component: 'kubelet', host: 'e1' },
  })

/** Hold back what is asked until it is let go, oldest first. */
const gated = (
  api: { gate: (asked: Asked) => Promise<void> },
  isHeld: (asked: Asked) => boolean,
) => {
  const waiting: (() => void)[] = []
  api.gate = asked =>
    isHeld(asked) ? new Promise(resolve => waiting.push(resolve)) : Promise.resolve()
  const release = async (count = 1): Promise<void> => {
    for (const go of waiting.splice(0, count)) go()
    await settle()
  }
  return { waiting, release }
}

t.test('patches of a pod go one after another, each whole', async t => {
  const { api, connect, say } = openUpstream()
  const { waiting, release } = gated(api, () => true)
  const link = connect()
  const phases = ['Pending', 'Running', 'Failed', 'Succeeded']
  for (const phase of phases) say(link, podpatch(phase))
  for (let done = 0; done < phases.length; done++) {
    await settle()
    t.equal(waiting.length, 1)
    t.equal(api.asked.length, done + 1)
    await release()
    t.equal(link.sent.length, done + 1)
  }
  t.strictSame(
    api.asked.map(({ body }) => /"phase":"(\w+)"/.exec(String(body))?.[1]),
    phases,
  )
})

t.test(
  'nodes that ask for one object at the same time share a read that began after they asked',
  async t => {
    const { api, connect, locations, say } = openUpstream()
    const volumes = [{ name: 'a', configMap: { name: 'must' } }]
    const nodes = Array.from({ length: 50 }, (_, index) => `n${index}`)
    for (const node of nodes)
      locations.setPod(
        {
          metadata: { uid: node, namespace: 'shop', name: node },
          spec: { nodeName: node, volumes },
        },
        node as Parameters<typeof locations.setPod>[1],
      )
    const at = `${SHOP}/configmaps/must`
    const store = (tea: string): unknown =>
      api.objects.set(at, { metadata: { name: 'must', namespace: 'shop' }, data: { tea } })
    store('1')
    const { waiting, release } = gated(api, () => true)
    const [first, ...others] = nodes.map(node => connect(node))
    say(first!, query())
    await settle()
    // What the first read finds may have been there before these asked.
    for (const link of others) say(link, query())
    const stranger = connect('e9')
    say(stranger, query())
    await settle()
    t.equal(api.asked.length, 1)
    t.match(stranger.sent, [{ operation: 'error' }], 'who may not read it waits for nothing')
    await release()
    t.match(first!.sent, [{ content: { data: { tea: '1' } } }])
    store('2')
    t.equal(waiting.length, 1)
    await release()
    t.equal(api.asked.length, 2)
    for (const { sent } of others) t.match(sent, [{ content: { data: { tea: '2' } } }])
    api.gate = () => Promise.reject(new KubeStatusError('GET', { status: 503, reason: 'x', message: 'away' })) // prettier-ignore
    say(first!, query())
    await settle()
    t.match(first!.sent[1], { operation: 'error' })
    api.gate = () => Promise.resolve()
    say(first!, query())
    await settle()
    t.match(first!.sent[2], { content: { data: { tea: '2' } } }, 'a failure is not kept')
  },
)

t.test(
  'a node has four requests under way; its Lease and other nodes wait for none of them',
  async t => {
    const { api, connect, locations, say } = openUpstream()
    const { waiting, release } = gated(api, ({ path }) => path.includes('configmaps'))
    const names = Array.from({ length: 200 }, (_, i) => `c${i}`)
    const volumes = names.map(name => ({ name, configMap: { name } }))
    const pod = { metadata: { uid: 'u9', namespace: 'shop', name: 'many' }, spec: { nodeName: 'e1', volumes } } // prettier-ignore
    locations.setPod(pod, 'e1' as Parameters<typeof locations.setPod>[1])
    const [one, two] = [connect('e1'), connect('e2')]
    for (const name of names) say(one, query(name))
    await settle()
    t.equal(waiting.length, 4)
    say(one, lease('e1'))
    say(two, lease('e2'))
    await settle()
    t.match(one.sent, [{ content: { Object: { kind: 'Lease' } } }])
    t.match(two.sent, [{ content: { Object: { kind: 'Lease' } } }])
    while (waiting.length > 0) await release(4)
    t.equal(one.sent.length, 201)
  },
)

t.test('a flood pauses only the socket of its node, and no request is lost', async t => {
  const { api, connect, say } = openUpstream()
  const { waiting, release } = gated(api, ({ path }) => path.includes('configmaps'))
  const [one, two] = [connect('e1'), connect('e2')]
  let errors = 0
  // As the hub does: a held connection delivers nothing.
  while (!one.isHeld) {
    say(one, query())
    errors++
  }
  t.equal(errors, 257)
  t.strictSame(two.held, [])
  while (waiting.length > 0) await release()
  t.strictSame(one.held, ['hold', 'release'])
  t.equal(one.sent.length, errors)
  const again = connect('e1')
  t.strictSame(again.held, [])
})

t.test('a node that reconnects while too many of its requests are queued is not read', async t => {
  const { api, connect, say, upstream } = openUpstream()
  const { waiting, release } = gated(api, () => true)
  const first = connect('e1')
  while (!first.isHeld) say(first, query())
  upstream.ended(first)
  const second = connect('e1')
  t.strictSame(second.held, ['hold'])
  upstream.ended(first)
  while (waiting.length > 0) await release()
  t.strictSame(second.held, ['hold', 'release'])
  t.equal(first.sent.length, 0)
  t.ok(second.sent.length > 256, 'answers go to the connection that there is')
})

t.test('Events are dropped first, and counted', async t => {
  const { api, connect, counters, say } = openUpstream()
  gated(api, () => true)
  const link = connect()
  for (let i = 0; i < 200; i++) say(link, event())
  for (let i = 0; i < 100; i++) say(link, query())
  await settle()
  t.strictSame(counters.dropped.all, { event: 42 })
})

t.test(
  'what waited too long is answered and not carried out: no edge is held for long',
  async t => {
    const { api, clock, connect, counters, say } = openUpstream({ patienceMs: 30_000 })
    const { waiting, release } = gated(api, () => true)
    const link = connect()
    while (!link.isHeld) say(link, query())
    await clock.advance(31_000)
    t.equal(waiting.length, 1)
    await release()
    t.equal(waiting.length, 0)
    t.strictSame(link.held, ['hold', 'release'])
    t.equal(api.asked.length, 1)
    t.match(link.sent.at(-1), { operation: 'error', content: /it waited for 31 s/ })
    t.match(counters.requests.all, { 'read-object failed': 256 })
  },
)

t.test('a Lease that waited for more than its period is not written', async t => {
  const { api, clock, connect, say } = openUpstream()
  const { release } = gated(api, () => true)
  const link = connect()
  for (let i = 0; i < 2; i++) say(link, lease('e1'))
  await clock.advance(11_000)
  await release()
  t.equal(api.asked.length, 1)
  t.match(link.sent[1], { content: { Err: { ErrStatus: { code: 504, reason: 'Timeout' } } } })
})

t.test('a Lease has the time of its arrival, however long it waited', async t => {
  const { api, clock, connect, say } = openUpstream()
  const { release } = gated(api, () => true)
  const link = connect()
  for (let i = 0; i < 2; i++) say(link, lease('e1'))
  await clock.advance(5_000)
  await release()
  t.match(api.asked[1], { body: { spec: { renewTime: '2026-01-01T00:01:40.000000Z' } } })
})

t.test('without the clock of the apiserver no Lease is written', async t => {
  const { api, ask, connect } = openUpstream()
  api.knowsTime = false
  const reply = await ask(connect(), lease('e1'))
  t.match(reply, { content: { Err: { ErrStatus: { code: 503 } } } })
  t.equal(api.asked.length, 0)
})

t.test('a process that does not lead writes nothing', async t => {
  const { api, ask, connect, state } = openUpstream()
  state.guard = 'this process does not lead'
  const link = connect()
  for (const message of [lease('e1'), podpatch('Running')])
    t.match(await ask(link, message), { content: { Err: { ErrStatus: { code: 503 } } } })
  t.equal(api.asked.length, 0)
})

t.test('everybody who asks for an object gets an answer', async t => {
  const { api, connect, say } = openUpstream()
  api.objects.set(`${SHOP}/configmaps/must`, { metadata: { name: 'must' } })
  const link = connect()
  const asked = Array.from({ length: 50 }, () => query())
  for (const message of asked) say(link, message)
  for (let i = 0; i < 30; i++) await settle()
  t.strictSame(link.sent.map(({ parentId }) => parentId).sort(), asked.map(({ id }) => id).sort())
})

t.test('what is not a request', t => {
  const { api, connect, counters, log, say, upstream } = openUpstream()
  const link = connect()
  say(link, said('query', 'shop/strange/x'))
  say(link, said('response', 'shop/strange/x'))
  say(link, said('upload', 'shop/strange/x'))
  say(link, said('keepalive', 'node'))
  t.match(link.sent, [{ operation: 'error' }])
  t.strictSame(counters.unknown.all, { unknown: 1, ignored: 2 })
  t.ok(log.lines.some(({ message }) => message === 'an edge sent a request that is not served'))
  t.equal(api.asked.length, 0)
  t.equal(upstream.running, 0)
  t.end()
})

t.test('a node that does not read its answers is given no more of them until it does', async t => {
  const { clock, connect, say, upstream } = openUpstream()
  const [link, other] = [connect('e1'), connect('e2')]
  link.isBehind = true
  for (let i = 0; i < 100; i++) say(link, query(`m${i}`))
  say(link, lease('e1'))
  say(other, query())
  await settle()
  t.ok(link.sent.length <= 6, `${link.sent.length} answers: those that ran, and the Lease's`)
  t.ok(link.sent.some(({ resource }) => resource.includes('lease')))
  t.equal(other.sent.length, 1, 'others are answered')
  link.isBehind = false
  upstream.caughtUp(link)
  await clock.advance(0)
  t.equal(link.sent.length, 101)
})

t.test('what is asked on the next connection runs, whatever the last one left unread', async t => {
  const { connect, say, upstream } = openUpstream()
  const link = connect()
  link.isBehind = true
  for (let i = 0; i < 20; i++) say(link, query(`m${i}`))
  await settle()
  upstream.ended(link)
  upstream.ended(link)
  await settle()
  t.equal(upstream.waiting, 0)
  const next = connect()
  say(next, query())
  await settle()
  t.equal(next.sent.length, 1)
})

t.test('what waits too long behind answers that are not read is refused, each once', async t => {
  const { api, clock, connect, counters, say, upstream } = openUpstream()
  const { release } = gated(api, ({ path }) => path.includes('configmaps'))
  const link = connect()
  link.isBehind = true
  const asked = Array.from({ length: 300 }, () => query())
  for (const message of asked) if (!link.isHeld) say(link, message)
  const said = asked.slice(0, 257).map(({ id }) => id)
  await settle()
  await release()
  t.equal(upstream.waiting, 256)
  say(link, event())
  say(link, lease('e1'))
  await clock.advance(30_000)
  t.equal(link.sent.length, 2, 'its first answer, and the Lease')
  t.ok(link.isHeld)
  await clock.advance(6_000)
  t.strictSame([upstream.waiting, link.isHeld], [0, false])
  const answered = link.sent.filter(({ resource }) => !resource.includes('lease'))
  t.strictSame(answered.map(({ parentId }) => parentId).sort(), said.sort())
  for (const { content } of answered.slice(1)) t.match(content, /it waited for 3[0-5] s/)
  t.match(counters.requests.all, { 'read-object failed': 256 })
  t.equal(api.asked.filter(({ path }) => path.includes('configmaps')).length, 1)
  upstream.ended(link)
  t.equal(clock.waiting, 0, 'nothing is left to check')
})
