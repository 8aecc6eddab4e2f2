// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  ConnectionLimiter,
  type ConnectionLimits,
  type Connection,
} from '../../net/connection-limiter.js'
import { byAddress, type Sources } from '../../net/sources.js'
import { seededRandom } from '../../testkit/seeded-random.js'

const LIMITS: ConnectionLimits = { total: 20, strangers: 8, perStranger: 4, perMember: 6 }
const MEMBER = '10.0.0.'
const STRANGER = '192.0.2.'
const byName = byAddress(address => address.startsWith(MEMBER))

class World {
  readonly limiter: ConnectionLimiter
  readonly ended: string[] = []
  #port = 0

  constructor(limits: Partial<ConnectionLimits> = {}, sources: Sources = byName) {
    this.limiter = new ConnectionLimiter({ ...LIMITS, ...limits }, sources, seededRandom(3))
  }

  come(address: string, requests = 0): Connection {
    const port = ++this.#port
    const end = (): void => void this.ended.push(`${address}:${port}`)
    const connection: Connection = { address, port, requests, activeAt: port, end }
    this.limiter.admit(connection)
    return connection
  }

  many(count: number, address: (index: number) => string, requests = 0): void {
    for (let i = 0; i < count; i++) this.come(address(i), requests)
  }

  endedOf(prefix: string): number {
    return this.ended.filter(place => place.startsWith(prefix)).length
  }
}

t.test(
  'FA5: one source has its share; its own idle connections go first, the oldest first',
  async t => {
    const world = new World()
    const address = `${STRANGER}1`
    const first = world.come(address)
    const busy = world.come(address, 1)
    world.many(2, () => address)
    first.activeAt = 99
    world.come(address)
    t.strictSame(world.ended, [`${address}:3`], 'not the busy one, nor the one that was used since')
    t.equal(world.limiter.size, 4)
    world.limiter.remove(busy)
    world.limiter.remove(busy)
    t.equal(world.limiter.size, 3, 'left once')
    world.come(address)
    t.equal(world.ended.length, 1, 'there is room again')
    const all = new World()
    all.many(5, () => address, 1)
    t.equal(all.ended.length, 1, 'all are busy: any one')
    t.not(all.ended[0], `${address}:5`, 'but the newcomer')
  },
)

t.test('FA5: strangers, however many addresses they take, never make a member leave', async t => {
  const world = new World()
  world.many(3, index => `${MEMBER}${index + 1}`)
  world.many(200, index => `${STRANGER}${index}`)
  world.many(200, index => `${STRANGER}${index}`, 1)
  t.equal(world.endedOf(MEMBER), 0)
  t.equal(world.limiter.size, 3 + 8)
  world.many(9, index => `${MEMBER}${index + 10}`)
  t.equal(world.limiter.size, 20)
  t.equal(world.endedOf(MEMBER), 0, 'the reserve is theirs')
  world.many(3, index => `${MEMBER}${index + 30}`)
  t.equal(world.endedOf(MEMBER), 0, 'and beyond it strangers go for them')
  t.equal(world.limiter.size, 20)
})

t.test('FA5: the stranger with most connections makes room for one with fewer', async t => {
  const world = new World({ perStranger: 8 })
  world.many(8, () => `${STRANGER}1`, 1)
  for (let i = 2; i <= 4; i++) world.come(`${STRANGER}${i}`)
  t.equal(world.endedOf(`${STRANGER}1:`), 3)
  t.equal(world.endedOf(STRANGER), 3)
})

t.test('FA23: more members than room: idle ones go, then any of whoever has most', async t => {
  const world = new World()
  const busy = Array.from({ length: 5 }, () => world.come(`${MEMBER}1`, 1))
  world.many(15, index => `${MEMBER}${index + 2}`)
  const late = world.come(`${MEMBER}90`)
  t.strictSame(world.ended, [`${MEMBER}2:6`], 'the one that has been idle longest')
  late.requests = 1
  world.many(14, index => `${MEMBER}${index + 100}`, 1)
  t.equal(world.endedOf(`${MEMBER}1:`), 0)
  world.come(`${MEMBER}91`)
  t.equal(world.endedOf(`${MEMBER}1:`), 1, 'nobody is idle')
  t.equal(world.limiter.size, 20)
  for (const connection of busy) world.limiter.remove(connection)
  t.ok(world.limiter.size < 20)
  const full = new World()
  full.many(20, index => `${MEMBER}${index + 1}`, 1)
  full.come(`${STRANGER}1`)
  t.strictSame(full.ended, [`${STRANGER}1:21`], 'a stranger waits until there is room')
})

t.test('FA5: a member has a limit too', async t => {
  const world = new World()
  world.many(9, () => `${MEMBER}1`)
  t.equal(world.limiter.size, 6)
})

t.test('an unidentified source is a stranger, and identified again next time', async t => {
  const known = new Map<number, string>()
  let asked = 0
  const sources: Sources = {
    keyOf: ({ port }) => {
      asked++
      return known.get(port)
    },
    isMember: key => key === 'user 0',
  }
  const world = new World({ perStranger: 4, strangers: 4, perMember: 8, total: 8 }, sources)
  world.many(4, () => '127.0.0.1')
  t.equal(asked, 0, 'as long as nothing is scarce nobody has to be known')
  world.come('127.0.0.1')
  t.equal(world.ended.length, 1)
  for (let port = 1; port <= 10; port++) known.set(port, port === 9 ? 'user 0' : 'user 7')
  world.come('127.0.0.1')
  t.equal(world.ended.length, 2)
  known.delete(7)
  world.come('127.0.0.1')
  t.strictSame(world.ended.length, 3, 'the one that is not known leaves the known their places')
  world.come('127.0.0.1')
  world.come('127.0.0.1')
  t.notOk(world.ended.includes('127.0.0.1:9'))
  t.ok(world.limiter.isMember({ address: '127.0.0.1', port: 9 }))
  t.notOk(world.limiter.isMember({ address: '127.0.0.1', port: 8 }))
  t.notOk(world.limiter.isMember({ address: '127.0.0.1', port: 77 }))
})
