// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from './errors.js'
import { id64, type NodeName, type ZoneName } from './ids.js'

/** One node of the zone: it votes, and it is judged. */
export interface Member {
  readonly name: NodeName
  /** The node's first InternalIP, without brackets: the address of its agent and its kubelet. */
  readonly address: string
}

/** A member and its short name on the wire. */
export interface RosterMember extends Member {
  readonly id: bigint
}

/**
 * The nodes of our zone as last listed: who may vote and who is judged. Immutable; a change is a new roster.
 * A member's index is its rank by `id`, so that agents with equal rosters agree on indices without talking.
 */
export interface Roster {
  readonly zone: ZoneName
  readonly members: readonly RosterMember[]
  /** Index of the own node; it is always a member. */
  readonly self: number
  /** Equal on all agents that have the same member names in the same zone. */
  readonly hash: bigint
  indexOf(name: string): number | undefined
  indexOfId(id: bigint): number | undefined
  /** Undefined when no member has this address, or several have: then it does not identify one. */
  indexOfAddress(address: string): number | undefined
  /** Whether any member has this address. */
  hasAddress(address: string): boolean
  /** The other members with this member's address; mostly none. */
  sharersOf(index: number): readonly NodeName[]
}

/**
 * Build a roster. The own node must be among the members; a name may occur once.
 * @throws InvalidInputError when a rule is broken.
 */
export const makeRoster = (zone: ZoneName, self: NodeName, list: readonly Member[]): Roster => {
  const members = list
    .map(member =>
      Object.freeze({ name: member.name, address: member.address, id: id64(member.name) }),
    )
    .sort((a, b) => (a.id < b.id ? -1 : 1))
  const byName = new Map(members.map((member, index) => [member.name as string, index]))
  const byId = new Map(members.map((member, index) => [member.id, index]))
  const byAddress = new Map<string, number[]>()
  members.forEach(({ address }, index) => {
    byAddress.set(address, [...(byAddress.get(address) ?? []), index])
  })
  const own = byName.get(self)
  if (own === undefined)
    throw new InvalidInputError('roster', `must contain the own node ${self}`, [...byName.keys()])
  if (byId.size !== members.length)
    throw new InvalidInputError('roster', 'must name each node once', [...byName.keys()])
  return Object.freeze({
    zone,
    members: Object.freeze(members),
    self: own,
    hash: id64(`${zone}\n${members.map(member => member.id.toString(16)).join('\n')}`),
    indexOf: (name: string) => byName.get(name),
    indexOfId: (id: bigint) => byId.get(id),
    indexOfAddress: (address: string) => {
      const there = byAddress.get(address)
      return there?.length === 1 ? there[0] : undefined
    },
    hasAddress: (address: string) => byAddress.has(address),
    sharersOf: (index: number) =>
      byAddress
        .get(members[index]!.address)!
        .filter(other => other !== index)
        .map(other => members[other]!.name),
  })
}

/**
 * Whether zone, names and addresses are the same, so that no new roster is needed. Most changes of Nodes that a watch reports
 * do not matter here, and hashing a thousand names for each was the largest cost of a large zone.
 * @param list no name occurs twice
 */
export const isRosterOf = (
  roster: Roster,
  zone: ZoneName,
  self: NodeName,
  list: readonly Member[],
): boolean =>
  roster.zone === zone &&
  roster.members[roster.self]!.name === self &&
  roster.members.length === list.length &&
  list.every(({ name, address }) => {
    const index = roster.indexOf(name)
    return index !== undefined && roster.members[index]!.address === address
  })
