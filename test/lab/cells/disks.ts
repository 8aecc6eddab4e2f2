// SPDX-License-Identifier: Apache-2.0
// A node is not who its disk says it is: an earlier image of it, a copy of another's, or another Node of the same name.
import type { Cell, Evidence, Limits, Roles, Step } from '../cell.js'
import type { Lab } from '../lab.js'
import {
  allSeenUp,
  becomes,
  clean,
  condemned,
  cutCloud,
  fault,
  killNode,
  mendAll,
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

/** When the agent of a node that lost its keys started again. */
class Restart {
  /** By the machine's clock, which all agents have. */
  #startedAt = Infinity

  /** All files of the node's agent go while it is stopped. */
  step(name: string): Step {
    return fault(
      `the agent of ${name} is stopped, its folder is emptied, and it starts`,
      async lab => {
        await lab.node(name).stopAgent()
        await lab.node(name).emptyState()
        lab.node(name).startAgent()
        this.#startedAt = Date.now()
      },
    )
  }

  /** These have heard what the node said since then. */
  isHeardBy({ view }: Evidence, name: string, by: Roles): boolean {
    return view.nodes.every(each => {
      const age = each.status?.nodes.find(node => node.name === name)?.recordAgeSeconds
      if (!by.includes(each.name) || each.name === name) return true
      const saidAt = Date.parse(String(each.status?.['at'])) - (age ?? Infinity) * 1_000
      return saidAt > this.#startedAt
    })
  }

  /** None of these has. */
  isNewTo(e: Evidence, name: string, by: Roles): boolean {
    return by.every(each => each === name || !this.isHeardBy(e, name, [each]))
  }
}

/** New keys count neither too early nor too late. */
const newKeysCount = (
  again: Restart,
  { victim, by }: { readonly victim: string; readonly by: Roles },
  l: Limits,
): readonly Step[] => {
  const { fromMs, byMs } = l.newKeys
  const early = 'nobody counts what it signs with other keys so early, nobody is called down'
  return [
    ...(fromMs === 0
      ? []
      : [
          // That time begins with the node's last word, which may have come so long before its end.
          stays(early, fromMs - l.recordTtlMs, e => again.isNewTo(e, victim, by) && nobodyDown(e)),
        ]),
    becomes(`${by.length === 1 ? by[0] : 'all who can'} hear it`, byMs + l.seenMs, e =>
      again.isHeardBy(e, victim, by),
    ),
  ]
}

const lost = (): Cell => {
  const again = new Restart()
  return disk(
    'disk-lost',
    'a node loses its disk, and its keys with it: it is heard by its new ones as soon as is promised, and no sooner; no verdict changes',
    (victim, l, roles) => [again.step(victim), ...newKeysCount(again, { victim, by: roles }, l)],
  )
}

/** By which keys each agent knows a node. */
class KeysOf {
  #fingerprints: readonly string[] = []

  read(name: string): Step {
    return fault(`every agent is asked by which keys it knows ${name}`, async lab => {
      const texts = await Promise.all(lab.nodes.map(node => node.cli(['explain', name])))
      this.#fingerprints = texts.map(text => /fingerprint (\S+)/.exec(text)?.[1] ?? text)
    })
  }

  get areOne(): boolean {
    return new Set(this.#fingerprints).size === 1
  }
}

/** Who cannot read new keys, since its cloud link is cut. */
const cutOf = ([, ...others]: Roles): Roles => others.slice(0, others.length > 2 ? 2 : 1)

/** Also while the links are cut: who cannot read its new keys hears it by the key of the zone (docs/adr/0011). */
const heardMeanwhile = (victim: string, roles: Roles, l: Limits): readonly Step[] => {
  const slow = l.recordTtlMs / 2 + l.seenMs
  return [
    stays(
      'nobody is called down, and all hear it, for longer than a record counts',
      longEnough(l),
      e => nobodyDown(e) && heardByAll(victim)(e),
    ),
    ...itsVoteDecides(roles, { ...l, seenMs: l.seenMs + slow, writtenMs: l.writtenMs + slow }),
  ]
}

const identityCut = (): Cell => {
  const again = new Restart()
  const keys = new KeysOf()
  return {
    name: 'identity-cut',
    shows:
      'a node loses its keys while others are cut from the cloud: no verdict changes, and those hear it by its new keys when their links are back',
    identities: ['prefer', 'require'],
    least: 3,
    mayMark: minority,
    sound: roles => roles.filter(role => !minority(roles).includes(role)),
    steps: (roles, l) => {
      const [victim = ''] = roles
      const cut = cutOf(roles)
      const mustWait = l.newKeys.fromMs > 0
      return [
        ...cut.map(cutCloud),
        becomes('they say that their links are cut', l.graceMs + l.writtenMs, ({ view }) =>
          view.nodes.every(
            ({ name, status }) => !cut.includes(name) || status?.cloudLink.state === 'cut',
          ),
        ),
        again.step(victim),
        ...newKeysCount(
          again,
          { victim, by: mustWait ? roles.filter(role => !cut.includes(role)) : roles },
          l,
        ),
        ...(mustWait
          ? [
              stays(
                'nobody is called down, and who is cut does not count its new keys',
                longEnough(l),
                e => nobodyDown(e) && again.isNewTo(e, victim, cut),
              ),
            ]
          : heardMeanwhile(victim, roles, l)),
        mendAll,
        becomes('all hear it', l.graceMs + l.healedMs, e => again.isHeardBy(e, victim, roles)),
        ...cut.map(name => clean(name, l)),
        ...itsVoteDecides(roles, l),
        keys.read(victim),
        becomes('all know it by its new keys', l.quietMs, () => keys.areOne),
      ]
    },
  }
}

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

export const DISKS: readonly Cell[] = [restored(), cloned, recreated, lost(), identityCut()]
