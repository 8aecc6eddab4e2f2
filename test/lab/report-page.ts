// SPDX-License-Identifier: Apache-2.0
// The lab's account as one HTML page that needs nothing else.
import type { Report, Run } from './account.js'
import { type Claim, isBroken, type Played, type Stretch } from './cell.js'
import { tallyText } from './audit.js'
import type { Figure } from './figures.js'
import { drawPicture } from './grids/unit-picture.js'
import { drawTraffic } from './traffic-picture.js'
import { drawNodeTraffic } from './traffic-table.js'

const escape = (text: string): string => text.replaceAll(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)
const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

const WIDTH = 920
const LEFT = 80
const LANE = 40
const TOP = 24

/** The colour of what the others say: nobody down, some, all. */
const seenColour = ({ down, of, done }: Stretch): string => {
  if (of === 0) return '#bbb'
  if (down === 0) return done === 'running' ? '#bfe3c0' : '#e9e3c0'
  return down === of ? '#d9534f' : '#f0ad4e'
}

const clusterColour = ({ ready, unreachable }: Stretch): string => {
  if (unreachable) return '#444'
  return ready === 'True' ? '#dfe8f5' : '#888'
}

interface Bar {
  readonly y: number
  readonly height: number
  readonly colour: string
  readonly title: string
}

const describe = (s: Stretch): string =>
  `${s.done}; ${s.down} of ${s.of} others say down; Ready ${s.ready}` +
  `${s.marked ? '; marked nodeunhealth' : ''}${s.vouched ? '; vouched for' : ''}` +
  `${s.unreachable ? '; unreachable:NoExecute' : ''}; Pod ${s.pod}`

const barsOf = (stretch: Stretch, y: number): readonly Bar[] => {
  const title = describe(stretch)
  const bars = [
    { y: y + 4, height: 13, colour: seenColour(stretch), title },
    { y: y + 19, height: 7, colour: clusterColour(stretch), title },
  ]
  if (stretch.marked) bars.push({ y: y + 28, height: 4, colour: '#8b1a1a', title })
  if (stretch.vouched) bars.push({ y: y + 28, height: 4, colour: '#2a6fdb', title })
  if (stretch.pod !== 'ready')
    bars.push({ y: y + 34, height: 3, colour: stretch.pod === 'gone' ? '#000' : '#c9a227', title })
  return bars
}

/** The timeline of a cell as inline SVG: a lane per node, what was done above. */
const drawTimeline = (played: Played): string => {
  const names = Object.keys(played.stretches).toSorted((a, b) =>
    a.localeCompare(b, 'en', { numeric: true }),
  )
  const endMs = Math.max(1, played.ms)
  const x = (at: number): number => LEFT + (Math.max(0, at) / endMs) * (WIDTH - LEFT - 10)
  const height = TOP + names.length * LANE + 18
  const parts: string[] = []
  for (const [row, name] of names.entries()) {
    const y = TOP + row * LANE
    parts.push(`<text x="4" y="${y + 16}">${escape(name)}</text>`)
    const own = played.stretches[name]!
    for (const [i, stretch] of own.entries()) {
      const from = x(stretch.from)
      const width = Math.max(1, x(own[i + 1]?.from ?? endMs) - from)
      for (const bar of barsOf(stretch, y))
        parts.push(
          `<rect x="${from.toFixed(1)}" y="${bar.y}" width="${width.toFixed(1)}" height="${bar.height}" ` +
            `fill="${bar.colour}"><title>${seconds(stretch.from)} s: ${escape(bar.title)}</title></rect>`,
        )
    }
  }
  const faults = played.moments.filter(
    moment => moment.kind === 'fault' || moment.kind === 'broken',
  )
  for (const [i, { at, text, kind }] of faults.entries()) {
    const colour = kind === 'fault' ? '#333' : '#d00'
    parts.push(
      `<line x1="${x(at)}" x2="${x(at)}" y1="${TOP - 8}" y2="${height - 16}" stroke="${colour}" stroke-dasharray="3 2">` +
        `<title>${escape(text)}</title></line>`,
      `<text x="${x(at) - 3}" y="${TOP - 11}" fill="${colour}">${i + 1}</text>`,
    )
  }
  for (const { at, node, text, kind } of played.moments) {
    const row = names.indexOf(node)
    if (kind !== 'write' || row < 0) continue
    const y = TOP + row * LANE + 2
    parts.push(
      `<path d="M${x(at)} ${y + 6}l-4 -8h8z" fill="#6b2fb3"><title>${seconds(at)} s: ${escape(text)}</title></path>`,
    )
  }
  for (let tick = 0; tick <= 10; tick++) {
    const at = (endMs * tick) / 10
    parts.push(`<text x="${x(at) - 8}" y="${height - 3}" class="axis">${seconds(at)}</text>`)
  }
  const list = faults.map(
    ({ at, text, kind }) =>
      `<li class="${kind}">${seconds(at)} s: ${escape(text)}${kind === 'broken' ? ' — did not hold' : ''}</li>`,
  )
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img">${parts.join('')}</svg><ol>${list.join('')}</ol>`
}

const wordFor = (one: Claim): string => {
  if (isBroken(one)) return 'NOT'
  if (one.kind === 'measured') return one.ok ? 'came about' : 'did not'
  return 'held'
}

/** Nothing for a cell without units. */
const drawnUnits = ({ units = [], moments, ms }: Played): string =>
  units.length === 0 ? '' : drawPicture(units, moments, ms)

/** Before sums of bytes that may be short. */
const drawUncounted = ({ traffic = [], uncounted = [] }: Played): string =>
  traffic.length === 0
    ? ''
    : uncounted
        .map(why => `<p class="bad">Bytes of this run are not all counted: ${escape(why)}</p>`)
        .join('')

const drawCell = (played: Played): string => {
  const rows = played.claims.map(
    one =>
      `<tr class="${isBroken(one) ? 'bad' : 'ok'}"><td>${wordFor(one)}</td><td>${escape(one.claim)}</td>` +
      `<td>${one.kind === 'becomes' || one.kind === 'measured' ? 'after' : 'for'} ${seconds(one.ms)} s</td></tr>`,
  )
  const writes = played.moments.filter(moment => moment.kind === 'write')
  const list = writes.map(w => `<li>${seconds(w.at)} s: ${escape(w.node)}: ${escape(w.text)}</li>`)
  const notes = played.notes.map(note => `<li>${escape(note)}</li>`).join('')
  const logs = played.logs.length === 0 ? '' : `<pre>${escape(played.logs.join('\n'))}</pre>`
  return (
    `<details ${played.ok ? '' : 'open'}><summary class="${played.ok ? 'ok' : 'bad'}"><b>${escape(played.cell)}</b> ` +
    `${escape(played.shows)} <i>${escape(played.zone)}, seed ${played.seed}</i></summary>${drawTimeline(played)}${drawTraffic(played.lanes ?? [], played.ms)}` +
    drawnUnits(played) +
    `<table>${rows.join('')}</table><ul>${notes}</ul><p>Writes to Nodes, by the audit log: ${writes.length}</p><ul>${list.join('')}</ul>${drawUncounted(played)}${drawNodeTraffic(played.traffic ?? [])}${logs}</details>`
  )
}

const drawFigure = (f: Figure): string => {
  const isBad = f.kind !== 'measured' && f.held !== f.trials
  const cells = [f.zone, f.cell, f.claim].map(text => `<td>${escape(text)}</td>`).join('')
  const times = f.held === 0 ? [] : [f.p50, f.p99, f.max].map(seconds)
  const row = [`${f.held}/${f.trials}`, ...times].map(text => `<td>${text}</td>`).join('')
  return `<tr class="${isBad ? 'bad' : 'ok'}">${cells}${row}</tr>`
}

const drawRun = (run: Run): string => {
  const { command, date, kubernetes, machine, options, durationMs, writes = [] } = run
  const counts = writes.map(tally => `<br>${escape(tallyText(tally))}`).join('')
  return (
    `<li><code>${escape(command)}</code><br>${escape(date)}; Kubernetes ${escape(kubernetes)}; ${escape(machine)}; ` +
    `${options.nodes} nodes, profile ${options.profile}, node-monitor-grace-period ${options.graceMs / 1_000} s, ` +
    `tolerationSeconds ${options.tolerationMs / 1_000}; ${(durationMs / 60_000).toFixed(1)} min${counts}</li>`
  )
}

const STYLE = `body{font:14px/1.45 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}
svg{width:100%;background:#fafafa;margin-top:.5em}svg text{font-size:11px}.axis{fill:#777}
table{border-collapse:collapse;margin:.5em 0}td,th{padding:1px 8px;text-align:left;border-bottom:1px solid #eee}
.bad,.bad td:first-child,li.broken{color:#b00}summary{cursor:pointer;padding:.3em 0}pre{overflow:auto;font-size:11px;background:#f4f4f4}
.key span{display:inline-block;width:1.2em;height:.8em;margin:0 .3em 0 1em}`

const KEY: readonly (readonly [colour: string, meaning: string])[] = [
  ['#bfe3c0', 'all others call it up'],
  ['#f0ad4e', 'some call it down'],
  ['#d9534f', 'all call it down'],
  ['#dfe8f5', 'Ready'],
  ['#888', 'Unknown'],
  ['#444', 'unreachable:NoExecute'],
  ['#8b1a1a', 'marked nodeunhealth'],
  ['#2a6fdb', 'vouched for'],
  ['#c9a227', 'endpoint not ready'],
  ['#000', 'Pod evicted'],
  ['#6b2fb3', 'a write (triangle)'],
]

const HEAD =
  '<tr><th>zone</th><th>cell</th><th>what</th><th>held</th><th>p50</th><th>p99</th><th>max</th></tr>'

const drawTable = (figures: readonly Figure[], kind: Figure['kind']): string => {
  const rows = figures.filter(figure => figure.kind === kind).map(drawFigure)
  return `<table>${HEAD}${rows.join('')}</table>`
}

/** The page. */
export const drawReport = (report: Report): string => {
  const key = KEY.map(([colour, text]) => `<span style="background:${colour}"></span>${text}`)
  const held = report.cells.filter(cell => cell.ok).length
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>edge-health lab</title><style>${STYLE}</style>
<h1>edge-health lab: ${held} of ${report.cells.length} cells held</h1>
<ul>${report.runs.map(drawRun).join('')}</ul>
<p>Not played: ${report.notPlayed.map(escape).join('; ')}.</p>
<h2>Seconds from the fault</h2>
${drawTable(report.figures, 'becomes')}
<h2>What a rogue can bring about</h2>
${drawTable(report.figures, 'measured')}
<h2>Cells</h2>
<p class="key">${key.join('')}</p>
${report.cells.map(drawCell).join('\n')}
</html>
`
}
