// SPDX-License-Identifier: Apache-2.0
import { createConnection } from 'node:net'
import t, { type Test } from 'tap'
import { PeerListener } from '../../agent/http/peer-listener.js'
import type { PeerListenerStatus } from '../../agent/results.js'
import type { Listener } from '../../net/listen.js'
import { FakeClock, settle } from '../../testkit/fake-clock.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { World as Zone } from '../../testkit/zone/world.js'

interface World {
  readonly clock: FakeClock
  readonly peers: PeerListener
  readonly opened: Listener[]
  readonly status: PeerListenerStatus
  readonly log: ReturnType<typeof recordingLog>
}

/** Addresses of 127.0.0.0/8 exist; 203.0.113.1 does not; `taken` cannot be had. */
const start = (t: Test, taken = new Set<string>()): World => {
  const clock = new FakeClock()
  const log = recordingLog()
  const opened: Listener[] = []
  const reported: PeerListenerStatus[] = []
  const peers = new PeerListener({
    ...{ clock, log },
    open: async (address, signal) => {
      if (taken.has(address)) throw new Error('the port is taken')
      const handle = (_: unknown, response: { end(text: string): void }): void =>
        response.end(address)
      const listener = await openListener({ address, handle }, { clock, log, signal })
      opened.push(listener)
      return listener
    },
    onStatus: status => void reported.push(status),
  })
  t.teardown(() => peers.stop())
  return {
    ...{ clock, peers, opened, log },
    get status() {
      return reported.at(-1)!
    },
  }
}

const isOpen = ({ address, port }: Listener): Promise<boolean> =>
  new Promise(resolve => {
    const socket = createConnection({ host: address, port }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })

t.test('FA15: the listener for peers goes where the node’s address goes', async t => {
  const world = start(t)
  const { peers, opened } = world
  t.match(world.status, { address: '', trouble: 'the listener for peers is not open yet' })
  await peers.start('127.0.0.1')
  t.strictSame(world.status, { address: '127.0.0.1', trouble: null })
  peers.follow('127.0.0.1')
  peers.follow('')
  t.strictSame(world.status, { address: '127.0.0.1', trouble: null }, 'nothing new')
  peers.follow('127.0.0.2')
  t.match(world.status, {
    address: '127.0.0.1',
    trouble: 'the listener for peers is not open on 127.0.0.2 yet',
  })
  while (world.status.trouble !== null) await settle()
  t.equal(world.status.address, '127.0.0.2')
  while (await isOpen(opened[0]!)) await settle()
  t.ok(await isOpen(opened[1]!))
  t.equal(opened.length, 2)
})

t.test('FA15: an address that does not exist yet is red until it is there or gone', async t => {
  const world = start(t)
  const { peers, opened } = world
  await peers.start('127.0.0.1')
  peers.follow('203.0.113.1')
  while (world.clock.waiting === 0) await settle()
  t.match(world.status, { address: '127.0.0.1', trouble: /not open on 203\.0\.113\.1 yet/ })
  t.ok(await isOpen(opened[0]!), 'the old one stays meanwhile')
  peers.follow('127.0.0.1')
  t.strictSame(world.status, { address: '127.0.0.1', trouble: null }, 'back where it was')
  await settle()
  t.equal(opened.length, 1)
  peers.follow('203.0.113.1')
  while (world.clock.waiting === 0) await settle()
  await peers.stop()
  t.equal(world.clock.waiting, 0)
  t.notOk(await isOpen(opened[0]!))
  peers.follow('127.0.0.3')
  await settle()
  t.equal(opened.length, 1, 'stopped')
})

t.test('FA15: an address that cannot be listened on is reported, and tried again', async t => {
  const taken = new Set(['127.0.0.2'])
  const world = start(t, taken)
  const { peers } = world
  await peers.start('127.0.0.1')
  peers.follow('127.0.0.2')
  while (world.clock.waiting === 0) await settle()
  t.match(world.status, { address: '127.0.0.1', trouble: 'the port is taken' })
  await world.clock.advance(10_000)
  while (world.clock.waiting === 0) await settle()
  const errors = world.log.lines.filter(({ level }) => level === 'error')
  t.equal(errors.length, 1, 'told once')
  taken.clear()
  await world.clock.advance(10_000)
  while (world.status.trouble !== null) await settle()
  t.equal(world.status.address, '127.0.0.2')
})

t.test('an address that cannot be listened on at the start ends it', async t => {
  const world = start(t, new Set(['127.0.0.1']))
  await t.rejects(world.peers.start('127.0.0.1'), { message: 'the port is taken' })
  const other = start(t)
  const starting = other.peers.start('203.0.113.1')
  while (other.clock.waiting === 0) await settle()
  await other.peers.stop()
  await t.resolves(starting, 'but a stop does not')
  const late = start(t)
  const opening = late.peers.start('127.0.0.4')
  await late.peers.stop()
  await opening
  for (const listener of late.opened) t.notOk(await isOpen(listener), 'nobody is left behind')
})

t.test('FA15: readiness and status say why peers cannot reach this agent', async t => {
  const world = new Zone(3)
  world.bootAll()
  await world.run(20_000)
  const agent = world.machine(1).agent!
  t.ok(agent.views.readiness().isReady)
  agent.setPeerListener({ address: '', trouble: 'the port is taken' })
  t.strictSame(agent.views.readiness(), {
    isReady: false,
    reason: 'peers cannot reach this agent: the port is taken',
  })
  t.match(agent.views.zone().peerListener, { address: '', trouble: 'the port is taken' })
  const { address } = world.machine(1)
  t.equal(agent.home.address, address)
  t.ok(agent.inbox.isMember(address))
  const seen: unknown[] = []
  const unsubscribe = agent.home.subscribe(() => seen.push(agent.home.address))
  const addresses = [{ type: 'InternalIP', address: '10.9.9.9' }]
  world.cluster.edit('node', 'n1', { status: { addresses, conditions: [] } })
  await world.run(5_000)
  t.equal(seen.at(-1), '10.9.9.9', 'the address of its Node, as soon as that changes')
  unsubscribe()
  await world.stop()
})
