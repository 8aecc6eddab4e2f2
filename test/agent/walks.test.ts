// SPDX-License-Identifier: Apache-2.0
// The way of a probe's result, a peer's message and a watch event through an agent: which rooms, in which order.
import t, { type Test } from 'tap'
import { Section, Signal } from '../../agent/store.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World, WorldOptions } from '../../testkit/zone/world.js'

/** Something that the store emitted: what, about which node if that shows, and the rooms whose code was at work. */
interface Station {
  readonly what: string
  readonly node: string | undefined
  /** From the outside in, neighbours of one room taken together. */
  readonly rooms: string
}

const ROOM = /\/agent\/(?:stages\/([a-z-]+)\/|(store|turn-loop)\.[jt]s)/

const roomsOf = (stack: string): string => {
  const rooms = stack.split('\n').flatMap(line => {
    const [, stage, file] = ROOM.exec(line) ?? []
    return stage ?? file ?? []
  })
  // What emits stands in the store's place.
  const way = [...rooms.reverse(), 'store']
  return way.filter((room, i) => room !== way[i - 1]).join(' ')
}

/** What is emitted, by its shape: the walks need no more than this. */
const KINDS: readonly (readonly [what: string, field: string])[] = [
  ['round', 'failedRounds'],
  ['roster', 'listedAt'],
  ['records', 'signerAt'],
  ['vote', 'changes'],
  ['write', 'result'],
]

const stationOf = (news: unknown, stack: string): Station | undefined => {
  if (news === 'changed') return { what: 'evidence', node: undefined, rooms: roomsOf(stack) }
  if (typeof news !== 'object' || news === null) return undefined
  const what = KINDS.find(([, field]) => field in news)?.[0]
  const { target, node } = news as { readonly target?: string; readonly node?: string }
  return what === undefined ? undefined : { what, node: target ?? node, rooms: roomsOf(stack) }
}

/** Notes what the agents' stores emit, each on its own. */
const followAgents = (t: Test): { boot(world: World): void; readonly seen: Station[][] } => {
  const seen: Station[][] = []
  const owners = new Map<Signal<unknown>, Station[]>()
  let booting: Station[] = []
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with their signal below
  const { subscribe, emit } = Signal.prototype
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 100
  t.intercept(Signal.prototype, 'subscribe', {
    value: function (this: Signal<unknown>, reader: (news: unknown) => void) {
      if (!owners.has(this)) owners.set(this, booting)
      return subscribe.call(this, reader)
    },
  })
  t.intercept(Signal.prototype, 'emit', {
    value: function (this: Signal<unknown>, news: unknown) {
      const station = stationOf(news, new Error('emitted').stack ?? '')
      if (station !== undefined) owners.get(this)?.push(station)
      emit.call(this, news)
    },
  })
  t.teardown(() => {
    Error.stackTraceLimit = limit
  })
  const boot = (world: World): void => {
    for (const index of world.indices) {
      booting = []
      seen[index] = booting
      world.boot(index)
    }
  }
  return { boot, seen }
}

/** The first of each kind, in this order, each after the one before; a vote is one that comes in a turn. */
const walkOf = (stations: readonly Station[], node: string, kinds: readonly string[]): string[] => {
  const walk: string[] = []
  let from = 0
  for (const kind of kinds) {
    const isIt = ({ what, node: about }: Station): boolean =>
      what === kind && (about === undefined || about === node)
    const at = stations.findIndex((station, place) => place >= from && isIt(station))
    if (at < 0) return [...walk, `no ${kind}`]
    walk.push(`${kind}: ${stations[at]!.rooms}`)
    from = at + 1
  }
  return walk
}

const SIZE = 3
const VICTIM = 2
const walks: [
  datum: string,
  zone: WorldOptions,
  before: (world: World) => Promise<void>,
  what: (world: World) => void,
  want: string[],
][] = [
  [
    "a probe's result",
    { seed: 1 },
    () => Promise.resolve(),
    world => world.crash(VICTIM),
    [
      'round: check store',
      'evidence: check store exchange store',
      'vote: turn-loop vote store',
      'write: write store',
    ],
  ],
  [
    "a peer's message",
    { seed: 2 },
    () => Promise.resolve(),
    world => world.cutCloud(VICTIM),
    ['evidence: exchange store', 'vote: turn-loop vote store', 'write: write store'],
  ],
  [
    'a watch event',
    { seed: 3, zone: 'a' },
    async world => {
      world.crash(VICTIM)
      await world.until(() => world.condemned().length > 0, 60_000)
      await world.run(10_000)
    },
    world => world.leave(VICTIM),
    [
      'roster: node-list store',
      'records: node-list store exchange store',
      'vote: turn-loop vote store',
      'write: write store',
    ],
  ],
]

/** Nobody but the turn loop votes or begins a review, and whoever goes from one stage to another goes through the store. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  'node-list': ['store'],
  check: ['store'],
  exchange: ['store'],
  vote: ['store', 'turn-loop'],
  write: ['store', 'turn-loop'],
  'turn-loop': ['vote', 'write'],
  store: ['node-list', 'check', 'exchange', 'vote', 'write', 'turn-loop'],
}
const isOrdered = ({ what, rooms }: Station): boolean => {
  const way = rooms.split(' ')
  const isOneWay = way.every((room, i) => i === 0 || NEXT[way[i - 1]!]!.includes(room))
  const isInTurn = what !== 'vote' || /^((vote|write) )?turn-loop vote store$/.test(rooms)
  return isOneWay && isInTurn
}

for (const [datum, zone, before, act, want] of walks) {
  t.test(`${datum} goes one way`, async t => {
    t.ok(Section.prototype instanceof Signal)
    const agents = followAgents(t)
    await scenario(t, { what: datum, size: SIZE, ...zone }, async world => {
      agents.boot(world)
      await world.run(60_000)
      await before(world)
      for (const stations of agents.seen) stations.splice(0)
      act(world)
      await world.run(90_000)
      const name = world.machine(VICTIM).name
      const kinds = want.map(station => station.split(':')[0]!)
      const taken = agents.seen
        .filter((_, index) => index !== VICTIM)
        .map(stations => walkOf(stations, name, kinds))
      t.ok(
        taken.some(walk => walk.join() === want.join()),
        taken.map(walk => walk.join('; ')).join('\n'),
      )
      const all = agents.seen.flat()
      t.ok(all.length > 20)
      t.strictSame([...new Set(all.filter(each => !isOrdered(each)).map(each => each.rooms))], [])
    })
  })
}
