// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeLink } from '../../../../bridge/hub/node-link.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import type { Message } from '../../../../bridge/model/message/message.js'
import { routeUpstream } from '../../../../bridge/model/route/upstream.js'
import { UpstreamCounters } from '../../../../bridge/run/upstream/counters.js'
import { Upstream } from '../../../../bridge/run/upstream/upstream.js'
import { parseNodeName } from '../../../../core/ids.js'
import { silentLog } from '../../../../core/log.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { openUpstream, said } from './upstream-stage.js'

const MIB = 2 ** 20

/** Edges that send frames of 2 MiB, three each, unless they are held; none of their requests ends before it is let go. */
const flood = (edges: number, text: string) => {
  const running: (() => void)[] = []
  const executor = {
    execute: () =>
      new Promise<{ reply: undefined; outcome: 'ok' }>(resolve =>
        running.push(() => resolve({ reply: undefined, outcome: 'ok' })),
      ),
    lateness: () => undefined,
    serverTime: () => undefined,
  }
  const counters = new UpstreamCounters()
  const upstream = new Upstream({ clock: new FakeClock(), log: silentLog, executor, counters })
  const held = new Set<string>()
  const answers: Message[] = []
  const send = (name: string, message: Message): void => {
    const node = parseNodeName(name)
    const frame = frameOf(message)
    upstream.received(linkOf(name), message, routeUpstream(message, node), frame)
  }
  const links = new Map<string, NodeLink>()
  const linkOf = (name: string): NodeLink => {
    const known = links.get(name)
    if (known !== undefined) return known
    const link: NodeLink = {
      ...{ node: parseNodeName(name), remote: '10.0.0.1', since: 0 },
      ...{ isBehind: false, isHeld: false },
      hold: () => held.add(name),
      release: () => held.delete(name),
      send: message => answers.push(message) > 0,
    }
    links.set(name, link)
    upstream.connected(link)
    return link
  }
  const names = Array.from({ length: edges }, (_, at) => `e${at}`)
  const large: Message[] = []
  for (const name of names)
    for (let frames = 0; frames < 3 && !held.has(name); frames++) {
      large.push(said('query', `shop/configmap/${name}`, text))
      send(name, large.at(-1)!)
    }
  return { answers, held, large, names, running, send, upstream }
}

t.test('however many edges send requests that do not end, what waits is bounded', async t => {
  const { answers, held, large, names, running, send, upstream } = flood(40, 'x'.repeat(2 * MIB))
  t.ok(running.length * 2 <= 34, `${running.length} run`)
  t.ok(upstream.waiting * 2 <= 96, `${upstream.waiting} wait`)
  t.ok(upstream.waiting * 2 > 90, 'the room is used')
  t.equal(large.length, running.length + upstream.waiting + answers.length, 'others are answered')
  t.match(answers[0], { operation: 'error', content: 'error: too many requests wait' })
  const refused = new Set(answers.map(({ parentId }) => parentId))
  t.equal(refused.size, answers.length)
  const before = upstream.waiting
  const free = names.filter(name => !held.has(name))
  t.ok(free.length > 15, 'who was refused is read')
  for (const name of free) {
    send(name, said('update', `kube-node-lease/lease/${name}`, {}))
    send(name, said('query', `shop/configmap/${name}`))
  }
  t.ok(upstream.waiting >= before + free.length, 'small requests are taken')
  t.equal(answers.length, refused.size)
  // Those that begin meanwhile are let go, too.
  for (const end of running) {
    end()
    await settle()
  }
  t.equal(running.length, large.length - refused.size + 2 * free.length)
  t.strictSame([upstream.waiting, upstream.running, [...held]], [0, 0, []], 'all is served')
  send('e0', large[0]!)
  t.equal(upstream.running, 1, 'there is room again')
})

t.test('text takes twice its length when a character of it is not Latin-1', t => {
  const { running, upstream } = flood(30, `\u4e2d${'x'.repeat(2 * MIB)}`)
  t.ok(running.length * 4 <= 36, `${running.length} run`)
  t.ok(upstream.waiting * 4 <= 96, `${upstream.waiting} wait`)
  t.ok(upstream.waiting * 4 > 86)
  t.end()
})

t.test('what can run at once is not refused, however much waits', async t => {
  const { connect, say, upstream } = openUpstream()
  const edges = Array.from({ length: 13 }, (_, at) => connect(`evil${at}`))
  const large = said('query', 'shop/configmap/big', 'x'.repeat(8 * MIB - 600))
  for (const edge of edges) {
    edge.isBehind = true
    say(edge, said('query', 'shop/configmap/big'))
    for (let frames = 0; frames < 3 && !edge.isHeld; frames++) say(edge, large)
  }
  await settle()
  const honest = connect('e1')
  const before = upstream.waiting
  say(honest, { ...large, resource: 'shop/configmap/must' })
  say(honest, { ...large, resource: 'shop/configmap/must' })
  t.match(honest.sent, [{ content: 'error: too many requests wait' }], 'the second waits for the first') // prettier-ignore
  await settle()
  t.match(honest.sent[1], { content: /not found/ })
  t.strictSame([honest.sent.length, upstream.waiting, honest.isHeld], [2, before, false])
})

t.test('edges that fill the room and do not read their answers delay nobody else', async t => {
  const { api, clock, connect, say, upstream } = openUpstream()
  const edges = Array.from({ length: 13 }, (_, at) => connect(`evil${at}`))
  const large = said('query', 'shop/configmap/big', 'x'.repeat(8 * MIB - 1_200))
  for (const edge of edges) {
    edge.isBehind = true
    say(edge, said('query', 'shop/configmap/big'))
    for (let frames = 0; frames < 3 && !edge.isHeld; frames++) say(edge, large)
  }
  await settle()
  t.equal(upstream.waiting, 12)
  // Those that are not large fill the rest of the room.
  const small = said('query', 'shop/configmap/big', 'x'.repeat(8 << 10))
  for (let frames = 0; frames < 9; frames++) say(edges.at(-1)!, small)
  t.equal(upstream.waiting, 21)
  let end = (): void => undefined
  api.gate = () => new Promise(resolve => (end = resolve))
  const honest = connect('e1')
  for (let at = 0; at < 20; at++) say(honest, said('query', 'shop/configmap/must'))
  t.strictSame(honest.held, [], 'who asks for little is read')
  await settle()
  api.gate = () => Promise.resolve()
  end()
  await clock.advance(36_000)
  t.equal(upstream.waiting, 0)
  t.equal(honest.sent.length, 20)
  say(honest, { ...large, resource: 'shop/configmap/must' })
  await settle()
  t.notOk(honest.isHeld)
  t.equal(honest.sent.length, 21)
})
