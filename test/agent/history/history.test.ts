// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { History } from '../../../agent/history/history.js'
import type { StateName } from '../../../agent/state-folder.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { World } from '../../../testkit/zone/world.js'

const folderOf = (first?: string) => {
  const written: string[] = []
  return {
    written,
    read: async (_: StateName) => written.at(-1) ?? first,
    write: async (_: StateName, text: string) => void written.push(text),
  }
}

const brake = (to: 'on' | 'off') => ({ kind: 'brake', to }) as const

t.test('a burst is one write, and a zone that flaps writes every two minutes', async t => {
  const clock = new FakeClock()
  const folder = folderOf()
  const history = new History({ clock, folder, log: recordingLog() })
  await history.load()
  for (let i = 0; i < 5; i++) history.add(brake('on'))
  await clock.advance(9_900)
  t.equal(folder.written.length, 0)
  await clock.advance(200)
  t.equal(folder.written.length, 1)
  for (let i = 0; i < 600; i++) {
    history.add(brake('on'))
    await clock.advance(1_000)
  }
  t.equal(folder.written.length, 6, 'the first one, and five in ten minutes')
  await history.save()
  t.equal(clock.waiting, 0, 'no timer is left')
})

t.test('who never read the disk never writes to it', async t => {
  const folder = folderOf('{"version":1,"entries":[]}')
  const clock = new FakeClock()
  const history = new History({ clock, folder, log: recordingLog() })
  history.add(brake('on'))
  await history.save()
  t.equal(folder.written.length + clock.waiting + history.entries.length, 0)
})

t.test('a broken file is logged, and history begins anew', async t => {
  const log = recordingLog()
  const history = new History({ clock: new FakeClock(), folder: folderOf('{'), log })
  await history.load()
  history.add(brake('on'))
  t.match(history.entries, { length: 1 })
  t.match(log.lines, [{ level: 'warn', message: 'history on disk is not used' }])
  await history.save()
})

/** What agent `index` tells, without times. */
const said = (world: World, index: number): string[] =>
  world
    .machine(index)
    .agent!.views.history()
    .entries.map(({ kind, text }) => `${kind}: ${text}`)

t.test(
  'a death, a cut link and a return, as one agent tells them, over its own restarts',
  async t => {
    const world = new World(5, { flags: ['--write-hold=1s'] })
    t.teardown(() => world.stop())
    await world.settled()
    t.strictSame(said(world, 0), ['agent: this agent started (version test)'], 'a start is no turn')
    world.crash(4)
    await world.run(40_000)
    t.strictSame(
      said(world, 0).filter(text => text.startsWith('class')),
      ['class: n4 is dead, was healthy (4 say down, 0 up)'],
    )
    await world.restartAgent(0, 5_000)
    await world.run(40_000)
    world.killAgent(0)
    await world.run(5_000)
    world.boot(0)
    await world.run(60_000)
    const afterwards = said(world, 0)
    t.strictSame(
      afterwards.filter(text => /^(class|agent)/.test(text)),
      [
        'agent: this agent started (version test)',
        'class: n4 is dead, was healthy (4 say down, 0 up)',
        'agent: this agent stopped',
        'agent: this agent started (version test)',
        'agent: this agent started (version test)',
      ],
      'a clean restart and a crash lose nothing, and nothing is recorded twice',
    )
    world.cutCloud(1)
    world.repair(4)
    await world.run(90_000)
    const now = said(world, 0).slice(afterwards.length)
    t.ok(now.some(text => text.startsWith('class: n4 is healthy, was dead')))
    t.ok(now.some(text => text.startsWith('class: n1 is cut, was healthy')))
    t.ok(now.includes('vouch: n1 is vouched for by its peers'))
    t.match(said(world, 1).at(-1) ?? '', /./)
    t.ok(said(world, 1).some(text => text.startsWith('cloud-link: this node does not reach')))
    const writes = world.machines.flatMap((_, index) =>
      said(world, index).filter(text => text.startsWith('write: write about n4 done')),
    )
    t.ok(writes.length > 0, 'whoever wrote says so')
    const ids = world
      .machine(0)
      .agent!.views.history()
      .entries.map(({ id }) => id)
    t.strictSame(
      ids,
      ids.map((_, index) => index + 1),
    )
    t.strictSame(world.machine(0).agent!.views.history(ids.length - 1).entries.length, 1)
  },
)

t.test('a majority that goes is one entry, and undecided nodes of a minority are none', async t => {
  const world = new World(6)
  t.teardown(() => world.stop())
  await world.settled()
  world.partition([0], [1, 2, 3, 4, 5])
  await world.run(60_000)
  const texts = said(world, 0)
  t.ok(texts.includes('voice: this agent hears no majority of the zone and decides nothing'))
  t.notOk(
    texts.some(text => text.includes('undecided')),
    texts.join('\n'),
  )
})

t.test('nodes that join and leave', async t => {
  const world = new World(4)
  t.teardown(() => world.stop())
  await world.settled()
  world.removeNode(3)
  await world.run(10_000)
  t.match(said(world, 0).at(-1), 'members: n3 left the zone')
})
