// SPDX-License-Identifier: Apache-2.0
// The bars of grids: the bundle as a process, against a real apiserver.
import { parseArgs } from 'node:util'
import { gridRowsOf } from './grids/measure.js'
import { buildBundle, finish, isIsolated, runIsolated } from './wrapper/isolated.js'

const HELP = `usage: npm run bench -- grids [options]
What the controller of grids promises, measured on the bundle against a real kube-apiserver without other controllers. Needs Linux,
namespaces (root, or user namespaces), and the lab's programs (KUBEBUILDER_ASSETS, or they are built).

  --grids 10    DeploymentGrids
  --units 1000  units of each, one node in each
  --idle 60     seconds of rest that are looked at
  --quick       3 grids of 100 units, 10 s of rest; the bars stay
  -o json       the rows as JSON

SuperEdge's controller on the same machine, 10 x 1000 units: 31.6 s, 6.8 s CPU, 10000 creates and 1899 requests in vain, 237 MiB.
Times and memory want a machine that does nothing else.
Exits with 1 when a bar is missed, with 2 for a bad argument.
`

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const refuse = (message: string): never => {
  say(`bench grids: ${message}`)
  process.exit(2)
}

const read = () => {
  try {
    return parseArgs({
      options: {
        grids: { type: 'string' },
        units: { type: 'string' },
        idle: { type: 'string' },
        quick: { type: 'boolean', default: false },
        output: { type: 'string', short: 'o', default: 'text' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    return refuse((error as Error).message)
  }
}

const values = read()
if (values.help) {
  process.stdout.write(HELP)
  process.exit(0)
}
const whole = (name: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise
  return /^\d{1,5}$/.test(text) && Number(text) > 1
    ? Number(text)
    : refuse(`--${name} must be a whole number above 1, got ${text}`)
}
const size = {
  grids: whole('grids', values.grids, values.quick ? 3 : 10),
  units: whole('units', values.units, values.quick ? 100 : 1_000),
  idleMs: 1_000 * whole('idle', values.idle, values.quick ? 10 : 60),
}

if (!isIsolated) {
  buildBundle()
  const ended = runIsolated([], ['--user', '--map-root-user'])
  process.exit(ended ?? refuse('needs network namespaces: run it as root'))
}
finish(await gridRowsOf(size, say), values.output)
