// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError } from './errors.js'
import { id64, type NodeName, type ZoneName } from './ids.js'

/** One node of the zone, as a voter and as somebody to be judged. */
export interface Member {
  readonly name: NodeName
  /** The node's first InternalIP, without brackets; where its agent and its kubelet are reached. */
  readonly address: string
}

/** A member and its short name on the wire. */
export interface RosterMember extends Member {
  readonly id: bigint
}

/**
 * The nodes of our zone as last listed: who may vote and who is judged. Immutable; a change is a new roster.
 * A member's index is its place by `id`, so that equal rosters agree on indices without talking.
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
  /** Undefined also where several members have this address: it does not tell who is there. */
  indexOfAddress(address: string): number | undefined
  /** Whether any member has this address. */
  hasAddress(address: string): boolean
  /** The other members that have this member's address; mostly nobody. */
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
 * Same zone, names and addresses: nothing has to be built anew. Most Nodes that a watch reports changed in nothing that
 * matters here, and hashing a thousand names for each is what a large zone cost most.
 * @param list names nobody twice.
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
