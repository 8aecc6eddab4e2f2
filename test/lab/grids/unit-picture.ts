// SPDX-License-Identifier: Apache-2.0
// In which unit connections were answered, over time, as inline SVG: a lane per node, and a line for each thing that was done.
import type { Moment, UnitLane } from '../cell.js'

const WIDTH = 920
const LEFT = 240
const LANE = 46
const HEIGHT = 34
const STEP_MS = 1_000

const COLOURS = { own: '#5aa469', other: '#e0a030', none: '#222' } as const
const TEXTS = {
  own: 'answered in its own unit',
  other: 'answered in another unit',
  none: 'not answered',
} as const

type Outcome = keyof typeof COLOURS
const OUTCOMES = ['own', 'other', 'none'] as const

const outcomeOf = ({ unit, by }: UnitLane['connections'][number]): Outcome => {
  if (by === undefined) return 'none'
  return by === unit ? 'own' : 'other'
}

const escape = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** How many met which outcome in each second. */
const inSteps = ({ connections }: UnitLane): ReadonlyMap<number, Record<Outcome, number>> => {
  const steps = new Map<number, Record<Outcome, number>>()
  for (const connection of connections) {
    const step = Math.floor(connection.at / STEP_MS)
    const counts = steps.get(step) ?? { own: 0, other: 0, none: 0 }
    counts[outcomeOf(connection)]++
    steps.set(step, counts)
  }
  return steps
}

const drawLane = (lane: UnitLane, y: number, x: (at: number) => number): string => {
  const steps = inSteps(lane)
  const totals = OUTCOMES.map(outcome =>
    [...steps.values()].reduce((sum, counts) => sum + counts[outcome], 0),
  )
  const most = Math.max(1, ...[...steps.values()].map(({ own, other, none }) => own + other + none))
  const parts = [
    `<text x="4" y="${y + 14}">${escape(lane.title)}</text>`,
    `<text x="4" y="${y + 30}" class="axis">${totals[0]} inside, ${totals[1]} outside, ${totals[2]} failed</text>`,
  ]
  const width = Math.max(0.8, x(STEP_MS) - x(0) - 0.3)
  for (const [step, counts] of steps) {
    const text = OUTCOMES.map(outcome => `${counts[outcome]} ${TEXTS[outcome]}`).join(', ')
    parts.push(`<g><title>${seconds(step * STEP_MS)} s: ${text}</title>`)
    let bottom = y + HEIGHT
    for (const outcome of OUTCOMES) {
      const height = (counts[outcome] / most) * (HEIGHT - 4)
      bottom -= height
      if (height > 0)
        parts.push(
          `<rect x="${x(step * STEP_MS).toFixed(1)}" y="${bottom.toFixed(1)}" width="${width.toFixed(1)}" ` +
            `height="${height.toFixed(1)}" fill="${COLOURS[outcome]}"/>`,
        )
    }
    parts.push('</g>')
  }
  return parts.join('')
}

/** A picture that stands by itself: the lanes, what was done and when, and the key. */
export const drawPicture = (
  lanes: readonly UnitLane[],
  moments: readonly Pick<Moment, 'at' | 'kind' | 'text'>[],
  endMs: number,
): string => {
  const x = (at: number): number =>
    LEFT + (Math.min(endMs, Math.max(0, at)) / Math.max(1, endMs)) * (WIDTH - LEFT - 10)
  const height = lanes.length * LANE
  const done = moments.filter(({ kind }) => kind === 'fault')
  const lines = done.map(({ at, text }, i) => {
    const [left, what] = [x(at).toFixed(1), `${seconds(at)} s: ${escape(text)}`]
    return (
      `<line x1="${left}" x2="${left}" y1="0" y2="${height}" stroke="#36c" stroke-dasharray="3 3"><title>${what}</title></line>` +
      `<text x="${left}" y="${height + 12}" text-anchor="middle" fill="#36c">${i + 1}</text>` +
      `<text x="4" y="${height + 44 + i * 14}" class="axis">${i + 1}: ${what}</text>`
    )
  })
  const key = OUTCOMES.map(
    (outcome, i) =>
      `<rect x="${LEFT + i * 200}" y="${height + 18}" width="10" height="10" fill="${COLOURS[outcome]}"/>` +
      `<text x="${LEFT + i * 200 + 14}" y="${height + 27}">${TEXTS[outcome]}</text>`,
  )
  const rows = lanes.map((lane, row) => drawLane(lane, row * LANE, x))
  const whole = height + 44 + done.length * 14
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${whole}" role="img" font-family="sans-serif" font-size="11">` +
    `<rect width="${WIDTH}" height="${whole}" fill="#fff"/>${rows.join('')}${lines.join('')}${key.join('')}</svg>`
  )
}
