// SPDX-License-Identifier: Apache-2.0
// What was done to the zones and what Prometheus's alerts made of it, as one list in the order of time.
import { groupBy } from '../../core/group-by.js'
import type { QueryRange, QuerySeries } from '../../testkit/prometheus/server.js'

/** Something that was done to a zone, at an instant in Unix seconds. */
export interface Deed {
  readonly at: number
  readonly what: string
}

/** An alert that begins to wait or to fire, or ends. */
interface Entry {
  readonly at: number
  readonly what: string
  readonly rule: string
  readonly subject: string
}

/** Labels that say nothing of whom it is about. */
const COMMON = ['__name__', 'alertname', 'alertstate', 'severity']
/** Those that say nothing more where the node is named. */
const BESIDE_NODE = ['instance', 'job', 'node_zone']

/** What tells two alerts of one rule apart. */
const subjectOf = ({ labels }: QuerySeries): string => {
  const left = labels['node'] === undefined ? COMMON : [...COMMON, ...BESIDE_NODE]
  return Object.entries(labels)
    .filter(([label]) => !left.includes(label))
    .map(([, value]) => value)
    .join(' ')
}

interface Span {
  readonly rule: string
  readonly subject: string
  readonly state: 'pending' | 'firing'
  readonly from: number
  /** The last instant at which it was so. */
  readonly to: number
}

/** The lengths of time in which a series of `ALERTS` was there. */
const spansOf = (series: QuerySeries, step: number): readonly Span[] => {
  const rule = series.labels['alertname']!
  const subject = subjectOf(series)
  const state = series.labels['alertstate'] === 'firing' ? 'firing' : 'pending'
  const spans: Span[] = []
  for (const [at] of series.points) {
    const last = spans.at(-1)
    if (last !== undefined && at - last.to <= step) spans[spans.length - 1] = { ...last, to: at }
    else spans.push({ rule, subject, state, from: at, to: at })
  }
  return spans
}

/** An alert that fires after it waited has not ended. */
const endsOf = (spans: readonly Span[], { to, step }: QueryRange): readonly Entry[] =>
  spans.flatMap(span => {
    const { rule, subject, state } = span
    const goesOn = spans.some(
      next => next.rule === rule && next.subject === subject && next.from - span.to === step,
    )
    if (goesOn || span.to + step > to) return []
    const what = state === 'firing' ? 'is over' : 'ends before its time'
    return [{ at: span.to + step, what, rule, subject }]
  })

/** What one rule says of several at the same time is one row. */
const rowsOf = (entries: readonly Entry[]): readonly { at: number; cells: readonly string[] }[] => {
  const groups = groupBy(entries, ({ at, what, rule }) => `${at} ${what} ${rule}`)
  return [...groups.values()].map(group => {
    const { at, what, rule } = group[0]!
    return { at, cells: ['', rule, what, group.map(({ subject }) => subject).join(', ')] }
  })
}

const clock = (seconds: number): string =>
  `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`

/**
 * One row for each deed and for what a rule begins or ends to say, as Markdown.
 * @param alerts what Prometheus answered to `ALERTS` over the range
 */
export const alertHistory = (
  deeds: readonly Deed[],
  alerts: readonly QuerySeries[],
  range: QueryRange,
): string => {
  const spans = alerts.flatMap(series => spansOf(series, range.step))
  const begins = spans.map(({ from: at, state, rule, subject }): Entry => ({
    ...{ at, rule, subject },
    what: state === 'firing' ? '**fires**' : 'waits',
  }))
  const rows = [
    ...deeds.map(({ at, what }) => ({ at, cells: [what, '', '', ''] })),
    ...rowsOf([...begins, ...endsOf(spans, range)]),
  ].toSorted((a, b) => a.at - b.at)
  const lines = rows.map(({ at, cells }) => `| ${clock(at - range.from)} | ${cells.join(' | ')} |`)
  return ['| min:s | done | alert | | of |', '| --- | --- | --- | --- | --- |', ...lines].join('\n')
}
