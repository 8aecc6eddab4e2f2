// SPDX-License-Identifier: Apache-2.0
// What an agent costs: a healthy zone of real processes from the bundle, left alone, read from /proc (Linux).
//   npm run measure [-- --nodes 10 --minutes 5 --profile default -o json]
// CPU and bytes are of the time behind a settling minute; memory is at the end, the peak is since the start.
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const { values: flags } = parseArgs({
  options: {
    nodes: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '5' },
    profile: { type: 'string', default: 'default' },
    'address-base': { type: 'string', default: '127.40.0.11' },
    script: { type: 'string', default: join(root, 'dist', 'edge-health.cjs') },
    output: { type: 'string', short: 'o', default: 'text' },
  },
})
const minutes = Number(flags.minutes)
if (process.platform !== 'linux' || !(minutes > 0)) {
  console.error('measure reads /proc, so it needs Linux; --minutes must be above 0')
  process.exit(2)
}
/** Start-up is not what an agent costs; for a short look it is a fifth of the time. */
const settleMs = Math.min(60_000, minutes * 12_000)
const TICKS_PER_SECOND = 100

const read = path => readFileSync(path, 'utf8')

/** The zone's agents: children of the demo that run the command `agent`. */
const agentsOf = parent =>
  readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      try {
        const ppid = Number(/\) \S (\d+) /.exec(read(`/proc/${pid}/stat`))[1])
        const args = read(`/proc/${pid}/cmdline`).split('\0')
        const value = name => args.find(arg => arg.startsWith(`${name}=`))?.slice(name.length + 1)
        if (ppid !== parent || !args.includes('agent')) return []
        const url = `http://${value('--local-address')}:${value('--local-port')}`
        return [{ pid, node: value('--node-name'), url }]
      } catch {
        return [] // It ended while we looked.
      }
    })

const cpuMs = pid => {
  const fields = read(`/proc/${pid}/stat`)
    .replace(/^.*\) /, '')
    .split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND
}
const sentBytes = async url => {
  const text = await (await globalThis.fetch(`${url}/metrics`)).text()
  return Number(/^edge_health_exchange_sent_bytes_total (\S+)/m.exec(text)?.[1])
}
const memory = pid => {
  const kib = (text, name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1])
  const status = read(`/proc/${pid}/status`)
  const rollup = read(`/proc/${pid}/smaps_rollup`)
  return {
    rss: kib(status, 'VmRSS'),
    pss: kib(rollup, 'Pss'),
    anon: kib(status, 'RssAnon'),
    peak: kib(status, 'VmHWM'),
  }
}

const demo = spawn(
  process.execPath,
  [
    ...[flags.script, 'demo', '--keep', '--scene', 'healthy', '-o', 'json'],
    ...['--nodes', flags.nodes, '--profile', flags.profile],
    ...['--address-base', flags['address-base']],
  ],
  { stdio: ['ignore', 'ignore', 'pipe'] },
)
const stop = () => demo.kill('SIGTERM')
process.once('SIGINT', stop)
process.once('SIGTERM', stop)
let said = ''
const ended = new Promise(resolve => demo.once('close', resolve))
const isUp = await Promise.race([
  ended.then(() => false),
  new Promise(resolve => {
    demo.stderr.setEncoding('utf8').on('data', text => {
      said += text
      if (said.includes('Ctrl-C ends it.')) resolve(true)
    })
  }),
])
if (!isUp) {
  console.error(said)
  process.exit(1)
}

await sleep(settleMs)
const agents = agentsOf(demo.pid)
const startedAt = performance.now()
const before = await Promise.all(
  agents.map(async ({ pid, url }) => ({ cpu: cpuMs(pid), sent: await sentBytes(url) })),
)
await sleep(minutes * 60_000 - settleMs)
const rows = []
for (const [i, { pid, node, url }] of agents.entries()) {
  const seconds = (performance.now() - startedAt) / 1_000
  const cpu = (cpuMs(pid) - before[i].cpu) / seconds
  const sent = ((await sentBytes(url)) - before[i].sent) / seconds
  rows.push({ node, ...memory(pid), cpu, sent })
}
stop()
await ended

const spread = values => {
  const sorted = values.toSorted((a, b) => a - b)
  return { min: sorted[0], median: sorted[sorted.length >> 1], max: sorted.at(-1) }
}
const over = (name, scale = 1) => spread(rows.map(row => row[name] / scale))
const report = {
  nodes: rows.length,
  profile: flags.profile,
  minutes,
  node: process.version,
  load: loadavg()[0],
  rssMiB: over('rss', 1_024),
  pssMiB: over('pss', 1_024),
  anonMiB: over('anon', 1_024),
  peakMiB: over('peak', 1_024),
  cpuMsPerSecond: over('cpu'),
  sentKbPerSecond: over('sent', 1_000),
}
if (flags.output === 'json') console.log(JSON.stringify(report, undefined, 2))
else {
  const line = (name, { min, median, max }, digits = 1) =>
    console.log(
      [name.padEnd(18), ...[min, median, max].map(n => n.toFixed(digits).padStart(8))].join(' '),
    )
  console.log(
    `${report.nodes} agents, profile ${flags.profile}, ${minutes} min, Node ${process.version}, load ${report.load.toFixed(1)}`,
  )
  console.log(`${''.padEnd(18)}      min   median      max`)
  line('RSS MiB', report.rssMiB)
  line('PSS MiB', report.pssMiB)
  line('anonymous MiB', report.anonMiB)
  line('peak RSS MiB', report.peakMiB)
  line('CPU ms/s', report.cpuMsPerSecond, 2)
  line('sent kB/s', report.sentKbPerSecond, 3)
}
