// SPDX-License-Identifier: Apache-2.0
import type { Write } from '../../../testkit/zone/fake-cluster.js'
import type { FactBook } from './facts.js'
import type { Deed } from './marks.js'
import type { Note } from './words.js'

const DEAD_LEASE_MS = 10_000
/** A kubelet renews its Lease every ten seconds. */
const PULSE_MS = 15_000
/** The `Date` header that the apiserver's clock is read from has whole seconds. */
const CLOCK_MS = 1_000

/** What the control plane makes of a Lease. */
interface Pulse {
  /** When the latest renewTime so far was written. */
  beatAt: number
  latest: number
  /** The node's own clock led its Lease astray, and others go on from there. */
  isSkewed: boolean
}

/** What is written into Leases, and what the control plane sees in them. */
export class LeaseGuards {
  readonly #facts: FactBook
  readonly #note: Note
  readonly #pulses = new Map<string, Pulse>()

  constructor(facts: FactBook, note: Note) {
    this.#facts = facts
    this.#note = note
    for (const { name } of facts.zone.world.machines)
      this.#pulses.set(name, { beatAt: facts.now, latest: -Infinity, isSkewed: false })
  }

  /** As the node-lifecycle controller: only a later time than all before is a sign of life. */
  beat({ node, renewTime, at, by, wall }: Write): void {
    const pulse = this.#pulses.get(node)
    if (pulse === undefined) return
    const time = Date.parse(renewTime[1])
    const isOwn = by.startsWith('kubelet/')
    const isRight = Math.abs(time - wall) <= CLOCK_MS
    if (isOwn && !isRight) pulse.isSkewed = true
    if (!(time > pulse.latest)) return
    pulse.latest = time
    pulse.beatAt = at
    if (isOwn && isRight) pulse.isSkewed = false
  }

  look(): void {
    for (const [name, pulse] of this.#pulses) this.#reviewPulse(name, pulse)
  }

  /** What its own kubelet's wrong clock does to a node is not ours to mend. */
  #reviewPulse(name: string, { beatAt, isSkewed }: Pulse): void {
    const { now } = this.#facts
    const { linkCutAt, unsoundAt } = this.#facts.of(name)
    if (isSkewed || now - Math.max(linkCutAt, unsoundAt) < PULSE_MS) return
    const silentMs = now - beatAt
    const found = `no later renewTime of ${name} for ${silentMs} ms`
    this.#note('pulse', silentMs > PULSE_MS ? found : undefined)
  }

  /** Of a renewal by a member's agent. */
  review({ write: { renewTime, wall, at }, target, what }: Deed): void {
    const [before, after] = renewTime
    const isBack = Date.parse(after) < Date.parse(before)
    this.#note('lease-back', isBack ? `${what}: from ${before} to ${after}` : undefined)
    const aheadMs = Date.parse(after) - wall
    const ahead = `${what}: ${after} is ${aheadMs} ms ahead`
    this.#note('lease-ahead', aheadMs > CLOCK_MS ? ahead : undefined)
    const deadMs = at - target.aliveAt
    const dead = `${what}: it has been dead for ${deadMs} ms`
    this.#note('lease-of-dead', deadMs > DEAD_LEASE_MS ? dead : undefined)
  }
}
