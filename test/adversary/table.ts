// SPDX-License-Identifier: Apache-2.0
import { GUARDS, type Guard } from './guards/words.js'
import type { Report } from './run.js'

const LEAST = 50
const OF = 500

const quantile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}

const seconds = (values: readonly number[]): string =>
  `p50 ${(quantile(values, 0.5) / 1000).toFixed(1)} s, max ${(quantile(values, 1) / 1000).toFixed(1)} s`

/** What a run did and looked at. */
export const tableOf = ({ sequences, acts, guards, broken, markedMs, wellMs }: Report): string => {
  const actRows = [...acts].map(
    ([kind, count]) => `  ${kind.padEnd(16)}${String(count).padStart(8)}`,
  )
  const guardRows = [...guards].map(([guard, count]) => {
    const rows = [
      guard.padEnd(16),
      String(count).padStart(8),
      String(broken.get(guard) ?? 0).padStart(7),
    ]
    return `  ${rows.join('')}  ${GUARDS[guard]}`
  })
  return [
    `${sequences} sequences`,
    `  ${'act'.padEnd(16)}${'done'.padStart(8)}`,
    ...actRows,
    `  ${'guard'.padEnd(16)}${'looked'.padStart(8)}${'broken'.padStart(7)}`,
    ...guardRows,
    `  from the end of the attack until the dead are marked: ${seconds(markedMs)}`,
    `  from their return until all is well: ${seconds(wellMs)}`,
  ].join('\n')
}

/** Acts and guards that a run of this length had too little of: it proves less than it says. */
export const tooFew = ({ sequences, acts, guards }: Report): string[] => {
  const least = Math.floor((LEAST * sequences) / OF)
  const counts: (readonly [string, number])[] = [...acts, ...guards]
  return counts
    .filter(([, count]) => count < least)
    .map(([name, count]) => `${name}: ${count}, at least ${least}`)
}

const addInto = <K>(sum: Map<K, number>, more: Iterable<readonly [K, number]>): Map<K, number> => {
  for (const [key, count] of more) sum.set(key, (sum.get(key) ?? 0) + count)
  return sum
}

/** One report of several runs'. */
export const mergeReports = (reports: readonly Report[]): Report => {
  const failures = new Map<Guard, Report['failures'][number]>()
  for (const failure of reports.flatMap(report => report.failures))
    if (!failures.has(failure[1].guard)) failures.set(failure[1].guard, failure)
  const sum = <K>(of: (report: Report) => ReadonlyMap<K, number>): Map<K, number> =>
    reports.reduce((all, report) => addInto(all, of(report)), new Map<K, number>())
  return {
    sequences: reports.reduce((count, report) => count + report.sequences, 0),
    acts: sum(report => report.acts),
    guards: sum(report => report.guards),
    broken: sum(report => report.broken),
    failures: [...failures.values()],
    breaches: reports.flatMap(report => report.breaches),
    markedMs: reports.flatMap(report => report.markedMs),
    wellMs: reports.flatMap(report => report.wellMs),
  }
}
