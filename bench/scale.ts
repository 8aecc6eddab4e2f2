// SPDX-License-Identifier: Apache-2.0
// How the zone's protocol scales: the agent's check, exchange and vote, all agents in one process, on virtual time.
// Messages are encoded and signed as in production. Says nothing about CPU or memory of one agent.
import { parseArgs } from 'node:util'
import { measureCrashes } from './crash.js'
import { inColumns, mean, quantile, short, spread } from './figures.js'
import { measurePartition, type PartitionRun } from './partition.js'
import type { Cell } from './plan.js'
import { measureQuiet } from './quiet.js'

const HELP = `usage: npm run bench -- scale [options]
  --sizes 3,10,64,100,300,1000   nodes in the zone; 5000 works and takes its time
  --profile default              or fast
  --loss 0,30                    percent of packets lost, of the crash table
  --trials N                     crashes per row; default by size: 24 to 3
  --only crash,quiet,partition   tables
  --quiet-loss 0,10,20,30        percent, of the quiet table
  --minutes N                    virtual minutes of each quiet row; default by size
  --partition-sizes 10,100       of the partition table
  --partition-loss 0,10,20,30    percent
  --splits 50,30,10              percent on the smaller side
  --partition-runs N             runs of the partition table in all; default 24
  --seed N                       default 1
  --flag NAME=VALUE              an option of the agents; may be repeated
  -o, --output json              print JSON at the end instead of tables
Exits with 1 when an invariant is broken: a write about a node that is not down, a write by a minority.
`

const { values } = parseArgs({
  options: {
    sizes: { type: 'string', default: '3,10,64,100,300,1000' },
    profile: { type: 'string', default: 'default' },
    loss: { type: 'string', default: '0,30' },
    trials: { type: 'string' },
    only: { type: 'string', default: 'crash,quiet,partition' },
    'quiet-loss': { type: 'string', default: '0,10,20,30' },
    minutes: { type: 'string' },
    'partition-sizes': { type: 'string', default: '10,100' },
    'partition-loss': { type: 'string', default: '0,10,20,30' },
    splits: { type: 'string', default: '50,30,10' },
    'partition-runs': { type: 'string', default: '24' },
    seed: { type: 'string', default: '1' },
    flag: { type: 'string', multiple: true, default: [] },
    output: { type: 'string', short: 'o', default: 'text' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

const numbers = (text: string): number[] => text.split(',').map(Number)
const tables = new Set(values.only.split(','))
const isJson = values.output === 'json'
const cellOf = (size: number, percent: number): Cell => ({
  size,
  loss: percent / 100,
  profile: values.profile === 'fast' ? 'fast' : 'default',
  seed: Number(values.seed),
  flags: values.flag.map(flag => `--${flag}`),
})

const say = (text: string): boolean => (isJson ? process.stderr : process.stdout).write(text)
const startedAt = performance.now()
const progress = (text: string): boolean =>
  process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s  ${text}\n`)

/** Rows that are asked for in one go grow with the size; so many fewer of them are enough. */
const bySize = (size: number, steps: readonly (readonly [upTo: number, value: number])[]): number =>
  steps.find(([upTo]) => size <= upTo)?.[1] ?? 1

const TRIALS = [
  [10, 24],
  [64, 12],
  [100, 12],
  [300, 6],
  [1_000, 3],
] as const
const MINUTES = [
  [3, 240],
  [10, 120],
  [64, 8],
  [100, 8],
  [300, 2],
  [1_000, 0.5],
] as const

let broken = 0
const rows: Record<'crash' | 'quiet' | 'partition', unknown[]> = {
  crash: [],
  quiet: [],
  partition: [],
}

const crashTable = async (): Promise<void> => {
  const lines: string[][] = []
  for (const size of numbers(values.sizes)) {
    for (const percent of numbers(values.loss)) {
      const trials = Number(values.trials ?? bySize(size, TRIALS))
      const times = await measureCrashes(cellOf(size, percent), trials)
      broken += times.wrong
      const { first, quorum, written, local, all, recovered, missed, wrong } = times
      const lists = { first, quorum, written, local, all, recovered }
      const quantiles = Object.fromEntries(
        Object.entries(lists).map(([name, list]) => [
          name,
          { p50: quantile(list, 0.5), p99: quantile(list, 0.99), max: Math.max(...list) },
        ]),
      )
      rows.crash.push({ size, lossPercent: percent, trials, ...quantiles, missed, wrong })
      lines.push([
        ...[String(size), `${percent} %`, String(trials)],
        ...Object.values(lists).map(spread),
        ...[String(missed), String(wrong)],
      ])
      progress(`crash N=${size} loss=${percent} %: all see it after ${spread(all)} s`)
    }
  }
  const head = 'N,loss,trials,first,quorum,write,LV,all LV,recovery,missed,wrong'.split(',')
  say(`\nFrom the crash, p50/p99 seconds (${values.profile})\n${inColumns(head, lines)}\n`)
}

const quietTable = async (): Promise<void> => {
  const lines: string[][] = []
  for (const size of numbers(values.sizes)) {
    for (const percent of numbers(values['quiet-loss'])) {
      const minutes = Number(values.minutes ?? bySize(size, MINUTES))
      const quiet = await measureQuiet(cellOf(size, percent), minutes)
      broken += quiet.wrong
      rows.quiet.push({ size, lossPercent: percent, ...quiet })
      lines.push([
        ...[String(size), `${percent} %`, quiet.wireBytesPerSecond.toFixed(0)],
        ...[quiet.bodyBytesPerSecond.toFixed(0), quiet.attemptsPerSecond.toFixed(1)],
        ...[short(quiet.hours * size), short(quiet.falseDownsPerPairHour)],
        ...[short(quiet.falseVerdictsPerNodeHour), String(quiet.wrong)],
      ])
      progress(`quiet N=${size} loss=${percent} %: ${quiet.wireBytesPerSecond.toFixed(0)} B/s`)
    }
  }
  const head = [
    ...['N', 'loss', 'B/s', 'body B/s', 'probes/s', 'node-hours'],
    ...['false downs/pair-h', 'false verdicts/node-h', 'wrong'],
  ]
  say(`\nNothing happens, per node (${values.profile})\n${inColumns(head, lines)}\n`)
}

const partitionRows = (
  name: readonly string[],
  runs: readonly PartitionRun[],
): readonly string[] => [
  ...name,
  String(runs.length),
  spread(runs.map(run => run.hidden[0])),
  spread(runs.map(run => run.hidden[1])),
  spread(runs.map(run => run.firstWrite)),
  `${(100 * mean(runs.map(run => run.writtenShare))).toFixed(0)} %`,
  String(runs.reduce((sum, run) => sum + run.wrong, 0)),
  short(mean(runs.map(run => run.ownSideHidden))),
  spread(runs.map(run => run.clean)),
]

const partitionTable = async (): Promise<void> => {
  const sizes = numbers(values['partition-sizes'])
  const losses = numbers(values['partition-loss'])
  const splits = numbers(values.splits)
  const cells = sizes.length * losses.length * splits.length
  const total = Math.max(cells, Number(values['partition-runs']))
  const lines: (readonly string[])[] = []
  let cell = 0
  let done = 0
  for (const size of sizes) {
    for (const split of splits) {
      for (const percent of losses) {
        const runs: PartitionRun[] = []
        cell++
        for (; done < Math.floor((total * cell) / cells); done++) {
          const seed = Number(values.seed) + 101 * done
          runs.push(await measurePartition({ ...cellOf(size, percent), seed }, split / 100))
        }
        broken += runs.reduce((sum, run) => sum + run.wrong, 0)
        rows.partition.push({ size, split, lossPercent: percent, runs })
        const line = partitionRows([String(size), `${split}/${100 - split}`, `${percent} %`], runs)
        lines.push(line)
        progress(`partition ${line.join('  ')}`)
      }
    }
  }
  const head = [
    ...['N', 'split', 'loss', 'runs', 'small side hides', 'large side hides', 'first write'],
    ...['written', 'wrong', 'own side hidden', 'clean after'],
  ]
  say(
    `\nPartitions, p50/p99 seconds (${values.profile}); ${done} runs\n${inColumns(head, lines)}\n`,
  )
}

if (values.help) {
  process.stdout.write(HELP)
} else {
  if (tables.has('crash')) await crashTable()
  if (tables.has('quiet')) await quietTable()
  if (tables.has('partition')) await partitionTable()
  const end = { profile: values.profile, seed: Number(values.seed), ...rows, broken }
  if (isJson) process.stdout.write(`${JSON.stringify(end, null, 2)}\n`)
  say(`${broken === 0 ? 'ok' : 'not ok'}: ${broken} wrong writes\n`)
  if (broken > 0) process.exitCode = 1
}
