// SPDX-License-Identifier: Apache-2.0
// What the kernels knew of a Service and what became of the connections, as inline SVG: a lane per node.
import type { Lane } from './cell.js'

const WIDTH = 920
const LEFT = 240
const LANE = 34
const STEP_MS = 500

type Known = Lane['knew'][number]

const COLOURS = { none: '#bbb', right: '#bfe3c0', wrong: '#d9534f' } as const

const colourOf = ({ backends, isWrong }: Known): string => {
  if (backends === undefined) return COLOURS.none
  return isWrong ? COLOURS.wrong : COLOURS.right
}

const wordsFor = ({ backends, isWrong }: Known): string =>
  backends === undefined ? 'no rules' : `${backends} backends${isWrong ? ', one of them dead' : ''}`

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** How many failed in each half second. */
const inSteps = (failed: readonly number[]): ReadonlyMap<number, number> => {
  const counts = new Map<number, number>()
  for (const at of failed) {
    const step = Math.floor(at / STEP_MS)
    counts.set(step, (counts.get(step) ?? 0) + 1)
  }
  return counts
}

const drawLane = (lane: Lane, y: number, x: (at: number) => number, endMs: number): string => {
  const parts = [`<text x="4" y="${y + 12}">${lane.title}</text>`]
  for (const [i, known] of lane.knew.entries()) {
    const from = x(known.from)
    const width = Math.max(0.5, x(lane.knew[i + 1]?.from ?? endMs) - from)
    parts.push(
      `<rect x="${from.toFixed(1)}" y="${y + 2}" width="${width.toFixed(1)}" height="12" fill="${colourOf(known)}">` +
        `<title>${seconds(known.from)} s: ${wordsFor(known)}</title></rect>`,
    )
  }
  for (const [step, count] of inSteps(lane.failed)) {
    const height = Math.min(12, 2 + count * 2)
    const width = Math.max(1, x(STEP_MS) - x(0) - 0.5)
    parts.push(
      `<rect x="${x(step * STEP_MS).toFixed(1)}" y="${y + 28 - height}" width="${width.toFixed(1)}" height="${height}" ` +
        `fill="#222"><title>${seconds(step * STEP_MS)} s: ${count} failed</title></rect>`,
    )
  }
  parts.push(
    `<text x="4" y="${y + 26}" class="axis">${lane.failed.length} of ${lane.asked} failed</text>`,
  )
  return parts.join('')
}

/** The lanes with their key; nothing when there are none. */
export const drawTraffic = (lanes: readonly Lane[], endMs: number): string => {
  if (lanes.length === 0) return ''
  const x = (at: number): number =>
    LEFT + (Math.min(endMs, Math.max(0, at)) / Math.max(1, endMs)) * (WIDTH - LEFT - 10)
  const rows = lanes.map((lane, row) => drawLane(lane, row * LANE, x, endMs))
  const key = [
    [COLOURS.right, 'living backends in the kernel'],
    [COLOURS.wrong, 'a dead one among them'],
    [COLOURS.none, 'no rules'],
    ['#222', 'connections that failed, per half second'],
  ].map(([colour, text]) => `<span style="background:${colour}"></span>${text}`)
  return (
    `<p class="key">${key.join('')}</p>` +
    `<svg viewBox="0 0 ${WIDTH} ${lanes.length * LANE + 4}" role="img">${rows.join('')}</svg>`
  )
}
