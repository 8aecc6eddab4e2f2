// SPDX-License-Identifier: Apache-2.0
// In which unit connections were answered, over time, as inline SVG: a lane per node, and a line for each thing that was done.
import type { Moment, UnitLane } from '../cell.js'

const WIDTH = 920
const LEFT = 240
const LANE = 46
const HEIGHT = 34
const STEP_MS = 500

const COLOURS = { own: '#5aa469', other: '#e0a030', none: '#222' } as const
const TEXTS = {
  own: 'answered in its own unit',
  other: 'answered in another unit',
  none: 'not answered',
} as const

type Fate = keyof typeof COLOURS
const FATES = ['own', 'other', 'none'] as const

const fateOf = ({ unit, by }: UnitLane['connections'][number]): Fate => {
  if (by === undefined) return 'none'
  return by === unit ? 'own' : 'other'
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** How many met which fate in each half second. */
const inSteps = ({ connections }: UnitLane): ReadonlyMap<number, Record<Fate, number>> => {
  const steps = new Map<number, Record<Fate, number>>()
  for (const connection of connections) {
    const step = Math.floor(connection.at / STEP_MS)
    const counts = steps.get(step) ?? { own: 0, other: 0, none: 0 }
    counts[fateOf(connection)]++
    steps.set(step, counts)
  }
  return steps
}

const drawLane = (lane: UnitLane, y: number, x: (at: number) => number): string => {
  const steps = inSteps(lane)
  const totals = FATES.map(fate =>
    [...steps.values()].reduce((sum, counts) => sum + counts[fate], 0),
  )
  const most = Math.max(1, ...[...steps.values()].map(({ own, other, none }) => own + other + none))
  const parts = [
    `<text x="4" y="${y + 14}">${lane.title}</text>`,
    `<text x="4" y="${y + 30}" class="axis">${totals[0]} inside, ${totals[1]} outside, ${totals[2]} failed</text>`,
  ]
  const width = Math.max(0.8, x(STEP_MS) - x(0) - 0.3)
  for (const [step, counts] of steps) {
    let bottom = y + HEIGHT
    const told = FATES.map(fate => `${counts[fate]} ${TEXTS[fate]}`).join(', ')
    for (const fate of FATES) {
      const height = (counts[fate] / most) * (HEIGHT - 4)
      bottom -= height
      if (height > 0)
        parts.push(
          `<rect x="${x(step * STEP_MS).toFixed(1)}" y="${bottom.toFixed(1)}" width="${width.toFixed(1)}" ` +
            `height="${height.toFixed(1)}" fill="${COLOURS[fate]}"><title>${seconds(step * STEP_MS)} s: ${told}</title></rect>`,
        )
    }
  }
  return parts.join('')
}

/** The lanes with their key; nothing when there are none. Titles and texts are taken as they are: no markup in them. */
export const drawUnits = (
  lanes: readonly UnitLane[],
  moments: readonly Pick<Moment, 'at' | 'kind' | 'text'>[],
  endMs: number,
): string => {
  if (lanes.length === 0) return ''
  const x = (at: number): number =>
    LEFT + (Math.min(endMs, Math.max(0, at)) / Math.max(1, endMs)) * (WIDTH - LEFT - 10)
  const height = lanes.length * LANE
  const lines = moments
    .filter(({ kind }) => kind === 'fault')
    .map(
      ({ at, text }) =>
        `<line x1="${x(at).toFixed(1)}" x2="${x(at).toFixed(1)}" y1="0" y2="${height}" stroke="#36c" stroke-dasharray="3 3">` +
        `<title>${seconds(at)} s: ${text}</title></line>`,
    )
  const rows = lanes.map((lane, row) => drawLane(lane, row * LANE, x))
  const key = FATES.map(fate => `<span style="background:${COLOURS[fate]}"></span>${TEXTS[fate]}`)
  return (
    `<p class="key">${key.join('')}, per half second</p>` +
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height + 4}" role="img" font-family="sans-serif" font-size="12">` +
    `${rows.join('')}${lines.join('')}</svg>`
  )
}
