// SPDX-License-Identifier: Apache-2.0
// What may be read from connections and rules: pure questions about what was recorded.
import type { Connection, ProxyNode, RulesMoment } from './proxy-node.js'
import type { Backends } from './rules.js'

/** A connection that was begun under rules that have just gone may still fail. */
const CHANGE_MS = 400

type Recorded = Pick<ProxyNode, 'rules' | 'connections'>

const holds = (backends: Backends, address: string): boolean => backends?.has(address) === true

/** When the rules lost this address for good; undefined while they hold it, or never did. */
export const goneSince = (rules: readonly RulesMoment[], address: string): number | undefined => {
  const last = rules.findLastIndex(({ backends }) => holds(backends, address))
  return last < 0 ? undefined : rules[last + 1]?.at
}

/** Exactly these addresses, now. */
export const hasExactly = ({ rules }: Recorded, addresses: readonly string[]): boolean => {
  const now = rules.at(-1)?.backends
  return now?.size === addresses.length && addresses.every(address => now.has(address))
}

/** All the while since then the rules held all of these. */
export const heldSince = (
  { rules }: Recorded,
  since: number,
  addresses: readonly string[],
): boolean => {
  const first = rules.findLastIndex(({ at }) => at <= since)
  const while_ = rules.slice(Math.max(0, first))
  return (
    while_.length > 0 &&
    while_.every(({ backends }) => addresses.every(address => holds(backends, address)))
  )
}

/** Connections that were begun in this time and got no answer. */
export const failures = (
  { connections }: Recorded,
  since: number,
  until = Infinity,
): readonly Connection[] =>
  connections.filter(({ begunAt, by }) => by === undefined && begunAt >= since && begunAt <= until)

/** Since the rules lost this address, no connection that was begun later has failed. */
export const isQuietWithout = (recorded: Recorded, address: string): boolean => {
  const since = goneSince(recorded.rules, address)
  return since !== undefined && failures(recorded, since + CHANGE_MS).length === 0
}

/** Everybody of these answered somebody who came since then. */
export const answered = (
  { connections }: Recorded,
  since: number,
  names: readonly string[],
): boolean =>
  names.every(name => connections.some(({ begunAt, by }) => by === name && begunAt >= since))

/** The first few, in seconds since then. */
export const describeFailures = (failed: readonly Connection[], since: number): string => {
  const some = failed
    .slice(0, 5)
    .map(({ begunAt, reason }) => `${((begunAt - since) / 1_000).toFixed(1)} s ${reason}`)
  return `${failed.length} connections failed: ${some.join(', ')}${failed.length > 5 ? ' …' : ''}`
}

/** One line: how the connections of this time went. */
export const account = (recorded: Recorded, since: number, until: number): string => {
  const all = recorded.connections.filter(({ begunAt }) => begunAt >= since && begunAt <= until)
  const failed = all.filter(({ by }) => by === undefined)
  const last = failed.at(-1)
  const share = all.length === 0 ? 0 : (100 * failed.length) / all.length
  const end =
    last === undefined ? '' : `, the last after ${((last.begunAt - since) / 1_000).toFixed(1)} s`
  return `${failed.length} of ${all.length} connections failed (${share.toFixed(1)} %)${end}`
}
