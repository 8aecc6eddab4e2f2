// SPDX-License-Identifier: Apache-2.0
import { inColumns } from '../scale/figures.js'
import { listsOf } from './audit.js'
import type { Counts } from './counts.js'
import type { Measured } from './run.js'

const HEAD = [
  ...['who', 'occasion', 'requests', 'peak/s', '90 % in s', 'lists', 'any', 'not older', 'newest'],
  ...['watches', 'expired', 'unheard', 'refused', 'MB', 'apiserver CPU s', 'clients CPU s'],
]

const one = (value: number): string => value.toFixed(1)

/** The apiserver no longer knew the version that a watch was to be resumed from. */
const EXPIRED = 'status 410'

const refusedText = ({ refused }: Measured): string => {
  const texts = Object.entries(refused).map(([code, count]) => `${count} × ${code}`)
  return texts.length === 0 ? '0' : texts.join(', ')
}

const rowOf = (measured: Measured): readonly string[] => {
  const { counts, perSecond, relists } = measured
  return [
    measured.program,
    measured.occasion,
    String(perSecond.reduce((sum, count) => sum + count, 0)),
    String(measured.peak),
    one(measured.spreadS),
    String(listsOf(measured)),
    String(counts['list of any state'] ?? 0),
    String((counts['list not older'] ?? 0) + (counts['streamed list'] ?? 0)),
    String(counts['list of the newest'] ?? 0),
    String(counts.watch ?? 0),
    relists === undefined ? '-' : String(relists[EXPIRED] ?? 0),
    relists === undefined ? '-' : String(measured.unheard),
    refusedText(measured),
    one((measured.sentBytes + measured.receivedBytes) / 1e6),
    one(measured.serverCpuS),
    one(measured.clientsCpuS),
  ]
}

export const tableOf = (all: readonly Measured[]): string => inColumns(HEAD, all.map(rowOf))

/** Requests of each second, until no more came. */
export const figureLines = ({ program, occasion, perSecond }: Measured): string => {
  const last = perSecond.findLastIndex(count => count > 0)
  return `${program}, ${occasion}, requests of each second: ${perSecond.slice(0, last + 1).join(' ')}`
}

/** Why clients asked for lists by themselves. */
const whysText = (relists: Counts): string => {
  const whys = Object.entries(relists).filter(([why, count]) => why !== EXPIRED && count > 0)
  return whys.length === 0 ? '' : ` (${whys.map(([why, count]) => `${count} × ${why}`).join(', ')})`
}

/**
 * Lists of an occasion for which no watch had been answered that its version is forgotten.
 * @param before what came before it, of the same clients: one may ask for its list a while after that answer
 */
const needlessOf = (measured: Measured, before: readonly Measured[]): number => {
  const expiredOf = ({ relists = {} }: Measured): number => relists[EXPIRED] ?? 0
  const left = before.reduce((sum, one) => Math.max(0, sum + expiredOf(one) - one.afterWatch), 0)
  return measured.afterWatch - expiredOf(measured) - left
}

/** What our own clients must not do. */
export const faultsOf = (all: readonly Measured[]): readonly string[] => {
  const ours = all.filter(({ program }) => program === 'edge-health')
  return ours.flatMap((measured, i) => {
    const { occasion, counts, relists = {}, guesses } = measured
    const found: string[] = []
    const needless = needlessOf(measured, ours.slice(0, i))
    if (needless > 0)
      found.push(`${occasion}: ${needless} lists that a watch could resume${whysText(relists)}`)
    if (guesses > 0)
      found.push(`${occasion}: ${guesses} lists of a version that the client cannot know`)
    const anyState = counts['list of any state'] ?? 0
    if (occasion !== 'start' && anyState > 0)
      found.push(`${occasion}: ${anyState} lists that may go back in time`)
    // Nodes have their agents' keys, and nobody judges anybody.
    const writes = counts.write ?? 0
    if (writes > 0)
      found.push(`${occasion}: ${writes} writes of clients that have nothing to write`)
    return found
  })
}
