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
    // The second one does not ask.
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
  // A command of its own (the demo) may have said worse already.
  if (code !== 0) process.exitCode = code
  // Whatever still holds the process after its work is done gets a second.
  setTimeout(() => process.exit(), 1_000).unref()
})
