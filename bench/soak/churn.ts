// SPDX-License-Identifier: Apache-2.0
import type { WorldProcess } from '../agent/world-process.js'

/** One thing that happens in each cycle. */
interface Act {
  /** In sixtieths of the cycle. */
  readonly at: number
  readonly what: string
  readonly play: (world: WorldProcess, one: number, other: number) => Promise<unknown>
}

/** All that happens to a zone in a year, in a minute; a zone that sees ten times as fast needs less. */
export const cycleMs = (profile: string): number => (profile === 'fast' ? 20_000 : 60_000)

const ACTS: readonly Act[] = [
  { at: 2, what: 'a peer dies', play: (world, one) => world.call('kill', one) },
  { at: 20, what: 'it returns', play: (world, one) => world.call('revive', one) },
  { at: 26, what: 'a node leaves the zone', play: (world, _, other) => world.call('leave', other) },
  { at: 34, what: 'it comes back', play: (world, _, other) => world.call('comeBack', other) },
  { at: 40, what: 'the zone config is written anew', play: world => world.call('reload') },
  { at: 44, what: 'every watch breaks', play: world => world.call('breakWatches') },
]

/** Play the n-th cycle; resolves when it is over. Each has another victim. */
export const playCycle = async (
  world: WorldProcess,
  { nodes, ms }: { readonly nodes: number; readonly ms: number },
  cycle: number,
  wait: (ms: number) => Promise<void>,
): Promise<void> => {
  const one = 1 + (cycle % (nodes - 1))
  const other = 1 + ((cycle + 1) % (nodes - 1))
  let at = 0
  for (const act of ACTS) {
    await wait(((act.at - at) * ms) / 60)
    at = act.at
    await act.play(world, one, other)
  }
  await wait(((60 - at) * ms) / 60)
}
