// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { systemClock } from '../core/clock.js'
import { runProgram, type Parts } from './program.js'

/** Small buffers share a pool, and one long-lived buffer keeps its whole pool in memory. Pools of Node.js 24 have 64 KiB. */
const POOL_BYTES = 8 * 1024

/** Run the command of this process, with the parts that this build contains. */
export const start = (parts: Parts): void => {
  Buffer.poolSize = POOL_BYTES
  const stopping = new AbortController()
  for (const [name, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
  ] as const) {
    process.on(name, () => {
      // A second signal ends the process at once.
      if (stopping.signal.aborted) process.exit(128 + number)
      stopping.abort(name)
    })
  }
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    // `edge-health status | head` is not an error; a full disk is.
    if (error.code === 'EPIPE') process.exit(0)
    process.stderr.write(`edge-health: the output cannot be written: ${error.message}\n`)
    process.exit(1)
  })

  const context = {
    env: process.env,
    stdout: process.stdout,
    stderr: process.stderr,
    readFile: (path: string) => readFileSync(path, 'utf8'),
    signal: stopping.signal,
    clock: systemClock,
  }
  void runProgram(process.argv.slice(2), context, parts).then(code => {
    // A command (the demo) may have set another code already.
    if (code !== 0) process.exitCode = code
    // Handles that are still open one second after all output was read do not keep the process alive.
    process.stdout.write('', () => void setTimeout(() => process.exit(), 1_000).unref())
  })
}
