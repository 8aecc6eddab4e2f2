// SPDX-License-Identifier: Apache-2.0
// How the zone's protocol scales: the agent's check, exchange and vote, all agents in one process, on virtual time.
// Messages are encoded and signed as in production. Says nothing about CPU or memory of one agent.
import {
  integers,
  LOSSES,
  maybeInteger,
  NODES,
  planOf,
  plansOf,
  type Plan,
  runCommand,
  SHARED,
  SHARED_HELP,
  words,
} from './scale/arguments.js'
import { checkInvariants } from './scale/invariants.js'
import { isWorking } from './scale/pool.js'
import { burstOrder, crashOrder, cutsOf, fill, partitionOrders, quietOrder } from './scale/rows.js'
import {
  burstTable,
  crashJson,
  crashTable,
  partitionTable,
  quietTable,
  wrongWrites,
} from './scale/tables.js'

const HELP = `usage: npm run bench -- scale [options]
How a zone's protocol scales: detection, traffic, mistakes, partitions. The agents' own check, exchange and vote, all
in one process, on a virtual clock and a network in memory that loses and delays by a seed. Messages are encoded and
signed as in production. It says nothing about CPU or memory.

  --nodes 3,10,64,100,300,1000   sizes of the zone; 5000 and 10000 work and take their time
  --loss 0,30                    percent of packets lost; default: 0,30 for crashes, 0,10,20,30 for the other tables
  --only crash,quiet,partition   tables; also burst: a tenth of the zone dies at once
  --identity off,prefer,require  whether nodes sign with keys of their own; default: off
  --quick                        instead of tables: what must be so for N = 3, 10, 64, 100, 300, in a few minutes
  --trials N                     crashes, or zones with a burst, per row; default by size: 24 down to 2, 12 down to 1
  --minutes N                    virtual minutes of each quiet row; default by size: 240 down to 1
  --splits 50,30,10              percent on the smaller side of a partition
  --partition-nodes 10,100       sizes of the partition table
  --runs N                       runs of the partition table in all; default 24
${SHARED_HELP}A run of more than a minute shows each row on standard error when it is done.
Exits with 1 when something was written about a node that is not down, or by a minority; with --quick when anything
that must be so is not.
`

const OPTIONS = {
  ...SHARED,
  quick: { type: 'boolean', default: false },
  identity: { type: 'string', default: 'off' },
  only: { type: 'string', default: 'crash,quiet,partition' },
  trials: { type: 'string' },
  minutes: { type: 'string' },
  splits: { type: 'string' },
  'partition-nodes': { type: 'string' },
  runs: { type: 'string', default: '24' },
} as const

/** A large zone has more nodes to make mistakes in each minute, and takes longer to run. */
const bySize = (size: number, steps: readonly (readonly [upTo: number, value: number])[]): number =>
  steps.find(([upTo]) => size <= upTo)?.[1] ?? steps.at(-1)![1]

const TRIALS = [
  [10, 24],
  [100, 18],
  [300, 8],
  [1_000, 4],
  [Infinity, 2],
] as const
const BURSTS = [
  [10, 12],
  [100, 4],
  [300, 2],
  [Infinity, 1],
] as const
const MINUTES = [
  [3, 240],
  [10, 120],
  [100, 8],
  [300, 3],
  [Infinity, 1],
] as const

const quick = async (plan: Plan): Promise<boolean> => {
  const claims = await checkInvariants(new URL(import.meta.url), plan)
  const failed = claims.filter(({ isSo }) => !isSo).length
  if (plan.isJson) process.stdout.write(`${JSON.stringify(claims, null, 2)}\n`)
  else
    for (const { text, isSo } of claims)
      process.stdout.write(`${isSo ? 'ok    ' : 'not ok'} ${text}\n`)
  process.stdout.write(`${claims.length - failed} passed, ${failed} failed\n`)
  return failed === 0
}

if (!isWorking()) {
  await runCommand(OPTIONS, HELP, async values => {
    const plan = planOf(values)
    if (values.quick) return quick(plan)
    const only = words('only', values.only, ['crash', 'burst', 'quiet', 'partition'])
    const sizes = integers('nodes', values.nodes, NODES, [3, 10, 64, 100, 300, 1_000])
    const cutSizes = integers('partition-nodes', values['partition-nodes'], NODES, [10, 100])
    const splits = integers('splits', values.splits, [1, 50], [50, 30, 10])
    const crashLosses = integers('loss', values.loss, LOSSES, [0, 30])
    const losses = integers('loss', values.loss, LOSSES, [0, 10, 20, 30])
    const trials = maybeInteger('trials', values.trials, [1, 10_000])
    const minutes = maybeInteger('minutes', values.minutes, [1, 10_000])
    const runs = maybeInteger('runs', values.runs, [1, 100_000]) ?? 0

    const plans = plansOf(plan, values.identity)

    const crashes = sizes.flatMap(size =>
      crashLosses.flatMap(loss =>
        plans.map(each => crashOrder(each, size, loss, trials ?? bySize(size, TRIALS))),
      ),
    )
    const bursts = sizes.flatMap(size =>
      crashLosses.flatMap(loss =>
        plans.map(each => burstOrder(each, size, loss, trials ?? bySize(size, BURSTS))),
      ),
    )
    const quiets = sizes.flatMap(size =>
      losses.flatMap(loss =>
        plans.map(each => quietOrder(each, size, loss, minutes ?? bySize(size, MINUTES))),
      ),
    )
    const orders = {
      crash: only.has('crash') ? crashes : [],
      burst: only.has('burst') ? bursts : [],
      quiet: only.has('quiet') ? quiets : [],
      partition: only.has('partition')
        ? plans.flatMap(each => partitionOrders(each, cutsOf(cutSizes, splits, losses), runs))
        : [],
    }
    const tables = await fill(new URL(import.meta.url), plan, orders, {
      crash: crashTable,
      burst: burstTable,
      quiet: quietTable,
      partition: partitionTable,
    })
    const { crash, burst, quiet, partition } = tables
    const wrong = wrongWrites(tables)
    const { profile, seed } = plan
    if (plan.isJson) {
      const rows = { crash: crash.map(crashJson), burst, quiet, partition }
      process.stdout.write(`${JSON.stringify({ profile, seed, ...rows, wrong }, null, 2)}\n`)
    } else {
      const texts = [
        ...(crash.length > 0 ? [crashTable(crash)] : []),
        ...(burst.length > 0 ? [burstTable(burst)] : []),
        ...(quiet.length > 0 ? [quietTable(quiet)] : []),
        ...(partition.length > 0 ? [partitionTable(partition)] : []),
      ]
      process.stdout.write(`Profile ${profile}, seed ${seed}\n\n${texts.join('\n')}\n`)
      process.stdout.write(`${wrong === 0 ? 'ok' : 'not ok'}: ${wrong} wrong writes\n`)
    }
    return wrong === 0
  })
}
