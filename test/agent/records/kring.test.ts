// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { BodyReader } from '../../../agent/stages/exchange/body-reader.js'
import { BodyWriter } from '../../../agent/stages/exchange/body-writer.js'
import { Heartbeat } from '../../../agent/records/heartbeat.js'
import { kringTopology, topologyFor } from '../../../agent/records/kring.js'
import { meshTopology } from '../../../agent/records/mesh.js'
import { RecordTable } from '../../../agent/records/table.js'
import type { Topology } from '../../../agent/records/topology.js'
import { SPARSE, TYPE, type Header } from '../../../agent/stages/exchange/wire.js'
import { Interest, MAX_INTEREST } from '../../../agent/stages/check/interest.js'
import { BackupObservers } from '../../../agent/stages/check/backup-observers.js'
import { makeJudgement } from '../../../vote/judgement.js'
import { HELD } from '../../../vote/evidence.js'
import { STANDING } from '../../../vote/tally.js'
import { voteOptions } from '../../../testkit/zone/evidence.js'
import { memberAt, membersTo, rosterOf } from '../../../testkit/zone/exchange-zone.js'
import { FakeClock } from '../../../testkit/fake-clock.js'

const K = 10

/** `observer>target`, by name, so that rosters can be compared. */
const watches = (size: number, left?: number): Set<string> => {
  const roster = rosterOf(
    0,
    membersTo(size).filter((_, n) => n !== left),
  )
  const topology = kringTopology(roster, K)
  const found = new Set<string>()
  roster.members.forEach(({ name }, index) => {
    for (const target of topology.targetsOf(index))
      found.add(`${name}>${roster.members[target]!.name}`)
  })
  return found
}

t.test('rings: everybody watches k, and is watched by about k', t => {
  for (const size of [17, 65, 100, 300, 1000]) {
    const topology = kringTopology(rosterOf(0, membersTo(size)), K)
    let near = 0
    const wrong: string[] = []
    const check = (isSo: boolean, what: string): unknown => isSo || wrong.push(what)
    for (let node = 0; node < size; node++) {
      const targets = topology.targetsOf(node)
      check(new Set([...targets, node]).size === K + 1, `${node}: k other targets`)
      const watched = topology.observersOf(node).length
      check(watched >= 7 && watched <= 13, `${node}: ${watched} observers`)
      if (Math.abs(watched - K) <= 1) near++
      for (const target of targets) {
        check(topology.observersOf(target).includes(node), `${node}>${target}: the way back`)
        check(topology.targetAt(node, topology.slotOf(node, target)) === target, 'slot')
      }
      for (const target of topology.backupTargetsOf(node)) {
        check(topology.slotOf(node, target) < 0, `${node}>${target} watches already`)
        check(topology.backupsOf(target).includes(node), `${node}>${target} stands in`)
        check(topology.targetAt(node, topology.backupSlotOf(node, target)) === target, 'slot')
      }
    }
    t.same(wrong, [], `N=${size}`)
    if (size >= 65) t.ok(near >= 0.8 * size, `N=${size}: ${near} have k − 1 to k + 1 observers`)
    const neighbours = topology.gossipNeighbours(0)
    t.ok(neighbours.length > K && neighbours.length <= 2 * K + 3 && !neighbours.includes(0))
  }
  t.end()
})

t.test('rings: one member more or less moves some 2k watches of the others', t => {
  for (const size of [65, 300]) {
    const before = watches(size)
    const moved: number[] = []
    for (let left = 1; left <= 10; left++) {
      const after = watches(size, left)
      const { name } = memberAt(left)
      const isOther = (watch: string): boolean => !watch.split('>').includes(name)
      const changes = [...before].filter(watch => isOther(watch) && !after.has(watch)).length
      moved.push(changes + [...after].filter(watch => !before.has(watch)).length)
    }
    const sum = moved.reduce((a, b) => a + b, 0)
    t.ok(sum / moved.length <= 2.1 * K, `N=${size}: ${moved.join()}`)
    t.ok(Math.max(...moved) <= 2 * K + 6)
  }
  t.end()
})

t.test(
  'rings: equal on all agents, whatever the order of the list, and small zones are meshes',
  t => {
    const members = membersTo(80)
    const a = kringTopology(rosterOf(0, members), K)
    const b = kringTopology(rosterOf(79, [...members].reverse()), K)
    for (let node = 0; node < 80; node++) t.same(a.targetsOf(node), b.targetsOf(node))
    const choose = topologyFor({ meshMax: 64, ringObservers: K })
    t.equal(choose(rosterOf(0, membersTo(64))).kind, 'mesh')
    t.equal(choose(rosterOf(0, membersTo(65))).kind, 'kring')
    const tiny = kringTopology(rosterOf(0, membersTo(4)), K)
    t.equal(tiny.targetsOf(0).length, 3, 'fewer members than rings: everybody watches everybody')
    t.equal(tiny.targetAt(0, K - 1), -1)
    t.end()
  },
)

const clock = new FakeClock(100_000_000)
const tableOf = (size: number, topology: Topology, previous?: RecordTable): RecordTable => {
  const heartbeat = new Heartbeat(clock, undefined, () => undefined)
  const seams = { clock, heartbeat, recordTtlMs: 60_000 }
  return new RecordTable(rosterOf(0, membersTo(size)), topology, seams, previous)
}
const kring = (size: number): Topology => kringTopology(rosterOf(0, membersTo(size)), K)

t.test(
  'a change of topology keeps the votes, and counts no silence as an up too early',
  async t => {
    const rings = tableOf(70, kring(70))
    const [target = 0] = rings.topology.targetsOf(rings.self)
    const { name } = rings.roster.members[target]!
    rings.setOwnVote(target, 'down', 2)
    for (const observer of rings.topology.observersOf(target)) {
      if (observer === rings.self) continue
      const draft = rings.makeDraft()
      Object.assign(draft, { origin: observer, hb: 5, producedAt: clock.now(), anyDown: true })
      const slot = rings.topology.slotOf(observer, target)
      draft.down[slot >> 3]! |= 1 << (slot & 7)
      rings.merge(draft)
    }
    const votes = rings.downVotes[target]!
    t.equal(votes, rings.topology.observersOf(target).length)
    const mesh = tableOf(60, meshTopology(60), rings)
    const there = mesh.roster.indexOf(name)!
    t.ok(mesh.downVotes[there]! >= votes - 10 && mesh.saysDown(mesh.self, there))
    t.equal(mesh.failedRounds[there], 2)
    const stranger = Array.from(mesh.observersOf(there)).find(
      observer => !mesh.saysDown(observer, there) && observer !== mesh.self,
    )!
    t.notOk(mesh.hasLooked(stranger, there), 'it did not watch this node before')
    const later = Object.assign(mesh.makeDraft(), { origin: stranger, hb: 9, anyUnlooked: true })
    later.unlooked[there >> 3]! |= 1 << (there & 7)
    mesh.merge(Object.assign(later, { producedAt: clock.now() + 60_000 }))
    t.notOk(mesh.hasLooked(stranger, there), 'nor does time make it look')
    mesh.merge(Object.assign(later, { hb: 10, anyUnlooked: false }))
    t.ok(mesh.hasLooked(stranger, there), 'its own record says when it has')
    const back = tableOf(70, kring(70), mesh)
    const again = back.roster.indexOf(name)!
    t.ok(back.saysDown(back.self, again), 'and the way back')
    const lost = Array.from(mesh.topology.targetsOf(mesh.self)).filter(index => {
      const now = back.roster.indexOf(mesh.roster.members[index]!.name)!
      return back.topology.slotOf(back.self, now) < 0
    })
    mesh.setOwnVote(lost[0]!, 'up', 0)
    const forgotten = tableOf(70, kring(70), mesh)
    const index = forgotten.roster.indexOf(mesh.roster.members[lost[0]!]!.name)!
    t.equal(forgotten.failedRounds[index], -1, 'whom we no longer probe we know nothing of')
  },
)

t.test('backup observers vote only while they are at work', async t => {
  const from = tableOf(80, kring(80))
  const [target = 0] = from.topology.backupTargetsOf(from.self)
  const slot = from.topology.backupSlotOf(from.self, target)
  t.ok(slot >= K)
  const plain = Array.from(from.observersOf(target))
  t.notOk(plain.includes(from.self))
  t.notOk(from.setOwnVote(target, 'up', 0), 'an up is no flip')
  t.same(Array.from(from.observersOf(target)), [...plain, from.self], 'but now it votes')
  t.ok(from.setOwnVote(target, 'down', 1))
  t.equal(from.downVotes[target], 1)
  from.beat()

  const to = new RecordTable(rosterOf(7, membersTo(80)), kring(80), {
    clock,
    heartbeat: new Heartbeat(clock, undefined, () => undefined),
    recordTtlMs: 60_000,
  })
  const send = (sparse: boolean): void => {
    const order = { sparse, suspects: [], keySetHash: 1, baseHb: from.hb[from.self]! }
    const body = new BodyWriter(from).encode(order, clock.now())
    const header = {
      ...{ type: TYPE.gossip, flags: sparse ? SPARSE : 0, membershipHash: from.hash },
      ...{ senderId: 1n, senderBoot: 1n, senderSeq: 1, baseHb: order.baseHb, destBoot: 0n },
      ...{ count: from.size, heldMs: 0 },
    } satisfies Header
    const reader = new BodyReader(to)
    t.ok(reader.read(header, body, clock.now(), draft => to.merge(draft)))
  }
  send(false)
  t.ok(to.saysDown(from.self, target) && Array.from(to.observersOf(target)).includes(from.self))
  t.equal(to.downVotes[target], 1)
  t.ok(from.setOwnVote(target, 'not-looked', HELD), 'it answers again, but flapped')
  t.equal(from.failedRounds[target], HELD)
  t.same(Array.from(from.observersOf(target)), plain, 'who holds it back does not stand in')
  t.ok(from.setOwnVote(target, 'up', 0), 'up after that is a flip')
  from.forgetOwnVote(target)
  t.equal(from.downVotes[target], 0)
  t.same(Array.from(from.observersOf(target)), plain)
  await clock.advance(1_000)
  from.beat()
  send(false)
  t.notOk(to.saysDown(from.self, target), 'and is gone for all')
  t.same(Array.from(to.observersOf(target)), plain)
  from.setOwnVote(target, 'down', 1)
  await clock.advance(1_000)
  from.beat()
  send(true)
  t.equal(to.downVotes[target], 0, 'between unequal rosters backup observers are left out')
})

t.test('backup observers begin when fewer than three observers count, and not at once', t => {
  const table = tableOf(80, kring(80))
  const judgement = makeJudgement(80)
  const o = voteOptions()
  const [target = 0] = table.topology.backupTargetsOf(table.self)
  table.producedAt.fill(0)
  judgement.standing.fill(STANDING.counts)
  const backups = new BackupObservers()
  const review = (now: number): boolean => backups.review({ table, judgement, now, options: o })
  t.notOk(review(0))
  const observers = table.topology.observersOf(target)
  for (const observer of observers.subarray(2)) judgement.standing[observer] = STANDING.gone
  t.notOk(review(1_000))
  t.notOk(review(16_999))
  t.ok(review(17_000))
  t.ok(backups.active.has(target))
  for (const observer of observers) judgement.standing[observer] = STANDING.counts
  t.notOk(review(18_000))
  t.ok(review(34_000), 'and end when they are back')
  t.equal(backups.active.size, 0)
  t.end()
})

t.test('interest lasts while it is asked again, for 32 nodes', async t => {
  const time = new FakeClock()
  const interest = new Interest(time)
  t.ok(interest.ask(['b', 'a'], true))
  t.notOk(interest.ask(['a'], true))
  t.same(interest.names, ['a', 'b'])
  await time.advance(40_000)
  interest.ask(['a'], true)
  await time.advance(20_000)
  t.ok(interest.expire())
  t.notOk(interest.expire())
  t.same(interest.names, ['a'])
  interest.ask(
    Array.from({ length: 40 }, (_, n) => `n${n}`),
    true,
  )
  t.equal(interest.names.length, MAX_INTEREST)
  t.notOk(interest.names.includes('a'), 'the newest question wins')
})

t.test('what root and the own user ask about does not make way for others', async t => {
  const time = new FakeClock()
  const interest = new Interest(time)
  const names = (letter: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) => `${letter}${10 + n}`)
  interest.ask(names('s', 32), false)
  interest.ask(names('w', 20), true)
  t.same(interest.names, [...names('s', 32).slice(20), ...names('w', 20)], 'others make way')
  interest.ask(names('x', 32), false)
  t.same(interest.names, [...names('w', 20), ...names('x', 32).slice(20)])
  await time.advance(59_000)
  interest.ask(names('w', 20), false)
  await time.advance(1_000)
  t.ok(interest.expire())
  t.same(interest.names, [], 'a stranger prolongs nothing of theirs')
  interest.ask(names('w', 32), true)
  t.notOk(interest.ask(names('s', 32), false))
  t.same(interest.names, names('w', 32))
})
