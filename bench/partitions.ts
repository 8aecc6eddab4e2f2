// SPDX-License-Identifier: Apache-2.0
// Zones that are cut in two, many times: nobody of a minority may write, and nobody about its own side.
import { integers, LOSSES, maybeInteger, NODES, planOf, runCommand } from './scale/arguments.js'
import { SHARED, SHARED_HELP } from './scale/arguments.js'
import { isWorking } from './scale/pool.js'
import { cutsOf, fill, partitionOrders } from './scale/rows.js'
import { partitionTable, wrongWrites } from './scale/tables.js'

const HELP = `usage: npm run bench -- partitions [options]
Cuts zones in two for 45 s and heals them, in virtual time: who hides whom, what is written and by whom. Both sides
reach the apiserver.

  --runs 200                     in all, shared out among sizes, splits and losses
  --nodes 10,100                 sizes of the zone: a mesh and rings
  --splits 50,30,10              percent on the smaller side
  --loss 0,10,20,30              percent of packets lost
${SHARED_HELP}Exits with 1 when a minority wrote, or anybody about a node of its own side.
`

const OPTIONS = {
  ...SHARED,
  splits: { type: 'string' },
  runs: { type: 'string', default: '200' },
} as const

if (!isWorking()) {
  await runCommand(OPTIONS, HELP, async values => {
    const plan = planOf(values)
    const runs = maybeInteger('runs', values.runs, [1, 100_000]) ?? 0
    const cuts = cutsOf(
      integers('nodes', values.nodes, NODES, [10, 100]),
      integers('splits', values.splits, [1, 50], [50, 30, 10]),
      integers('loss', values.loss, LOSSES, [0, 10, 20, 30]),
    )
    const orders = partitionOrders(plan, cuts, Math.max(runs, cuts.length))
    const { partition } = await fill(new URL(import.meta.url), plan, { partition: orders })
    const wrong = wrongWrites({ partition })
    const done = partition.reduce((sum, row) => sum + row.runs.length, 0)
    const { profile, seed } = plan
    if (plan.isJson)
      process.stdout.write(`${JSON.stringify({ profile, seed, partition, wrong }, null, 2)}\n`)
    else
      process.stdout.write(
        `Profile ${profile}, seed ${seed}\n\n${partitionTable(partition)}\n` +
          `${wrong === 0 ? 'ok' : 'not ok'}: ${wrong} wrong writes in ${done} runs\n`,
      )
    return wrong === 0
  })
}
