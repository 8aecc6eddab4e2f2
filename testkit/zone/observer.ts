// SPDX-License-Identifier: Apache-2.0
import { quorumOf } from '../../vote/quorum.js'
import type { Write } from './fake-cluster.js'

/** One node as it really is, which no agent knows. */
export interface Truth {
  readonly name: string
  readonly address: string
  /** A member of the zone by the cluster's own list. */
  readonly isMember: boolean
  /** Power is on, processes run, the kubelet is well. */
  readonly isSound: boolean
  /** Its agent runs and is not frozen. */
  readonly isTalking: boolean
  /** Whom `/localinfo` of its agent calls down; undefined while there is no agent. */
  readonly down: readonly string[] | undefined
  readonly brake: boolean
}

/** What it looks at in a write. */
type Deed = Pick<Write, 'at' | 'by' | 'node' | 'kind' | 'mark' | 'isChange'>

/** What the observer can see. */
export interface ZoneUnderTest {
  now(): number
  nodes(): readonly Truth[]
  canReach(from: string, to: string): boolean
  readonly writes: readonly Deed[]
}

/** A decision that a majority stood behind may still be written after the majority is lost: hold, ranks, retries. */
const MINORITY_GRACE_MS = 20_000
/** What was wrong with a node may be written this long after it was mended: hold and one rank. */
const CONDEMN_GRACE_MS = 8_000
/** A request that was sent before the brake came on may still arrive. */
const UNDER_WAY_MS = 50
/** The own kubelet's trouble is shown a little longer than it lasts. */
const OWN_GRACE_MS = 20_000

/**
 * Watches a zone from above and knows what is true. It keeps what must never happen:
 * no sound node that a majority reaches is condemned; who is without a majority writes nothing; nothing is condemned
 * under the brake; nobody writes about its own node, its Lease neither; nobody calls its own node down without cause; a
 * write always changes something, so that of several who want the same only one writes.
 */
export class Observer {
  readonly broken: string[] = []
  readonly #zone: ZoneUnderTest
  readonly #troubleAt = new Map<string, number>()
  readonly #unsoundAt = new Map<string, number>()
  readonly #majorityAt = new Map<string, number>()
  #braked = new Set<string>()
  #lookedAt = -Infinity
  #seen = 0

  constructor(zone: ZoneUnderTest) {
    this.#zone = zone
  }

  look(): void {
    const now = this.#zone.now()
    const nodes = this.#zone.nodes()
    const members = nodes.filter(node => node.isMember)
    const quorum = quorumOf(members.length)
    // The witness may stand beside either one of two.
    const toWrite = members.length === 2 ? 1 : quorum
    for (const node of nodes) {
      const reached = this.#reachedBy(node, members)
      if (node.isTalking && reached >= toWrite) this.#majorityAt.set(node.name, now)
      if (!node.isSound) this.#unsoundAt.set(node.name, now)
      if (!node.isSound || reached < quorum) this.#troubleAt.set(node.name, now)
      this.#lookAtOwn(node, now)
    }
    for (const write of this.#zone.writes.slice(this.#seen)) this.#review(write, nodes)
    this.#seen = this.#zone.writes.length
    this.#lookedAt = now
    this.#braked = new Set(nodes.filter(node => node.brake).map(node => node.name))
  }

  /** Members whose voice counts and who are in touch with this node both ways, itself among them. */
  #reachedBy(node: Truth, members: readonly Truth[]): number {
    return members.filter(
      other =>
        other.name === node.name ||
        (other.isTalking && this.#zone.canReach(other.address, node.address)),
    ).length
  }

  #lookAtOwn(node: Truth, now: number): void {
    const isExcused = now - (this.#unsoundAt.get(node.name) ?? -Infinity) < OWN_GRACE_MS
    if (node.isTalking && !isExcused && node.down?.includes(node.name) === true)
      this.#say(`${node.name} calls itself down`)
  }

  #review(write: Deed, nodes: readonly Truth[]): void {
    const { by, node, kind, at, mark } = write
    if (by === node) this.#say(`${by} writes ${node}/${kind} at ${at}: about itself`)
    if (kind === 'lease' || !nodes.some(({ name }) => name === by)) return
    const what = `${by} writes ${node}/${kind} at ${at}`
    if (!write.isChange) this.#say(`${what}: nothing changes`)
    if (at - (this.#majorityAt.get(by) ?? -Infinity) > MINORITY_GRACE_MS)
      this.#say(`${what}: without a majority`)
    const [before, after] = mark
    if (before || !after) return
    if (this.#braked.has(by) && at > this.#lookedAt + UNDER_WAY_MS)
      this.#say(`${what}: condemns under the brake`)
    if (at - (this.#troubleAt.get(node) ?? -Infinity) > CONDEMN_GRACE_MS)
      this.#say(`${what}: condemns a sound node`)
  }

  #say(text: string): void {
    if (this.broken.length < 20) this.broken.push(`${this.#zone.now()}: ${text}`)
  }
}
