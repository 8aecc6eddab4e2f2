// SPDX-License-Identifier: Apache-2.0
import { titleOf, type Job } from './job.js'

/** How far a run is, on the terminal: one line that is written over; elsewhere one line per ten seconds. */
export interface Progress {
  done(job: Job): void
  /** A row that is done while others are not: shown if the run is a long one, which may be stopped before its end. */
  row(text: string): void
  end(): void
}

const QUIET_MS = 10_000
const LONG_MS = 60_000

export const showProgress = (total: number, out: NodeJS.WriteStream = process.stderr): Progress => {
  const startedAt = performance.now()
  let count = 0
  let saidAt = startedAt
  const seconds = (): string => ((performance.now() - startedAt) / 1_000).toFixed(0)
  return {
    done: job => {
      count++
      const line = `${seconds()} s  ${count} of ${total} zones done; last ${titleOf(job)}`
      if (out.isTTY) {
        out.write(`\r\u001b[2K${line.slice(0, out.columns - 1)}`)
        return
      }
      if (count < total && performance.now() - saidAt < QUIET_MS) return
      saidAt = performance.now()
      out.write(`${line}\n`)
    },
    row: text => {
      if (count === total || performance.now() - startedAt < LONG_MS) return
      out.write(`${out.isTTY ? '\r\u001b[2K' : ''}${text}`)
    },
    end: () => {
      if (out.isTTY) out.write('\r\u001b[2K')
    },
  }
}
