// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { systemClock } from '../core/clock.js'
import { lazyCommands, loadAgent } from './lazy-commands.js'
import { runProgram } from './program.js'

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
// `edge-health status | head` is not an error.
process.stdout.on('error', () => process.exit(0))

const context = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  readFile: (path: string) => readFileSync(path, 'utf8'),
  signal: stopping.signal,
  clock: systemClock,
}
void runProgram(process.argv.slice(2), context, { lazyCommands, loadAgent }).then(code => {
  // A command (the demo) may have set another code already.
  if (code !== 0) process.exitCode = code
  // Handles that are still open one second after all was said, and read, do not keep the process alive.
  process.stdout.write('', () => void setTimeout(() => process.exit(), 1_000).unref())
})
