// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { type Paint, seconds } from './table.js'

/** Where a demo is shown. */
export interface Output {
  write(text: string): unknown
  readonly columns?: number | undefined
  readonly rows?: number | undefined
}

/** Lines of text, and below them a picture that is redrawn in place. */
export interface Screen {
  readonly paint: Paint
  /** Whether pictures are shown. */
  readonly hasPicture: boolean
  /** Draws the zone's state. */
  picture(draw: (room: { columns: number; rows: number }, paint: Paint) => readonly string[]): void
  /** What happens now. */
  line(text: string): void
  /** What is said at the end, as it is. */
  text(text: string): void
  /** Leave the last picture, with the cursor below it. */
  end(): void
}

/** Lines, those of what happens with the time since the start; no pictures. For files, pipes and CI. */
export const plainScreen = (output: Output, clock: Clock, paint: Paint): Screen => {
  const startedAt = clock.now()
  return {
    paint,
    hasPicture: false,
    picture: () => undefined,
    line: text => {
      output.write(`${seconds(clock.now() - startedAt).padStart(8)}  ${text}\n`)
    },
    text: text => {
      output.write(`${text}\n`)
    },
    end: () => undefined,
  }
}

const ROOM_FOR_LINES = 8

/** A terminal: the picture is drawn in place, below the lines. */
export const terminalScreen = (output: Output, clock: Clock, paint: Paint): Screen => {
  const lines = plainScreen(output, clock, paint)
  let drawn: readonly string[] = []
  const erase = (): string => (drawn.length === 0 ? '' : `\u001b[${drawn.length}A\u001b[J`)
  const show = (picture: readonly string[]): void => {
    output.write(erase() + picture.map(line => `${line}\n`).join(''))
    drawn = picture
  }
  const above = (write: () => void): void => {
    const picture = drawn
    output.write(erase())
    drawn = []
    write()
    show(picture)
  }
  return {
    paint,
    hasPicture: true,
    picture: draw => {
      const rows = Math.max(4, (output.rows ?? 24) - ROOM_FOR_LINES)
      const next = draw({ columns: output.columns ?? 80, rows }, paint)
      if (next.join('\n') !== drawn.join('\n')) show(next)
    },
    line: text => above(() => lines.line(text)),
    text: text => above(() => lines.text(text)),
    end: () => {
      drawn = []
    },
  }
}
