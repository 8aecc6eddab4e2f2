// SPDX-License-Identifier: Apache-2.0
// A dashboard as a page without scripts, from what Prometheus answered to its own queries.
import type { Dashboard, Panel } from '../../testkit/prometheus/dashboards.js'
import type { QueryRange, QuerySeries } from '../../testkit/prometheus/server.js'

/** What Prometheus answered to each query of a panel, in their order. */
export type Answers = ReadonlyMap<Panel, readonly (readonly QuerySeries[])[]>

const COLUMN = 58
const LINE = 24
const COLOURS = ['#3274d9', '#e0752d', '#2f9e58', '#a352cc', '#d03b3b', '#b8860b', '#1f9aa8', '#6b7280', '#e377c2', '#7f5f3f'] // prettier-ignore

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

const scaled = (value: number, units: readonly string[], step: number): string => {
  let rest = value
  let index = 0
  while (Math.abs(rest) >= step && index < units.length - 1) {
    rest /= step
    index++
  }
  return `${Number(rest.toPrecision(3))} ${units[index]!}`
}

const show = (value: number, unit: string | undefined): string => {
  switch (unit) {
    case 'bytes':
      return scaled(value, ['B', 'KiB', 'MiB', 'GiB'], 1_024)
    case 'Bps':
      return scaled(value, ['B/s', 'kB/s', 'MB/s'], 1_000)
    case 'percentunit':
      return `${Number((value * 100).toPrecision(2))} %`
    case 's':
      return `${Number(value.toPrecision(3))} s`
    case 'ops':
    case 'reqps':
      return `${Number(value.toPrecision(2))}/s`
    default:
      return String(Number(value.toPrecision(3)))
  }
}

/** The name of a series, as the query's legend says. */
const nameOf = (legend: string, { labels }: QuerySeries): string =>
  legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '')

interface Line {
  readonly name: string
  readonly points: QuerySeries['points']
}

const linesOf = ({ targets = [] }: Panel, answers: readonly (readonly QuerySeries[])[]) =>
  targets.flatMap(({ legendFormat }, index) =>
    answers[index]!.map((series): Line => ({
      name: nameOf(legendFormat, series),
      points: series.points,
    })),
  )

interface Box {
  readonly width: number
  readonly height: number
  readonly range: QueryRange
}

const LEFT = 78
const xAt = ({ width, range: { from, to } }: Box, at: number): number =>
  LEFT + ((at - from) / (to - from)) * (width - LEFT - 8)

const svg = ({ width, height }: Box, inner: string): string =>
  `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${inner}</svg>`

const text = (x: number, y: number, words: string, end = false): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}"${end ? ' text-anchor="end"' : ''}>${escape(words)}</text>`

/** Where there are many lines, those that are 0 all the time are not named. */
const legendOf = (lines: readonly Line[]): string => {
  const isNamed = ({ points }: Line): boolean =>
    lines.length <= 6 || points.some(([, value]) => value !== 0)
  const names = lines.map((line, i) =>
    isNamed(line)
      ? `<span><i style="background:${COLOURS[i % COLOURS.length]!}"></i>${escape(line.name === '' ? '(none)' : line.name)}</span>`
      : '',
  )
  return `<div class="legend">${names.join('')}</div>`
}

/** Each line on top of the ones before it. */
const stacked = (lines: readonly Line[]): readonly Line[] => {
  const sums = new Map<number, number>()
  return lines.map(({ name, points }) => ({
    name,
    points: points.map(([at, value]) => {
      const sum = (sums.get(at) ?? 0) + value
      sums.set(at, sum)
      return [at, sum] as const
    }),
  }))
}

/** The next number that is good to read: 1, 2, 3, 4, 5, 6 or 8, and zeros. */
const roundedUp = (value: number): number => {
  const unit = 10 ** Math.floor(Math.log10(value))
  return unit * ([1, 2, 3, 4, 5, 6, 8].find(digit => digit * unit >= value) ?? 10)
}

const drawLines = (panel: Panel, found: readonly Line[], box: Box): string => {
  const { unit, custom } = panel.fieldConfig!.defaults
  const isStacked = custom?.stacking?.mode === 'normal'
  const lines = isStacked ? stacked(found) : found
  const top = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)))
  const most = top > 0 ? roundedUp(top) : 1
  const bottom = box.height - 8
  const yAt = (value: number): number => bottom - (value / most) * (bottom - 8)
  const marks = [0, most / 2, most].map(
    value =>
      `<line class="grid" x1="${LEFT}" x2="${box.width - 8}" y1="${yAt(value)}" y2="${yAt(value)}"/>${text(LEFT - 6, yAt(value) + 4, show(value, unit), true)}`,
  )
  const step = box.range.step * 1.5
  const drawn = lines.map(({ points }, i) => {
    const path = points.map(([at, value], index) => {
      const isGap = index === 0 || at - points[index - 1]![0] > step
      return `${isGap ? 'M' : 'L'}${xAt(box, at).toFixed(1)} ${yAt(value).toFixed(1)}`
    })
    return `<path d="${path.join('')}" stroke="${COLOURS[i % COLOURS.length]!}"/>`
  })
  return svg(box, marks.join('') + drawn.join('')) + legendOf(found)
}

const drawTimeline = (panel: Panel, lines: readonly Line[], box: Box): string => {
  const meanings = panel.fieldConfig!.defaults.mappings![0]!.options
  const height = Math.min(30, (box.height - 4) / lines.length)
  const rows = lines.map(({ name, points }, row) => {
    const y = row * height + 2
    const cells = points.map(([at, value]) => {
      const width = xAt(box, at + box.range.step) - xAt(box, at) + 0.5
      return `<rect x="${xAt(box, at).toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${(height - 3).toFixed(1)}" fill="${meanings[String(value)]?.color ?? '#888'}"/>`
    })
    return cells.join('') + text(LEFT - 6, y + height / 2 + 2, name.slice(-12), true)
  })
  const keys = Object.values(meanings)
    .map(({ text, color }) => `<span><i style="background:${color}"></i>${escape(text)}</span>`)
    .join('')
  return `${svg(box, rows.join(''))}<div class="legend">${keys}</div>`
}

/** Buckets of a histogram from below: each has what the next lower one has not. */
const drawHeatmap = (panel: Panel, lines: readonly Line[], box: Box): string => {
  const boundOf = ({ name }: Line): number => Number(name.replace('Inf', 'Infinity'))
  const buckets = lines.toSorted((a, b) => boundOf(a) - boundOf(b))
  const counts = buckets.map(
    ({ points }, i) =>
      new Map(
        points.map(([at, value]) => {
          const below = buckets[i - 1]?.points.find(([other]) => other === at)?.[1] ?? 0
          return [at, Math.max(0, value - below)] as const
        }),
      ),
  )
  const most = Math.max(...counts.flatMap(bucket => [...bucket.values()]))
  const height = (box.height - 4) / buckets.length
  const rows = buckets.map(({ name }, i) => {
    const y = box.height - 2 - (i + 1) * height
    const cells = [...counts[i]!].map(([at, value]) => {
      const width = xAt(box, at + box.range.step) - xAt(box, at) + 0.5
      return `<rect x="${xAt(box, at).toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height.toFixed(1)}" fill="#d9480f" fill-opacity="${(value / most).toFixed(3)}"/>`
    })
    const label = name === '+Inf' ? 'more' : show(Number(name), 's')
    return cells.join('') + text(LEFT - 6, y + height / 2 + 3, label, true)
  })
  return svg(box, rows.join(''))
}

const drawStat = (panel: Panel, lines: readonly Line[]): string => {
  const value = lines[0]?.points.at(-1)?.[1]
  const steps = panel.fieldConfig!.defaults.thresholds!.steps
  const colour = steps.findLast(step => (value ?? 0) >= (step.value ?? -Infinity))!.color
  return `<b style="color:${colour === 'text' ? 'inherit' : colour}">${value ?? '–'}</b>`
}

const drawTable = (panel: Panel, answers: readonly (readonly QuerySeries[])[]): string => {
  const names = panel.transformations!.findLast(({ id }) => id === 'organize')!.options
    .renameByName!
  const head = (cells: readonly string[]) => `<tr>${cells.map(cell => `<th>${escape(cell)}</th>`).join('')}</tr>` // prettier-ignore
  const row = (cells: readonly string[]) => `<tr>${cells.map(cell => `<td>${escape(cell)}</td>`).join('')}</tr>` // prettier-ignore
  if (answers.length === 1) {
    const labels = [...new Set(answers[0]!.flatMap(series => Object.keys(series.labels)))]
    const rows = answers[0]!.map(series => row(labels.map(label => series.labels[label] ?? '')))
    return `<table>${head(labels)}${rows.join('')}</table>`
  }
  const zones = [...new Set(answers.flat().map(({ labels }) => labels['zone'] ?? ''))].sort()
  const valueOf = (zone: string, series: readonly QuerySeries[]): string =>
    String(series.find(({ labels }) => labels['zone'] === zone)?.points.at(-1)?.[1] ?? '')
  const rows = zones.map(zone => row([zone, ...answers.map(series => valueOf(zone, series))]))
  return `<table>${head(['zone', ...Object.values(names)])}${rows.join('')}</table>`
}

const drawPanel = (
  panel: Panel,
  answers: readonly (readonly QuerySeries[])[],
  box: Box,
): string => {
  const lines = linesOf(panel, answers)
  switch (panel.type) {
    case 'row':
      return ''
    case 'stat':
      return drawStat(panel, lines)
    case 'table':
      return drawTable(panel, answers)
    case 'timeseries':
      return drawLines(panel, lines, box)
    case 'state-timeline':
      return drawTimeline(panel, lines, box)
    case 'heatmap':
      return drawHeatmap(panel, lines, box)
  }
}

const STYLE = `body{margin:0;font:12px system-ui,sans-serif;background:#f4f5f7;color:#1f2430}
h1{font-size:18px;margin:0;padding:10px 12px}section{position:absolute;box-sizing:border-box;padding:3px}
section>div{box-sizing:border-box;height:100%;overflow:hidden;background:#fff;border:1px solid #dde0e6;border-radius:3px;padding:4px 6px}
section.row>div{background:none;border:0}h2{font-size:12px;margin:0 0 3px}b{display:block;font-size:34px;text-align:center}
svg{display:block}text{font-size:10px;fill:#555}path{fill:none;stroke-width:1.4}.grid{stroke:#e3e6eb}
.legend{font-size:10px;line-height:14px}.legend span{margin-right:9px;white-space:nowrap}.legend i{display:inline-block;width:9px;height:3px;margin-right:3px;vertical-align:middle}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:3px 6px;border-bottom:1px solid #eef0f3}`

const TITLE = 40

/** Width and height of a drawn dashboard, in CSS pixels. */
export const sizeOf = ({ panels }: Dashboard): { readonly width: number; readonly height: number } => ({ width: 24 * COLUMN, height: TITLE + LINE * Math.max(...panels.map(({ gridPos: { y, h } }) => y + h)) }) // prettier-ignore

/** The dashboard as HTML. */
export const drawDashboard = (
  dashboard: Dashboard,
  subtitle: string,
  answers: Answers,
  range: QueryRange,
): string => {
  const sections = dashboard.panels.map(panel => {
    const { x, y, w, h } = panel.gridPos
    const place = `left:${x * COLUMN}px;top:${TITLE + y * LINE}px;width:${w * COLUMN}px;height:${h * LINE}px`
    const box = { width: w * COLUMN - 22, height: h * LINE - 62, range }
    const inner = drawPanel(panel, answers.get(panel) ?? [], box)
    return `<section class="${panel.type}" style="${place}"><div><h2>${escape(panel.title)}</h2>${inner}</div></section>`
  })
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><h1>${escape(dashboard.title)} ${escape(subtitle)}</h1>${sections.join('')}`
}
