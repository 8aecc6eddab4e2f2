// SPDX-License-Identifier: Apache-2.0
// Draws what runs of `bench -- agent` counted at the interface.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { drawTraffic, type TrafficRun } from './traffic-picture/draw.js'

const HELP = `usage: npm run bench -- traffic-picture RUNS.json PICTURE.svg
RUNS.json is what \`npm run -s bench -- agent -o json > RUNS.json\` printed. For each other end (apiserver, peers, kubelets)
and each zone size a bar: bytes both ways by what they are for, as a day of it.
`

/** @throws RangeError where the file holds no runs whose bytes were counted */
const runsOf = (path: string): readonly TrafficRun[] => {
  const runs: unknown = JSON.parse(readFileSync(path, 'utf8'))
  const isRun = (run: unknown): run is TrafficRun =>
    typeof run === 'object' && run !== null && 'nodes' in run && 'link' in run
  if (!Array.isArray(runs) || runs.length === 0 || !runs.every(isRun))
    throw new RangeError(
      `${path}: no runs with bytes at the interface; make it with -o json, with a real apiserver`,
    )
  return runs
}

const { values, positionals } = parseArgs({
  options: { help: { type: 'boolean', short: 'h', default: false } },
  allowPositionals: true,
})
const [from, to] = positionals
if (values.help) process.stdout.write(HELP)
else if (from === undefined || to === undefined || positionals.length > 2) {
  process.stderr.write(HELP)
  process.exitCode = 2
} else writeFileSync(to, drawTraffic(runsOf(from)))
