// SPDX-License-Identifier: Apache-2.0
// Where an agent's bytes go, as stacked bars: one block for each other end, one bar for each zone size.
import { KINDS, type Kind } from '../../testkit/meter/connection.js'
import type { Entry } from '../../testkit/meter/ledger.js'
import { megabytesADay, sumOf } from '../../testkit/meter/traffic.js'

/** What was counted at the interface in one run. */
export interface TrafficRun {
  readonly nodes: number
  readonly link: { readonly seconds: number; readonly entries: readonly Entry[] }
}

const ENDS = [
  ['apiserver', "cloud link: the agent's apiserver"],
  ['peers', 'agents of the zone'],
  ['kubelets', 'kubelets of the zone'],
] as const

const COLOURS: Readonly<Record<Kind, string>> = {
  request: '#3b5b7a',
  answer: '#6f9fcf',
  watch: '#5aa469',
  keepalive: '#a03a2c',
  ack: '#a9b4c0',
  handshake: '#c99a2e',
  other: '#8a6fb0',
}

const WIDTH = 960
const LEFT = 110
/** The longest bar of each block. */
const LONGEST = 720
const LINE = 30

const STYLE = `
    .ground { fill: #fbfcfe }
    text { fill: #1d2733 }
    .small { font-size: 11.5px; fill: #46566a }
    .head { font-size: 15px; font-weight: 600 }
${KINDS.map(kind => `    .${kind} { fill: ${COLOURS[kind]} }`).join('\n')}
    @media (prefers-color-scheme: dark) {
      .ground { fill: #10161d }
      text { fill: #e6edf4 }
      .small { fill: #a9b9c9 }
      .request { fill: #56799c }
    }`

const text = (x: number, y: number, words: string, style = ''): string =>
  `<text${style === '' ? '' : ` class="${style}"`} x="${x}" y="${y}">${words}</text>`

const shown = (megabytes: number): string => megabytes.toFixed(megabytes < 10 ? 1 : 0)

/** Megabytes a day of each kind, both ways, that occurred. */
const partsOf = ({ link }: TrafficRun, end: string): readonly (readonly [Kind, number])[] =>
  KINDS.map(
    kind => [kind, megabytesADay(sumOf(link.entries, { end, kind }).bytes, link.seconds)] as const,
  ).filter(([, megabytes]) => megabytes > 0)

const sumOfParts = (parts: readonly (readonly [Kind, number])[]): number =>
  parts.reduce((sum, [, megabytes]) => sum + megabytes, 0)

const bar = (run: TrafficRun, end: string, { y, most }: { y: number; most: number }): string => {
  const parts = partsOf(run, end)
  let x = LEFT
  const rects = parts.map(([kind, megabytes]) => {
    const width = (megabytes / most) * LONGEST
    const rect = `<rect class="${kind}" x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="20"><title>${kind}: ${megabytes.toFixed(2)} MB</title></rect>`
    x += width
    return rect
  })
  const total = text(Math.ceil(x) + 8, y + 15, shown(sumOfParts(parts)), 'small')
  return [text(20, y + 15, `N=${run.nodes}`), ...rects, total].join('\n  ')
}

const block = (
  runs: readonly TrafficRun[],
  [end, name]: (typeof ENDS)[number],
  top: number,
): string => {
  const most = Math.max(...runs.map(run => sumOfParts(partsOf(run, end))))
  const bars = runs.map((run, index) => bar(run, end, { y: top + 14 + index * LINE, most }))
  return [text(20, top, name, 'head'), ...bars].join('\n  ')
}

const legend = (kinds: readonly Kind[], y: number): string =>
  kinds
    .map((kind, index) => {
      const x = LEFT + index * 110
      return `<rect class="${kind}" x="${x}" y="${y}" width="14" height="14"/>${text(x + 20, y + 12, kind, 'small')}`
    })
    .join('\n  ')

/** What the picture says, for those who do not see it. */
const description = (runs: readonly TrafficRun[]): string =>
  ENDS.flatMap(([end, name]) =>
    runs.map(run => {
      const parts = partsOf(run, end).map(([kind, megabytes]) => `${kind} ${megabytes.toFixed(2)}`)
      return `${name}, N=${run.nodes}: ${parts.join(', ')}`
    }),
  ).join('; ')

/** @returns a picture as SVG; each block has a scale of its own */
export const drawTraffic = (runs: readonly TrafficRun[]): string => {
  const step = 34 + runs.length * LINE
  const top = 72
  const kinds = KINDS.filter(kind =>
    runs.some(({ link }) => sumOf(link.entries, { kind }).bytes > 0),
  )
  const height = top + ENDS.length * step + 20
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="t d" font-family="system-ui, -apple-system, 'Segoe UI', sans-serif" font-size="14">
  <title id="t">What one agent sends and receives in a day, in MB</title>
  <desc id="d">${description(runs)}.</desc>
  <style>${STYLE}
  </style>
  <rect class="ground" width="${WIDTH}" height="${height}"/>
  ${text(20, 30, 'What one agent sends and receives in a day, MB of whole IP packets', 'head')}
  ${ENDS.map((end, index) => block(runs, end, top + index * step)).join('\n  ')}
  ${legend(kinds, height - 30)}
</svg>
`
}
