// SPDX-License-Identifier: Apache-2.0
// The page tells a zone of five, default profile, in virtual time. It is played here: all that the page names happens, in
// its order, and not later than the bars say; the page's own times keep the same rules.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/when-a-node-dies.md'), 'utf8')

/** Rows `| 4.5 s | … _seen_ … |`: seconds from the death, or from the return, by name. */
const pageLines = new Map(
  [...page.matchAll(/^\| ([\d.]+) s +\| .*_(\w+)_/gm)].map(([, seconds, name = '']) => [
    name,
    Number(seconds) * 1_000,
  ]),
)
const LATEST = {
  first: 9_000,
  seen: 10_000,
  hold: 11_000,
  written: 16_000,
  up: 3_000,
  cleared: 12_000,
}
type Moment = keyof typeof LATEST

const check = (t: Test, what: string, times: ReadonlyMap<string, number>): void => {
  for (const [name, latest] of Object.entries(LATEST))
    t.ok((times.get(name) ?? Infinity) <= latest, `${what}: ${name} after ${times.get(name)} ms`)
  const order: Moment[][] = [
    ['first', 'seen', 'hold', 'written'],
    ['up', 'cleared'],
  ]
  for (const names of order) {
    const list = names.map(name => times.get(name) ?? Infinity)
    t.strictSame(
      list,
      [...list].sort((a, b) => a - b),
      `${what}: ${names.join(', ')}`,
    )
  }
  const held = (times.get('written') ?? 0) - (times.get('hold') ?? 0)
  t.ok(held >= 4_500 && held <= 7_000, `${what}: it is held for 5 s, ${held} ms`)
}

const DEAD = 4
const statusOf = (world: World, from: number) => world.machine(from).agent?.views.node(`n${DEAD}`)

/** Milliseconds until each moment, from now on. */
const moments = async (
  world: World,
  wanted: Readonly<Record<string, () => boolean>>,
): Promise<Map<string, number>> => {
  const found = new Map<string, number>()
  const startedAt = world.clock.now()
  const isDone = (): boolean => {
    for (const [name, isSo] of Object.entries(wanted))
      if (!found.has(name) && isSo()) found.set(name, world.clock.now() - startedAt)
    return found.size === Object.keys(wanted).length
  }
  await world.until(isDone, 60_000)
  return found
}

t.test('a node dies, and comes back', async t => {
  await scenario(t, { what: 'N=5', size: 5, seed: 1 }, async world => {
    await world.settled()
    const live = world.indices.filter(index => index !== DEAD)
    world.crash(DEAD)
    const died = await moments(world, {
      first: () => live.some(from => statusOf(world, from)?.probe?.vote === 'down'),
      seen: () => world.allSee(DEAD),
      hold: () =>
        live.every(from => statusOf(world, from)?.guards.some(({ kind }) => kind === 'hold')),
      written: () => world.condemned().length > 0,
    })
    await world.run(30_000)
    world.repair(DEAD)
    const back = await moments(world, {
      up: () => world.allSee(),
      cleared: () => world.condemned().length === 0,
    })
    check(t, 'played', new Map([...died, ...back]))
    check(t, 'told', pageLines)
    t.equal(world.writesSince(0).length, 2, 'one write each')
  })
})
