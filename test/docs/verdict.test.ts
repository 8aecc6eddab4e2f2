// SPDX-License-Identifier: Apache-2.0
// The picture in docs/status.md, held against zones that are played: what /status shows is a box of the picture, and all
// boxes are shown.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const picture = readFileSync(join(import.meta.dirname, '../../docs/verdict.svg'), 'utf8')
const field = (name: string) => `<text[^>]*><tspan class="small">${name} </tspan>([a-z-]+)</text>`
const boxes = [
  ...picture.matchAll(
    new RegExp(`${field('verdict')}\\s*${field('pending')}(?:\\s*${field('guard')})?`, 'g'),
  ),
].map(([, verdict, pending, guard]) => [verdict, pending, guard ?? 'none'].join(' '))

/** Guards that are a step of the way; the others hold agents, or one vote. */
const STEPS = ['component-quorum', 'hold', 'brake']

/** What two agents show of every node, while time passes. */
const watch = async (world: World, ms: number, seen: Set<string>): Promise<void> => {
  for (let left = ms; left > 0; left -= 100) {
    await world.run(100)
    for (const { agent } of world.machines.slice(0, 2)) {
      for (const { verdict, pending, guards } of agent?.views.status().nodes ?? []) {
        const step = guards.find(({ kind }) => STEPS.includes(kind))?.kind ?? 'none'
        seen.add([verdict, pending, step].map(String).join(' '))
      }
    }
  }
}

t.test('what /status shows of a verdict is in the picture, and nothing else is', async t => {
  const seen = new Set<string>()
  await scenario(t, { what: 'N=7', size: 7, seed: 1 }, async world => {
    world.bootAll()
    await watch(world, 40_000, seen)
    world.crash(6)
    await watch(world, 20_000, seen)
    world.repair(6)
    await watch(world, 15_000, seen)
    // Three of seven are more than the brake lets pass; when two are back it lets go of the third.
    for (const index of [4, 5, 6]) world.crash(index)
    await watch(world, 20_000, seen)
    for (const index of [4, 5]) world.repair(index)
    await watch(world, 25_000, seen)
    t.strictSame(world.condemned(), ['n6'])
  })
  // From undecided both waits lead to either verdict; the picture says so in words.
  const shown = [...seen].filter(state => !/^undecided (healthy|unhealthy) /.test(state)).sort()
  t.strictSame(shown, [...boxes].sort())
  t.ok(picture.includes('the same two waits, pending'))
})
