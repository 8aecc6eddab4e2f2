// SPDX-License-Identifier: Apache-2.0
import { runProgram, type Parts } from '../cli/program.js'
import { systemClock } from '../core/clock.js'
import type { FakeClock } from './fake-clock.js'

/** What a command line left behind. */
export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

const noParts: Parts = { lazyCommands: [], loadAgent: undefined }

/** The whole program in this process, with captured output. */
export const runCli = async (
  argv: readonly string[],
  more: {
    readonly env?: Record<string, string>
    readonly files?: Record<string, string>
    readonly signal?: AbortSignal
    readonly clock?: FakeClock
    readonly parts?: Partial<Parts>
    readonly isTTY?: boolean
    readonly onOut?: (all: string) => void
  } = {},
): Promise<Ran> => {
  let out = ''
  let err = ''
  const code = await runProgram(
    argv,
    {
      env: more.env ?? {},
      stdout: {
        write: text => {
          out += typeof text === 'string' ? text : Buffer.from(text).toString('utf8')
          more.onOut?.(out)
        },
        isTTY: more.isTTY,
        columns: 100,
      },
      stderr: { write: text => (err += String(text)) },
      readFile: path => {
        const text = more.files?.[path]
        if (text === undefined) throw new Error('no such file')
        return text
      },
      signal: more.signal ?? new AbortController().signal,
      clock: more.clock ?? systemClock,
    },
    { ...noParts, ...more.parts },
  )
  return { code, out, err }
}
