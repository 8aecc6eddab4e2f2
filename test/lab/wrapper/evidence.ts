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

/** When the rules lost this address in that time, not to have it again before its end. */
export const goneWithin = (
  rules: readonly RulesMoment[],
  { address, from, until }: { address: string; from: number; until: number },
): number | undefined => {
  const then = rules.filter(({ at }) => at < until)
  const gone = goneSince(then, address)
  return gone !== undefined && gone >= from ? gone : undefined
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

const inSeconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

/** When they were begun after that moment, and what became of them: the first few, and the last. */
const describeFailures = (failed: readonly Connection[], since: number): string => {
  const shown = failed.length > 4 ? [...failed.slice(0, 2), ...failed.slice(-2)] : failed
  const texts = shown.map(({ begunAt, reason }) => `${inSeconds(begunAt - since)} ${reason}`)
  if (failed.length > 4) texts.splice(2, 0, '…')
  return texts.length === 0 ? '' : `: ${texts.join(', ')}`
}

/** One line: how the connections of this time went. */
export const account = (recorded: Recorded, since: number, until: number): string => {
  const all = recorded.connections.filter(({ begunAt }) => begunAt >= since && begunAt <= until)
  const failed = all.filter(({ by }) => by === undefined)
  const share = all.length === 0 ? 0 : (100 * failed.length) / all.length
  const shown = describeFailures(failed, since)
  return `${failed.length} of ${all.length} connections failed (${share.toFixed(1)} %)${shown}`
}
