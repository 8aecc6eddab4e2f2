// SPDX-License-Identifier: Apache-2.0
// One write per change, as the real apiserver's audit log has it.
import type { Cell, Evidence } from '../cell.js'
import type { Lab } from '../lab.js'
import {
  allSeenUp,
  becomes,
  clean,
  cleared,
  condemned,
  fault,
  killNode,
  one,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

const writers = (e: Evidence): readonly string[] => [...new Set(e.allWrites.map(({ by }) => by))]

const twoWrites = one(
  'two-writes',
  'condemned and healed once each: exactly two writes, by exactly one agent',
  (name, l) => [
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    stays('one write', l.quietMs, e => e.allWrites.length === 1),
    reviveNode(name),
    allSeenUp(l),
    cleared(name, l),
    becomes('the audit log has exactly two writes to Nodes, by one agent', l.quietMs, isTwoByOne),
    stays('and no third', l.quietMs, isTwoByOne),
    clean(name, l),
  ],
)
const isTwoByOne = (e: Evidence): boolean => e.allWrites.length === 2 && writers(e).length === 1

/** The elected writer of this node's verdict, as soon as anybody names it. */
const findWriter = async (lab: Lab, victim: string): Promise<string> => {
  const end = performance.now() + FIND_MS
  while (performance.now() < end) {
    for (const status of await lab.observer.askStatuses()) {
      const by = status?.nodes.find(node => node.name === victim)?.nextWrite?.by
      if (by !== undefined && by !== '') return by
    }
    await lab.pause(20)
  }
  throw new Error(`no agent says who writes about ${victim}`)
}
const FIND_MS = 40_000

const writerDies = (
  name: string,
  shows: string,
  strike: (lab: Lab, writer: string) => Promise<unknown>,
): Cell => ({
  ...one(name, shows, (victim, l) => {
    let writer = ''
    return [
      killNode(victim),
      fault('its writer’s agent gets SIGKILL between decision and write', async lab => {
        writer = await findWriter(lab, victim)
        await strike(lab, writer)
      }),
      condemned(victim, { ...l, writtenMs: l.writtenMs + l.seenMs }),
      fault('both agents start again', async lab => {
        lab.node(victim).revive()
        lab.node(writer).startAgent()
      }),
      allSeenUp(l),
      cleared(victim, l),
      stays('the audit log has two or three writes to Nodes', l.quietMs, e =>
        [2, 3].includes(e.allWrites.length),
      ),
      clean(victim, l),
    ]
  }),
  least: 4,
  sound: () => [],
})

const writerKilled = writerDies(
  'writer-killed',
  'the elected writer is killed before it writes: the next one writes, three writes at most',
  (lab, writer) => lab.node(writer).killAgent(),
)

const writerKilledSent = writerDies(
  'writer-killed-sent',
  'the writer is killed when its request is under way and unanswered: three writes at most',
  async (lab, writer) => {
    lab.plane.freezeServer()
    // The hold passes, the request goes out, and nobody answers.
    await lab.pause(lab.settings.profile === 'fast' ? 1_600 : 6_000)
    await lab.node(writer).killAgent()
    lab.plane.thawServer()
  },
)

export const WRITES: readonly Cell[] = [twoWrites, writerKilled, writerKilledSent]
