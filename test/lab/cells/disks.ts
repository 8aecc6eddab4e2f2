// SPDX-License-Identifier: Apache-2.0
// A node is not who its disk says it is: an earlier image of it, a copy of another's, or another Node of the same name.
import type { Cell, Evidence, Limits, Roles, Step } from '../cell.js'
import type { Lab } from '../lab.js'
import {
  allSeenUp,
  clean,
  condemned,
  fault,
  killNode,
  minority,
  nobodyDown,
  reviveNode,
  seenDown,
  stays,
} from './steps.js'

/** Longer than a record counts, and than a node must have been silent for other keys of its to count. */
const longEnough = ({ quietMs }: Limits): number => 12 * quietMs

const heardByAll =
  (name: string) =>
  ({ view }: Evidence): boolean =>
    view.nodes.every(
      by =>
        by.name === name || by.status?.nodes.find(node => node.name === name)?.['isHeard'] === true,
    )

/** So many others die that without its vote there is no majority. */
const itsVoteDecides = (roles: Roles, l: Limits): readonly Step[] => {
  const dead = minority(roles)
  return [
    ...dead.map(killNode),
    ...dead.flatMap(name => [seenDown(name, l), condemned(name, l)]),
    ...dead.map(reviveNode),
    allSeenUp(l),
    ...dead.map(name => clean(name, l)),
  ]
}

/** @param changes what is done to the disk of the first of the roles, or to its Node */
const disk = (
  name: string,
  shows: string,
  changes: (victim: string, l: Limits, roles: Roles) => readonly Step[],
): Cell => ({
  ...{ name, shows, least: 3, mayMark: minority },
  sound: roles => roles.filter(role => !minority(roles).includes(role)),
  steps: (roles, l) => {
    const [victim = ''] = roles
    return [
      ...changes(victim, l, roles),
      allSeenUp(l),
      stays('nobody is called down', longEnough(l), nobodyDown),
      stays(
        'all others hear it, for longer than a record counts',
        longEnough(l),
        heardByAll(victim),
      ),
      ...itsVoteDecides(roles, l),
    ]
  },
})

const restart = (name: string, what: string, meanwhile: (lab: Lab) => Promise<unknown>): Step =>
  fault(`the agent of ${name} is stopped, ${what}, and started`, async lab => {
    await lab.node(name).stopAgent()
    await meanwhile(lab)
    lab.node(name).startAgent()
  })

const restored = (): Cell => {
  let image = ''
  return disk(
    'disk-restored',
    'a node is put back to an earlier image of its disk: its voice counts at once, no verdict changes',
    (victim, l) => [
      fault(`the disk of ${victim} is copied`, async lab => {
        image = await lab.node(victim).readState()
      }),
      restart(victim, 'nothing is done', () => Promise.resolve()),
      allSeenUp(l),
      restart(victim, 'its disk is as it was', lab => lab.node(victim).putState(image)),
    ],
  )
}

const cloned = disk(
  'disk-cloned',
  'the disk of a node is replaced by a copy of another’s: it gets keys of its own, nobody is taken for another',
  (victim, _l, roles) => [
    restart(victim, `its disk becomes a copy of that of ${roles[1]}`, async lab => {
      await lab.node(victim).putState(await lab.node(roles[1]!).readState())
    }),
  ],
)

const recreated = disk(
  'node-recreated',
  'a Node is deleted and made again under its name: its keys are published again, its voice counts',
  victim => [
    fault(`the Node ${victim} is deleted, and its kubelet and agent start`, lab =>
      lab.remakeNode(victim),
    ),
  ],
)

export const DISKS: readonly Cell[] = [restored(), cloned, recreated]
