// SPDX-License-Identifier: Apache-2.0
import { Option, type Command } from 'commander'
import { systemRandom } from '../core/random.js'
import { gridsOptionSet } from '../grids/options/definitions.js'
import type { GridsOptions } from '../grids/options/grids-options.js'
import { describeGridsOptions, resolveGridsOptions } from '../grids/options/resolve.js'
import { clean } from '../core/text.js'
import { makeLogger } from './logger.js'
import { makeLongCommand } from './long-command.js'
import { runLong } from './run-program.js'
import { version } from './version.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'

const FOOTER = `
Each option can also be given in the environment (--unit-grace is EDGE_HEALTH_UNIT_GRACE) or in the file of --config
(unit-grace: 5m). The first of these that gives it wins: flag, environment, file, default. The flags of SuperEdge's
application-grid-controller are accepted too.

Exit codes: 0 stopped by a signal, or with --once every grid is as wanted; 1 it could not start or stop, or with --once a
grid is invalid or has a unit that failed; 2 a bad option.`

/** Reconcile all grids once, and print those that failed. */
const runOnce = async (
  options: GridsOptions,
  notices: readonly string[],
  context: CliContext,
): Promise<ExitCode> => {
  const { makeProgram } = await import('../grids/run/program.js')
  const log = makeLogger(options, 'grids', context.stderr)
  for (const notice of notices) log.warn(notice)
  const { clock, env: environment } = context
  const seams = { clock, random: systemRandom, log, version, environment }
  const failed = await makeProgram(options, seams).once(context.signal)
  for (const grid of failed ?? []) context.stdout.write(`${clean(grid)} is not as wanted\n`)
  return failed?.length === 0 ? 0 : 1
}

/** `edge-health grids` itself, without a subcommand: the controller. */
export const registerGridsRun = (command: Command, context: CliContext, run: Run): void => {
  makeLongCommand(
    command,
    {
      set: gridsOptionSet,
      resolve: resolveGridsOptions,
      describe: describeGridsOptions,
      footer: FOOTER,
      more: [new Option('--once', 'wait for the Lease, reconcile every grid, and exit')],
      go: async ({ options, notices }, { once }: { once?: boolean }) => {
        if (once === true) return runOnce(options, notices, context)
        const { makeProgram } = await import('../grids/run/program.js')
        return runLong({ name: 'grids', options, notices, make: makeProgram }, context)
      },
    },
    context,
    run,
  )
}
