// SPDX-License-Identifier: Apache-2.0
// Draws what runs of `bench -- agent` counted at the interface.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { reasonOf } from '../core/errors.js'
import { drawTraffic, type TrafficRun } from './traffic-picture/draw.js'

const HELP = `usage: npm run bench -- traffic-picture RUNS.json PICTURE.svg
RUNS.json is what \`npm run -s bench -- agent -o json > RUNS.json\` printed. For each other end (apiserver, peers, kubelets)
and each zone size a bar: bytes both ways by what they are for, as a day of it.
`

/** @throws Error that names the file, where it holds no runs whose bytes were counted */
const runsOf = (path: string): readonly TrafficRun[] => {
  const wrong = (why: string): Error =>
    new Error(`${path}: ${why}; make it with -o json and a real apiserver`)
  let runs: unknown
  try {
    runs = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw wrong(reasonOf(error))
  }
  const isRun = (run: unknown): run is TrafficRun =>
    typeof run === 'object' && run !== null && 'nodes' in run && 'link' in run
  if (!Array.isArray(runs) || runs.length === 0 || !runs.every(isRun))
    throw wrong('it holds no runs with bytes at the interface')
  return runs
}

const main = (): void => {
  const { values, positionals } = parseArgs({
    options: { help: { type: 'boolean', short: 'h', default: false } },
    allowPositionals: true,
  })
  const [from, to] = positionals
  if (values.help) process.stdout.write(HELP)
  else if (from === undefined || to === undefined || positionals.length > 2) {
    process.stderr.write(HELP)
    process.exitCode = 2
  } else
    try {
      writeFileSync(to, drawTraffic(runsOf(from)))
    } catch (error) {
      process.stderr.write(`bench traffic-picture: ${reasonOf(error)}\n`)
      process.exitCode = 1
    }
}

main()
