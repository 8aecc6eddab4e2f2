// SPDX-License-Identifier: Apache-2.0
// Agents of two versions in one zone.
import { isDeepStrictEqual } from 'node:util'
import { IDENTITY_ANNOTATION } from '../../../agent/identity/annotation.js'
import type { Asked } from '../audit.js'
import type { Cell, Limits, Step } from '../cell.js'
import { allSeenUp, dieAndReturn, fault, killNode, one, reviveNode, stays } from './steps.js'

const replace = (names: readonly string[], isOther: boolean): Step =>
  fault(
    `the other version's agent ${isOther ? 'takes the place of the present one' : 'is replaced by the present one'} on ${names.join(', ')}`,
    async lab => {
      for (const name of names) {
        const node = lab.node(name)
        await node.stopAgent()
        node.isOther = isOther
        node.startAgent()
      }
    },
  )

/** Where the other version knows no identities, the present one writes its own when it first runs. */
const publishesKeys = ({ by, name, body }: Asked): boolean => {
  const { metadata } = body as { metadata?: { annotations?: Readonly<Record<string, unknown>> } }
  const keys = metadata?.annotations?.[IDENTITY_ANNOTATION]
  const wanted = { metadata: { annotations: { [IDENTITY_ANNOTATION]: keys } } }
  return by === name && typeof keys === 'string' && isDeepStrictEqual(body, wanted)
}

const nobodyMarks = stays(
  'no agent writes to any Node, but its own public keys to its own',
  1_000,
  e => e.writes.every(publishesKeys),
)

const oneByOne = (names: readonly string[], isOther: boolean, l: Limits): readonly Step[] =>
  names.flatMap(name => [replace([name], isOther), allSeenUp(l), nobodyMarks])

export const VERSIONS: readonly Cell[] = [
  {
    ...one(
      'upgrade',
      'all agents are upgraded one after the other, and taken back: no verdict changes but of a node that dies halfway each time, and it is marked once',
      (victim, l, roles) => {
        const [early, late] = [
          roles.slice(0, roles.length >> 1),
          roles.slice(roles.length >> 1),
        ] as const
        const dies = dieAndReturn(victim, l, [killNode(victim), reviveNode(victim)])
        return [
          replace(roles, true),
          allSeenUp(l),
          ...[...oneByOne(early, false, l), ...dies, ...oneByOne(late, false, l)],
          ...[...oneByOne(early, true, l), ...dies, ...oneByOne(late, true, l)],
        ]
      },
    ),
    least: 3,
    needsOther: true,
  },
]
