// SPDX-License-Identifier: Apache-2.0

/** One series of a scrape. */
export interface Series {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g

const labelsOf = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(LABEL)].map(([, name, value]) => [name!, value!]))

/**
 * What Prometheus keeps of a scraped text. A label that the target has too is renamed, as without `honor_labels`.
 * @throws Error for a line that is neither a comment nor a series
 */
export const parseScrape = (
  text: string,
  target: Readonly<Record<string, string>> = {},
): readonly Series[] =>
  text
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => {
      const [, name, labels = '', value] = LINE.exec(line) ?? []
      if (name === undefined) throw new Error(`this is no series: ${line}`)
      const own = Object.entries(labelsOf(labels)).map(
        ([label, text]) => [label in target ? `exported_${label}` : label, text] as const,
      )
      return { name, labels: { ...Object.fromEntries(own), ...target }, value: Number(value) }
    })

/** A series as PromQL and promtool write it. */
export const seriesText = ({ name, labels }: Pick<Series, 'name' | 'labels'>): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return `${name}{${pairs.join(', ')}}`
}

/** A metric that an expression names, with the labels and values that it wants to be equal. */
export interface Selector {
  readonly name: string
  readonly equal: Readonly<Record<string, string>>
}

/** The selectors of our metrics in a PromQL expression. */
export const selectorsOf = (expression: string): readonly Selector[] =>
  [...expression.matchAll(/\b(edge_health_[a-z_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name, matchers = '']) => ({ name: name!, equal: labelsOf(matchers.replaceAll('!=', '')) }),
  )

/** Labels that an expression groups or joins by, over our metrics. */
export const groupedBy = (expression: string): readonly string[] => [
  ...new Set(
    [...expression.matchAll(/\b(?:by|on|group_left) \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(',').map(label => label.trim()),
    ),
  ),
]
