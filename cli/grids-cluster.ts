// SPDX-License-Identifier: Apache-2.0
import { Option, type Command } from 'commander'
import type { CliContext, Run } from './cli-context.js'
import { outputOption, type Format } from './format.js'
import { runExplain } from './grids-explain.js'
import type { ClusterFlags } from './grids-look.js'
import { runPlan } from './grids-plan.js'
import { withKube } from './kube-options.js'

const withCluster = (command: Command, ...formats: readonly Format[]): Command =>
  withKube(command)
    .option('-n, --namespace <name>', 'namespace of the grid (default default)', 'default')
    .addOption(
      new Option('--unit-grace <duration>', '--unit-grace of the controller (default 5m)').default(
        '5m',
      ),
    )
    .addOption(outputOption(...formats))

/** `grids plan` and `grids explain`: what the controller would do, and the state of each unit. They write nothing. */
export const registerGridsCluster = (command: Command, context: CliContext, run: Run): void => {
  withCluster(
    command
      .command('plan')
      .argument('[grid]', 'NAME or KIND/NAME; kinds also as sg, dg, ssg')
      .description('print what the controller would write now, and write nothing')
      .option('--all', 'all grids of the cluster'),
    'text',
    'json',
  )
    .addHelpText(
      'after',
      '\nplan asks the apiserver about one child of each template by a dry run, for which you need the right to apply it; where that is not\npossible, plan says so and only compares.\n\nExit codes: 0 nothing to write, 1 a grid is invalid or a unit failed, or the cluster cannot be read, 2 bad usage or no such grid,\n3 there is something to write.',
    )
    .action((grid: string | undefined, flags: ClusterFlags & { readonly all?: boolean }) =>
      run(() => runPlan(grid, flags, context)),
    )
  withCluster(
    command
      .command('explain')
      .argument('<grid>', 'NAME or KIND/NAME; kinds also as sg, dg, ssg')
      .description('show each unit of a grid: what is wanted, what exists, and why they differ'),
    'text',
    'json',
  )
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 the grid is invalid or a unit failed, or the cluster cannot be read, 2 bad usage or no such grid.',
    )
    .action((grid: string, flags: ClusterFlags) => run(() => runExplain(grid, flags, context)))
}
