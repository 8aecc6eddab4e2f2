// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeLink } from '../../../../bridge/hub/node-link.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import { routeUpstream } from '../../../../bridge/model/route/upstream.js'
import { UpstreamCounters } from '../../../../bridge/run/upstream/counters.js'
import { Upstream } from '../../../../bridge/run/upstream/upstream.js'
import { parseNodeName } from '../../../../core/ids.js'
import { silentLog } from '../../../../core/log.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { openUpstream, said } from './upstream-stage.js'

const MIB = 2 ** 20

t.test('however many edges send requests that do not end, what waits is bounded', async t => {
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
  const text = 'x'.repeat(2 * MIB)
  /** One frame of 2 MiB after the other, until it is held. @returns how many */
  const send = (name: string): number => {
    const node = parseNodeName(name)
    const link: NodeLink = {
      ...{ node, remote: '10.0.0.1', since: 0, isBehind: false, isHeld: false },
      hold: () => held.add(name),
      release: () => held.delete(name),
      send: () => true,
    }
    upstream.connected(link)
    const message = said('query', `shop/configmap/${name}`, text)
    const frame = frameOf(message)
    let frames = 0
    for (; frames < 9 && !held.has(name); frames++)
      upstream.received(link, message, routeUpstream(message, node), frame)
    return frames
  }
  const frames = Array.from({ length: 100 }, (_, at) => send(`e${at}`))
  t.ok(frames[0]! > 2, 'one alone may send on while its own queue has room')
  t.equal(frames.at(-1), 1, 'when much waits, each is held after its first')
  const sum = frames.reduce((all, count) => all + count, 0)
  t.ok(running.length * 2 <= 34, `${running.length} run`)
  t.ok((upstream.waiting * 2 * MIB) / MIB < 96 + 2 * frames.length, `${upstream.waiting} wait`)
  t.equal(sum, running.length + upstream.waiting)
  for (let ended = 0; ended < sum; ended++) {
    running[ended]!()
    await settle()
  }
  t.strictSame([upstream.waiting, upstream.running, [...held]], [0, 0, []], 'all is served')
})

t.test('edges that fill the room and do not read their answers delay nobody else', async t => {
  const { api, clock, connect, say, upstream } = openUpstream()
  const edges = Array.from({ length: 13 }, (_, at) => connect(`evil${at}`))
  const large = said('query', 'shop/configmap/big', 'x'.repeat(8 * MIB - 600))
  for (const edge of edges) {
    edge.isBehind = true
    say(edge, said('query', 'shop/configmap/big'))
    for (let frames = 0; frames < 3 && !edge.isHeld; frames++) say(edge, large)
  }
  await settle()
  t.ok(upstream.waiting >= 12, 'the room is full')
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
