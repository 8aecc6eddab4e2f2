// SPDX-License-Identifier: Apache-2.0
import { isIPv6 } from 'node:net'
import type { Judgement } from '../vote/judgement.js'
import { VERDICT } from '../vote/quorum.js'
import type { ZoneState } from './results.js'

/** Why all nodes are one zone, where nobody asked for that. */
export const NO_ZONE_CONFIGURED = 'all edge nodes: no zone is configured'

const MOST_NAMES = 4

const listed = (names: readonly string[]): string =>
  names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ', …' : '')

/** The first 64 bits of a canonical IPv6 address, which may leave zeros out. */
const network6 = (address: string): string => {
  const [head = '', tail] = address.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after]
  return `${groups.slice(0, 4).join(':')}::/64`
}

/** A guess, since no Node says how long its subnet's prefix is: /24, or /64 of IPv6. */
export const networkOf = (address: string): string =>
  isIPv6(address) ? network6(address) : address.replace(/\.\d+$/, '.0/24')

/** Members that the zone finds healthy, and that some member does not reach. */
export const partlyReached = ({
  roster,
  judgement,
  table,
}: Pick<ZoneState, 'roster' | 'table'> & {
  readonly judgement: Pick<Judgement, 'verdict'>
}): readonly string[] =>
  roster.members
    .filter(
      (_, index) => judgement.verdict[index] === VERDICT.healthy && table.downVotes[index]! > 0,
    ) // prettier-ignore
    .map(({ name }) => name)

/**
 * Several sites that are one zone because nobody configured zones: they judge each other over the links between the sites.
 * Undefined where a zone is configured, or where the operator asked for one zone for all.
 * @param unreached members that not all others reach, for longer than a moment
 */
export const zoneTrap = (
  rule: string,
  addresses: readonly string[],
  unreached: readonly string[],
): string | undefined => {
  if (rule !== NO_ZONE_CONFIGURED) return undefined
  const networks = [...new Set(addresses.map(networkOf))].sort()
  const signs = [
    ...(networks.length > 1 ? [`lie in ${networks.length} networks (${listed(networks)})`] : []),
    ...(unreached.length > 0 ? [`do not all reach ${listed(unreached)}`] : []),
  ]
  if (signs.length === 0) return undefined
  return `no zone is configured, so all ${addresses.length} nodes are one zone, though they ${signs.join(' and ')}: give each site a zone, or say TaintZoneAdmission: "false" in ConfigMap edge-health-zone-config if one zone is meant`
}
