// SPDX-License-Identifier: Apache-2.0
// A node loses its disk, and its keys with it, while one or two others are cut from the cloud and cannot read the new ones.
import t from 'tap'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

/** Of the fast profile. */
const RECORD_TTL_MS = 10_000
const CHANGE_AFTER_MS = 20_000
/** Asking at an address, reading a Node, and the next exchange. */
const NEXT_MS = 4_000
/** A death, without identities (the lab's `sigkill`). */
const MARKED_MS = 4_000

/** What these agents know of a node is from after `since`. */
const heardSince = (world: World, index: number, by: readonly number[], since: number): boolean =>
  by.every(each => {
    const age = world.machine(each).agent?.views.node(`n${index}`)?.recordAgeSeconds ?? Infinity
    return each === index || world.clock.now() - age * 1_000 > since
  })

/** Ms until all of these die, and all of them are marked; they come back. */
const die = async (world: World, names: readonly number[]): Promise<number> => {
  for (const index of names) world.crash(index)
  const markedMs = await world.until(() => world.condemned().length === names.length, 60_000)
  for (const index of names) world.repair(index)
  await world.until(() => world.condemned().length === 0 && world.allSee(), 60_000)
  return markedMs ?? Infinity
}

const zones = [
  [3, 'prefer'],
  [5, 'require'],
  [10, 'prefer'],
  [5, 'prefer'],
  [3, 'require'],
  [10, 'require'],
] as const

t.test('a node loses its keys while others cannot read the new ones', async t => {
  for (const [size, mode] of share(t, zones, 2, 'zones')) {
    const flags = [`--identity=${mode}`]
    const zone = { what: `${mode} N=${size}`, size, seed: size, profile: 'fast', flags } as const
    await scenario(t, zone, async world => {
      await world.settled(20_000)
      const lost = 0
      const cut = size > 3 ? [1, 2] : [1]
      const rest = world.indices.slice(1 + cut.length)
      const dead = world.indices.slice(Math.floor(size / 2) + 1)
      for (const index of cut) world.cutCloud(index)
      await world.run(20_000)
      world.killAgent(lost)
      world.machine(lost).disk.clear()
      const since = world.clock.now()
      world.boot(lost)
      const isHeardBy = (by: readonly number[]) => (): boolean => heardSince(world, lost, by, since)
      const waitMs = mode === 'require' ? CHANGE_AFTER_MS : RECORD_TTL_MS / 2
      if (mode === 'require') {
        await world.run(CHANGE_AFTER_MS - RECORD_TTL_MS)
        t.notOk(
          rest.some(index => isHeardBy([index])()),
          'no new keys count so early',
        )
      }
      const readers = mode === 'require' ? rest : world.indices
      const heardMs = await world.until(isHeardBy(readers), waitMs + NEXT_MS)
      t.ok(heardMs !== undefined, `it is heard after ${heardMs} ms`)
      await world.run(3 * RECORD_TTL_MS)
      t.ok(world.allSee())
      t.strictSame(world.condemned(), [])
      if (mode === 'require') {
        t.notOk(
          cut.some(index => isHeardBy([index])()),
          'who is cut does not count its new keys',
        )
        const isDecided = size - dead.length > 1 + cut.length
        for (const index of dead) world.crash(index)
        await world.run(RECORD_TTL_MS)
        t.equal(world.condemned().length > 0, isDecided, 'those that hear each other decide')
        for (const index of dead) world.repair(index)
        await world.until(() => world.condemned().length === 0 && world.allSee(), 60_000)
      } else {
        const ms = await die(world, dead)
        t.ok(ms < RECORD_TTL_MS / 2 + MARKED_MS, `with its voice a death is marked after ${ms} ms`)
      }
      for (const index of cut) world.healCloud(index)
      const backMs = await world.until(isHeardBy(world.indices), RECORD_TTL_MS)
      t.ok(backMs !== undefined, `all hear it ${backMs} ms after the links are back`)
      await world.run(20_000)
      const prints = world.machines.map(
        ({ agent }) => agent!.views.node(`n${lost}`)?.keyFingerprint,
      )
      t.equal(new Set(prints).size, 1, 'all know it by its new keys')
      const ms = await die(world, dead)
      t.ok(ms < MARKED_MS, `then a death is marked after ${ms} ms`)
    })
  }
})
