// SPDX-License-Identifier: Apache-2.0
// A dashboard as a page without scripts, from what Prometheus answered to its own queries.
import type { Dashboard, Panel } from '../../testkit/prometheus/dashboards.js'
import type { QueryRange, QuerySeries } from '../../testkit/prometheus/server.js'
import { bottomOf, escape, label, roundedUp, show, svg, widthAt, xAt, type Box } from './axes.js'

/** What Prometheus answered to each query of a panel, in their order. */
export type Answers = ReadonlyMap<Panel, readonly (readonly QuerySeries[])[]>

const COLUMN = 58
const LINE = 24
const LEFT = 78
const COLOURS = ['#3274d9', '#e0752d', '#2f9e58', '#a352cc', '#d03b3b', '#b8860b', '#1f9aa8', '#6b7280', '#e377c2', '#7f5f3f'] // prettier-ignore

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

/** What lies between a line and the one below it. */
const area = (box: Box, line: Line, below: Line | undefined, yAt: (value: number) => number) => {
  const there = line.points.map(
    ([at, value]) => `${xAt(box, at).toFixed(1)} ${yAt(value).toFixed(1)}`,
  )
  const floor = below?.points ?? line.points.map(([at]) => [at, 0] as const)
  const back = floor
    .toReversed()
    .map(([at, value]) => `${xAt(box, at).toFixed(1)} ${yAt(value).toFixed(1)}`)
  return `M${[...there, ...back].join('L')}Z`
}

const drawLines = (panel: Panel, found: readonly Line[], box: Box): string => {
  const { unit, custom } = panel.fieldConfig!.defaults
  const isStacked = custom?.stacking?.mode === 'normal'
  const lines = isStacked ? stacked(found) : found
  const top = Math.max(...lines.flatMap(({ points }) => points.map(([, value]) => value)))
  const most = top > 0 ? roundedUp(top, unit) : 1
  const bottom = bottomOf(box)
  const yAt = (value: number): number => bottom - (value / most) * (bottom - 8)
  const marks = [0, most / 2, most].map(
    value =>
      `<line class="grid" x1="${box.left}" x2="${box.width - 8}" y1="${yAt(value)}" y2="${yAt(value)}"/>${label(box, yAt(value) + 4, show(value, unit))}`,
  )
  const step = box.range.step * 1.5
  const drawn = lines.map((line, i) => {
    const colour = COLOURS[i % COLOURS.length]!
    if (isStacked)
      return `<path d="${area(box, line, lines[i - 1], yAt)}" style="fill:${colour};stroke:none"/>`
    const path = line.points.map(([at, value], index) => {
      const isGap = index === 0 || at - line.points[index - 1]![0] > step
      return `${isGap ? 'M' : 'L'}${xAt(box, at).toFixed(1)} ${yAt(value).toFixed(1)}`
    })
    return `<path d="${path.join('')}" stroke="${colour}"/>`
  })
  return svg(box, marks.join('') + drawn.join('')) + legendOf(found)
}

const LETTER = 6
/** Names that stand closer lie on each other. */
const LETTERS_HIGH = 10

const drawTimeline = (panel: Panel, lines: readonly Line[], whole: Box): string => {
  const meanings = panel.fieldConfig!.defaults.mappings![0]!.options
  const longest = Math.max(...lines.map(({ name }) => name.length))
  const box = { ...whole, left: Math.max(whole.left, longest * LETTER + 8) }
  const height = Math.min(30, (bottomOf(box) - 2) / lines.length)
  const rows = lines.map(({ name, points }, row) => {
    const y = row * height + 2
    const cells = points.map(
      ([at, value]) =>
        `<rect x="${xAt(box, at).toFixed(1)}" y="${y.toFixed(1)}" width="${widthAt(box, at).toFixed(1)}" height="${(height - 3).toFixed(1)}" fill="${meanings[String(value)]?.color ?? '#888'}"/>`,
    )
    return cells.join('') + label(box, y + height / 2 + 2, name)
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
  const height = (bottomOf(box) - 4) / buckets.length
  const rows = buckets.map(({ name }, i) => {
    const y = bottomOf(box) - 2 - (i + 1) * height
    const cells = [...counts[i]!].map(
      ([at, value]) =>
        `<rect x="${xAt(box, at).toFixed(1)}" y="${y.toFixed(1)}" width="${widthAt(box, at).toFixed(1)}" height="${height.toFixed(1)}" fill="#d9480f" fill-opacity="${(value / most).toFixed(3)}"/>`,
    )
    const bound = name === '+Inf' ? 'more' : show(Number(name), 's')
    const isNamed = (buckets.length - 1 - i) % Math.ceil(LETTERS_HIGH / height) === 0
    return cells.join('') + (isNamed ? label(box, y + height / 2 + 3, bound) : '')
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
    const box = { width: w * COLUMN - 22, height: h * LINE - 62, left: LEFT, range }
    const inner = drawPanel(panel, answers.get(panel) ?? [], box)
    return `<section class="${panel.type}" style="${place}"><div><h2>${escape(panel.title)}</h2>${inner}</div></section>`
  })
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><h1>${escape(dashboard.title)} ${escape(subtitle)}</h1>${sections.join('')}`
}
