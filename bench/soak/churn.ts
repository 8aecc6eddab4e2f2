// SPDX-License-Identifier: Apache-2.0
import type { WorldProcess } from '../agent/world-process.js'

/** One thing that happens, so many seconds after its cycle began. */
interface Act {
  readonly at: number
  readonly what: string
  readonly play: (world: WorldProcess, one: number, other: number) => Promise<unknown>
}

/** All that happens to a zone in a year, in a minute. */
export const CYCLE_SECONDS = 60

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
  nodes: number,
  cycle: number,
  wait: (ms: number) => Promise<void>,
): Promise<void> => {
  const one = 1 + (cycle % (nodes - 1))
  const other = 1 + ((cycle + 1) % (nodes - 1))
  let at = 0
  for (const act of ACTS) {
    await wait((act.at - at) * 1_000)
    at = act.at
    await act.play(world, one, other)
  }
  await wait((CYCLE_SECONDS - at) * 1_000)
}
