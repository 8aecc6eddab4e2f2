// SPDX-License-Identifier: Apache-2.0
import type { CheckPlugin, ProbeResult } from '../core/check.js'
import { InvalidInputError } from '../core/errors.js'

const DECIMAL = /^(?=\.?\d)(\d{0,6})(?:\.(\d{0,6}))?$/

/**
 * A weight in whole millionths: no float ever holds a part of it, so "0.29", "0.57" and "0.14" add up to exactly 1.
 * @throws InvalidInputError unless it is a decimal number above 0.
 */
export const parseWeight = (text: string, thing = 'weight'): number => {
  const match = DECIMAL.exec(text.trim())
  if (match === null)
    throw new InvalidInputError(
      thing,
      'must be a decimal number with at most 6 digits before and after the point',
      text,
    )
  const weight = Number(match[1]) * 1_000_000 + Number((match[2] ?? '').padEnd(6, '0'))
  if (weight === 0) throw new InvalidInputError(thing, 'must be above 0', text)
  return weight
}

/** What a round's results add up to. */
export interface RoundScore {
  /** 100 × the weights of what succeeded or is unknown, in millionths: all of a weight of 1 is 100_000_000. */
  readonly score: number
  /**
   * `up`: a probe reached the node and the score has reached the line, whatever open plugins will bring. `down`: the line can no
   * longer be reached. `void`: nothing is open, and only unknowns lift the score to the line, since no probe reached the node.
   * `open`: not decided yet.
   */
  readonly verdict: 'up' | 'down' | 'void' | 'open'
}

/**
 * Add up one round. A plugin without a result is still running. An unknown counts as a success, so that trouble on our side
 * lowers no node's score; but a node that no probe reached is never up: what it said of itself may be its last record.
 */
export const scoreOf = (
  plugins: readonly CheckPlugin[],
  results: ReadonlyMap<CheckPlugin, ProbeResult['kind']>,
  scoreLine: number,
): RoundScore => {
  const sum = (kind: ProbeResult['kind'] | undefined): number =>
    plugins.reduce((total, plugin) => total + (results.get(plugin) === kind ? plugin.weight : 0), 0)
  const open = 100 * sum(undefined)
  const score = 100 * (sum('success') + sum('unknown'))
  const isReached = plugins.some(plugin => plugin.reachesNode && results.get(plugin) === 'success')
  if (score + open < scoreLine) return { score, verdict: 'down' }
  if (score >= scoreLine && isReached) return { score, verdict: 'up' }
  return { score, verdict: open > 0 ? 'open' : 'void' }
}
