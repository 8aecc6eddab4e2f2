// SPDX-License-Identifier: Apache-2.0
// What admission policies keep of a node whose cloud link is cut, and what they do not: the rows of docs/admission.md.
import type { Cell, Limits, Step } from '../cell.js'
import {
  allSeenUp,
  becomes,
  clean,
  condemned,
  cutCloud,
  evicted,
  fault,
  killNode,
  measured,
  mendAll,
  one,
  reviveNode,
  seenDown,
  stays,
  vouched,
} from './steps.js'

/** Peers' words are believed by the policy for so long. */
const FRESH_MS = 30_000
/**
 * Peers report a cut node after some 12 s with the fast profile. The webhook can only keep what is not marked by then, and no real
 * control plane is as impatient as the lab's usual 12 s.
 */
const PEERS_FIRST_MS = 20_000
/** What `measured` waits for, at most. */
const LONG_MS = 60_000

const deploy = (components: readonly string[], vouch: 'taint' | 'lease'): Step =>
  fault(`deploy/base with ${components.join(' and ')}, --vouch=${vouch}`, async lab => {
    await lab.deployWith(components)
    await lab.restartAgents(vouch)
  })

const notHeard = (name: string, l: Limits): Step =>
  becomes('the control plane does not hear it', l.graceMs, e => e.state(name).ready === 'Unknown')
const unready = (name: string): Step =>
  measured('its Pod has no ready endpoint', LONG_MS, e => e.state(name).pod !== 'ready')
const tainted = (name: string): Step =>
  measured('unreachable:NoExecute is there', LONG_MS, e => e.state(name).unreachable)

const taintAlone = one(
  'taint-alone',
  'a cut node with --vouch=taint and without keep: its Pods are evicted',
  (name, l) => [
    deploy(['vouch-taint'], 'taint'),
    allSeenUp(l),
    cutCloud(name),
    vouched(name, l),
    tainted(name),
    unready(name),
    evicted(name, l),
    mendAll,
  ],
  () => [],
)

const keptPods = one(
  'keep-pods',
  'a cut node with keep: its Pods stay while its peers vouch, and go when it dies',
  (name, l) => [
    deploy(['vouch-taint', 'keep'], 'taint'),
    allSeenUp(l),
    cutCloud(name),
    vouched(name, l),
    notHeard(name, l),
    unready(name),
    stays(
      'long past the grace time its Pod is there, and no unreachable:NoExecute',
      FRESH_MS + l.graceMs + l.evictMs,
      e => e.state(name).pod !== 'gone' && !e.state(name).unreachable,
    ),
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    tainted(name),
    evicted(name, l),
    mendAll,
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const webhookKept = one(
  'webhook-kept',
  'a cut node with the webhook: its Pod stays ready while its peers vouch with --vouch=taint, and goes when it dies',
  (name, l) => [
    deploy(['vouch-taint', 'webhook', 'webhook-pods'], 'taint'),
    allSeenUp(l),
    cutCloud(name),
    vouched(name, l),
    notHeard(name, l),
    stays(
      'long past the grace time its Pod is ready, and no unreachable:NoExecute',
      FRESH_MS + l.graceMs + l.evictMs,
      e => e.state(name).pod === 'ready' && !e.state(name).unreachable,
    ),
    killNode(name),
    seenDown(name, l),
    condemned(name, l),
    tainted(name),
    unready(name),
    evicted(name, l),
    mendAll,
    reviveNode(name),
    allSeenUp(l),
    clean(name, l),
  ],
)

const silentPeers: Cell = {
  ...one(
    'keep-silent',
    'a cut node with keep, whose peers fall silent: their word counts for half a minute',
    (name, l, roles) => [
      deploy(['vouch-taint', 'keep'], 'taint'),
      allSeenUp(l),
      cutCloud(name),
      vouched(name, l),
      notHeard(name, l),
      fault('all agents are killed', lab =>
        Promise.all(roles.map(each => lab.node(each).killAgent())),
      ),
      tainted(name),
      becomes(
        'its Pod is gone',
        FRESH_MS + l.graceMs + l.evictMs,
        e => e.state(name).pod === 'gone',
      ),
    ],
    () => [],
  ),
  sound: () => [],
}

/** Of MutatingAdmissionPolicies version 1, which keep is. */
const since = '1.36'

export const KEEPING: readonly Cell[] = [
  taintAlone,
  { ...webhookKept, leastGraceMs: PEERS_FIRST_MS },
  { ...keptPods, since },
  { ...silentPeers, since },
]
