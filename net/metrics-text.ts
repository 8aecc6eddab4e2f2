// SPDX-License-Identifier: Apache-2.0
// The Prometheus text exposition format.
import { cpuUsage, memoryUsage } from 'node:process'

/** One sample of a metric: value, labels, and the suffix of the metric's name that a histogram's samples have. */
export type Sample = readonly [
  value: number,
  labels?: Readonly<Record<string, string>>,
  suffix?: '_bucket' | '_sum' | '_count',
]

/** A metric with its samples; without any, only help and type are written. */
export interface Metric {
  readonly name: string
  readonly kind: 'gauge' | 'counter' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

type MakeMetric = (name: string, help: string, ...samples: readonly Sample[]) => Metric

/** Creates metrics with a common name prefix; counters' names get the suffix `_total`. */
export interface MetricFactory {
  readonly gauge: MakeMetric
  readonly counter: MakeMetric
  readonly histogram: (name: string, help: string, found: Distribution) => Metric
}

/** A histogram's content: how many values are at most each bound, in rising order. */
export interface Distribution {
  readonly bounds: readonly number[]
  readonly atMost: readonly number[]
  readonly count: number
  readonly sum: number
}

/** Counts values by size. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #within: number[]
  #count = 0
  #sum = 0

  /** @param bounds in rising order, at least one */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#within = bounds.map(() => 0)
  }

  add(value: number): void {
    const index = this.#bounds.findIndex(bound => value <= bound)
    if (index >= 0) this.#within[index]!++
    this.#count++
    this.#sum += value
  }

  show(): Distribution {
    let below = 0
    const atMost = this.#within.map(count => (below += count))
    return { bounds: this.#bounds, atMost, count: this.#count, sum: this.#sum }
  }
}

const distributionSamples = ({ bounds, atMost, count, sum }: Distribution): readonly Sample[] => [
  ...bounds.map((bound, i): Sample => [atMost[i]!, { le: String(bound) }, '_bucket']),
  [count, { le: '+Inf' }, '_bucket'],
  [sum, {}, '_sum'],
  [count, {}, '_count'],
]

/** The media type of `metricsText`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export const metricFactory = (prefix: string): MetricFactory => ({
  gauge: (name, help, ...samples) => ({ name: prefix + name, kind: 'gauge', help, samples }),
  counter: (name, help, ...samples) => ({
    ...{ name: `${prefix}${name}_total`, kind: 'counter', help, samples },
  }),
  histogram: (name, help, found) => ({
    ...{ name: prefix + name, kind: 'histogram', help, samples: distributionSamples(found) },
  }),
})

/** 1 for true. */
export const bit = (is: boolean): number => (is ? 1 : 0)

/** One sample per state: 1 for the present one, 0 for the others. */
export const stateSamples = <State extends string>(
  states: readonly State[],
  present: NoInfer<State>,
): readonly Sample[] => states.map(state => [bit(state === present), { state }])

/** One sample per entry of `items`, with its key as the value of `label`. */
export const samplesBy = <T>(
  label: string,
  items: Readonly<Record<string, T>>,
  read: (item: T) => number,
): readonly Sample[] => Object.entries(items).map(([key, item]) => [read(item), { [label]: key }])

/** One sample per count, with its key as the value of `label`. */
export const countsBy = (
  label: string,
  counts: Readonly<Record<string, number>>,
): readonly Sample[] => samplesBy(label, counts, count => count)

/** One sample per entry of `counts`, whose keys are two words: `apply done` gives the values of the two labels. */
export const countsByPair = (
  [first, second]: readonly [string, string],
  counts: Readonly<Record<string, number>>,
): readonly Sample[] =>
  Object.entries(counts).map(([words, count]) => {
    const [one = '', other = ''] = words.split(' ')
    return [count, { [first]: one, [second]: other }]
  })

/** One sample per item; those for which `read` returns undefined are left out. */
export const samplesOf = <T>(
  items: readonly T[],
  read: (item: T) => number | null,
  labels: (item: T) => Readonly<Record<string, string>>,
): readonly Sample[] =>
  items.flatMap((item): readonly Sample[] => {
    const value = read(item)
    return value === null ? [] : [[value, labels(item)]]
  })

/** CPU and memory of this process. */
export const processMetrics = ({ gauge, counter }: MetricFactory): readonly Metric[] => {
  const { user, system } = cpuUsage()
  return [
    gauge('resident_memory_bytes', 'Memory of this process that is in RAM', [memoryUsage.rss()]),
    counter('cpu_seconds', 'CPU time of this process', [(user + system) / 1e6]),
  ]
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

const sampleText = (name: string, [value, labels = {}, suffix]: Sample): string => {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`)
  return `${name}${suffix ?? ''}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}\n`
}

const metricText = ({ name, kind, help, samples }: Metric): string => {
  const series = samples.map(sample => sampleText(name, sample)).join('')
  return `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${kind}\n${series}`
}

/** The text of `/metrics`. */
export const metricsText = (metrics: readonly Metric[]): string => metrics.map(metricText).join('')
