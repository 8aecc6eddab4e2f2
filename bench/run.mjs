// SPDX-License-Identifier: Apache-2.0
// `npm run bench -- NAME [ARGUMENTS]`: bundles bench/NAME.ts, which takes a second, and runs it with its arguments.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeSingleFile } from '../testkit/single-file.mjs'
import { useOwnFolder } from './own-folder.mjs'

/** Each is a file bench/NAME.ts that reads process.argv, knows --help and sets the exit code; its parts are in bench/NAME/. */
const COMMANDS = {
  agent: 'what one agent costs: CPU, memory and bytes of a real process in a played zone',
  partitions: 'zones that are cut in two: who hides whom, and that a minority writes nothing',
  soak: 'whether an agent grows: memory and handles over an hour of churn',
  grids:
    'what the controller of grids promises, against a real apiserver: requests, time, CPU, memory',
  bridge:
    'what the bridge promises, against a real apiserver with hundreds of edges: Leases, memory, CPU, floods',
  admission: 'what the webhook promises: the time of answers, memory',
  wrapper: 'what the wrapper promises: time, CPU, memory, lists, lost events',
  scale: 'detection, traffic and mistakes from 3 to 10000 nodes, in virtual time',
  page: "what the agent's page and its texts cost; --picture FOLDER makes the docs' pictures of it",
  fleet:
    'a thousand clients after an apiserver restart and after an outage: requests over time, bytes, CPU, beside client-go',
  dashboards:
    'the pictures of the dashboards and the history of alerts, from a real Prometheus over two zones',
  'traffic-picture': "the docs' picture of what an agent sends and receives, from runs of agent",
  wire: 'what the bytes of 150000 endpoints cost the wrapper',
}

const usage = () => {
  const rows = Object.entries(COMMANDS).map(([name, what]) => `  ${name.padEnd(17)}${what}`)
  return `usage: npm run bench -- NAME [options]\n${rows.join('\n')}\nnpm run bench -- NAME --help tells more.`
}

const [name = '', ...rest] = process.argv.slice(2)
if (name === '--help' || name === '-h') {
  console.log(usage())
  process.exit(0)
}
if (!Object.hasOwn(COMMANDS, name)) {
  console.error(`no bench has the name ${JSON.stringify(name)}\n${usage()}`)
  process.exit(2)
}

const root = join(import.meta.dirname, '..')
const entry = join(root, 'bench', `${name}.ts`)
// A file of its own for each run: its workers load it too, and another run may begin meanwhile.
const outfile = join(root, '.cache', `bench-${name}-${process.pid}.mjs`)
process.on('exit', () => rmSync(outfile, { force: true }))
useOwnFolder()
await makeSingleFile(entry, outfile)
process.argv = [process.argv[0], entry, ...rest]
try {
  await import(pathToFileURL(outfile).href)
} catch (error) {
  if (!/^ERR_PARSE_ARGS/.test(error.code)) throw error
  console.error(`bench ${name}: ${error.message}`)
  process.exitCode = 2
}
