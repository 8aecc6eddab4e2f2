// SPDX-License-Identifier: Apache-2.0
// What one agent costs: the shipped file with the image's flags on one core, and a world on another that plays the
// other nodes and their kubelets at their true rates, before a real apiserver. Bytes are counted at the interface.
import { spawnSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { buildMeter, cutPackets } from '../testkit/meter/meter.js'
import { TRAFFIC_HEAD, trafficRows } from '../testkit/meter/traffic.js'
import { inColumns } from './scale/figures.js'
import { isIsolated, runIsolated } from './wrapper/isolated.js'
import { drawTable } from './wrapper/table.js'
import { buildBundle, bundle } from './agent/agent-process.js'
import { IMAGE_FLAGS } from '../sandbox/image.js'
import { barRows, isFailed, type BarRow } from './agent/bars.js'
import { parseIdentityMode, refusedIn } from './agent/belief.js'
import { measureCost, type Cost } from './agent/cost.js'
import { figuresOf } from './agent/link.js'
import { KUBELETS } from './agent/world/cluster.js'
import { AS_WORLD } from './agent/world-process.js'
import { runWorld } from './agent/world/main.js'

const HELP = `usage: npm run bench -- agent [options]
  --nodes 10,100,1000   zone sizes, one run each
  --minutes 5           of each run; a fifth of it, one minute at most, is for settling
  --profile default     or fast, or superedge (all peers are of ours)
  --identity prefer     or require: the agent and the played members sign with keys of their own, which all know; or off
  --cgroup              in a cgroup of 50m CPU and 100Mi: must be ready within 10 s and miss no round
  --node PATH           the Node.js to run the agent; default: the one that runs this
  --no-flags            without the image's flags for V8
  --flags="--a --b"     these flags instead
  --script FILE         default: dist/edge-health.cjs
  --agent-core 1, --world-core 0
  --apiserver real      or played: without TLS and without root, and nothing is counted at the interface
  --block 90            addresses are 127.BLOCK.x.y
  --option NAME=VALUE   an option of the agent; may be repeated
  --log FILE            where the agent's own output goes
  -o, --output json
${KUBELETS} A real apiserver needs root, Go, iproute2
and the lab's programs (KUBEBUILDER_ASSETS, or they are built). Bytes at the interface are whole IP packets: TLS, headers,
acknowledgements, keepalives. They are not decrypted: "watch" is what the other side sends later than 2 s after a request,
"keepalive" TCP's probes and HTTP/2's PINGs with their answers, "ack" other empty segments, "handshake" TCP and TLS from
opening to the first request, and closing.
Columns: "bodies" are those of messages to peers, "sent" and "got" the same with HTTP, "proved" the members whose own
signature stands behind what the agent knows of them, "refused" messages that one side did not believe.
A run is invalid, and the exit code 1, when the world used more than 70 % of its core, when others that are not
nice used more than a fifth of the agent's, when a message was refused or lost, when a member was not proved, or when not
all packets were counted.
N=10, 100 and 1000 have bars in the default profile. The exit code is 1, too, when one of bytes is missed. Those of CPU and memory
depend on the machine: they are only printed, and so is that of the cloud link in runs shorter than 12 minutes, which make a day of
what comes at a start.
`

const isWorld = process.argv[2] === AS_WORLD

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '10,100,1000' },
    minutes: { type: 'string', default: '5' },
    profile: { type: 'string', default: 'default' },
    identity: { type: 'string', default: 'prefer' },
    cgroup: { type: 'boolean', default: false },
    node: { type: 'string', default: process.execPath },
    'no-flags': { type: 'boolean', default: false },
    flags: { type: 'string' },
    script: { type: 'string', default: bundle },
    'agent-core': { type: 'string', default: '1' },
    'world-core': { type: 'string', default: '0' },
    apiserver: { type: 'string', default: 'real' },
    block: { type: 'string', default: '90' },
    option: { type: 'string', multiple: true, default: [] },
    log: { type: 'string' },
    output: { type: 'string', short: 'o', default: 'text' },
    help: { type: 'boolean', short: 'h', default: false },
  },
  args: isWorld ? [] : process.argv.slice(2),
})

const flagsOf = (): readonly string[] => {
  if (values.flags !== undefined) return values.flags.split(' ').filter(flag => flag !== '')
  return values['no-flags'] ? [] : IMAGE_FLAGS
}

const one = (value: number, digits = 1): string => value.toFixed(digits)

const linkCells = ({ link }: Cost): readonly string[] => {
  if (link === undefined) return ['-', '-']
  const { sentToZonePerSecond, cloudMegabytesADay } = figuresOf(link)
  return [one(sentToZonePerSecond, 0), one(cloudMegabytesADay)]
}

const row = (cost: Cost): readonly string[] => [
  String(cost.nodes),
  one(cost.cpuMsPerSecond, 2),
  one(cost.rssMiB),
  one(cost.pssMiB),
  one(cost.anonMiB),
  one(cost.peakMiB),
  one(cost.bodyBytesPerSecond, 0),
  one(cost.exchange.sentBytesPerSecond, 0),
  one(cost.exchange.receivedBytesPerSecond, 0),
  ...linkCells(cost),
  one(cost.probesPerSecond, 2),
  one(cost.wakeupsPerSecond),
  one(cost.readyMs / 1_000, 2),
  String(cost.missedRounds),
  String(cost.belief.proved),
  String(refusedIn(cost.belief)),
  cost.faults.length === 0 ? 'yes' : 'NO',
]

const HEAD = [
  ...['N', 'CPU ms/s', 'RSS MiB', 'PSS', 'anon', 'peak', 'bodies B/s', 'sent B/s', 'got B/s'],
  ...['zone B/s', 'cloud MB/day'],
  ...['probes/s', 'wakes/s', 'ready s', 'missed', 'proved', 'refused', 'valid'],
]

const say = (line: string): void => void process.stderr.write(`${line}\n`)

/** Columns of bytes: what the exchange sent, without TCP and IP; what left for the zone and all of the cloud link, with them. */
const trafficText = ({ nodes, link }: Cost): string =>
  link === undefined
    ? ''
    : `\nN=${nodes}, at the interface:\n${inColumns(TRAFFIC_HEAD, trafficRows(link.entries, link.seconds))}\n`

/** What a run came to, beside its bars. */
interface Judged extends Cost {
  readonly bars: readonly BarRow[]
}

const barsText = ({ bars }: Judged): string => (bars.length === 0 ? '' : `\n${drawTable(bars)}\n`)

const main = async (): Promise<void> => {
  if (values.help) {
    process.stdout.write(HELP)
    return
  }
  const isReal = values.apiserver === 'real'
  if (!isReal && values.apiserver !== 'played')
    throw new RangeError(`--apiserver must be real or played, got ${values.apiserver}`)
  if (isReal && !isIsolated) {
    const ended = await runIsolated({ prepare: () => void buildMeter(process.env) })
    if (ended === undefined)
      throw new Error(
        'a real apiserver needs network namespaces: run it as root, or with --apiserver=played',
      )
    process.exitCode = ended
    return
  }
  if (isReal) {
    cutPackets('lo')
    // What it starts shares the world's core, but the agent.
    spawnSync('taskset', ['-apc', values['world-core'], String(process.pid)])
  }
  if (values.script === bundle) buildBundle()
  const identity = parseIdentityMode(values.identity)
  const minutes = Number(values.minutes)
  const costs: Judged[] = []
  for (const nodes of values.nodes.split(',').map(Number)) {
    const cost = await measureCost({
      nodes,
      minutes,
      profile: values.profile,
      identity,
      isInCgroup: values.cgroup,
      node: values.node,
      flags: flagsOf(),
      script: values.script,
      agentCore: Number(values['agent-core']),
      worldCore: Number(values['world-core']),
      block: Number(values.block),
      log: values.log,
      options: values.option.map(option => `--${option}`),
      bench: fileURLToPath(import.meta.url),
      ...{ isReal, say },
    })
    costs.push({ ...cost, bars: barRows(cost, { profile: values.profile, identity, minutes }) })
    process.stderr.write(`${JSON.stringify(cost)}\n`)
  }
  if (values.output === 'json') process.stdout.write(`${JSON.stringify(costs, undefined, 2)}\n`)
  else {
    const version = costs[0]?.version ?? ''
    process.stdout.write(
      `profile ${values.profile}, identity ${values.identity}, ${values.minutes} min, Node ${version}, flags ${flagsOf().join(' ') || 'none'}, load ${loadavg()[0]!.toFixed(1)}\n` +
        `${inColumns(HEAD, costs.map(row))}\n${costs.map(trafficText).join('')}` +
        costs.map(barsText).join(''),
    )
  }
  for (const { nodes, faults } of costs)
    for (const fault of faults) process.stderr.write(`N=${nodes}: ${fault}\n`)
  process.exitCode = costs.some(({ faults, bars }) => faults.length > 0 || isFailed(bars)) ? 1 : 0
}

if (isWorld) runWorld()
else await main()
