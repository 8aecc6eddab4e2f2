// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { bridgeOptionSet } from '../bridge/options/definitions.js'
import { describeBridgeOptions, resolveBridgeOptions } from '../bridge/options/resolve.js'
import type { CliContext, Run } from './cli-context.js'
import { makeLongCommand } from './long-command.js'
import { runLong } from './run-program.js'

const FOOTER = `
Each option can also be given in the environment (--answer-within is EDGE_HEALTH_ANSWER_WITHIN) or in the file of --config
(answer-within: 30s). The first of these that gives it wins: flag, environment, file, default. Exit codes: 0 stopped
by a signal, 1 it could not start or stop, 2 a bad option.`

/** `edge-health bridge`. */
export const registerBridge = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('bridge')
    .description("serve KubeEdge's edges in cloudcore's place: their Nodes, Leases and Pods")
  makeLongCommand(
    command,
    {
      set: bridgeOptionSet,
      resolve: resolveBridgeOptions,
      describe: describeBridgeOptions,
      footer: FOOTER,
      go: async ({ options, notices }) => {
        const { makeProgram } = await import('../bridge/run/program.js')
        return runLong({ name: 'bridge', options, notices, make: makeProgram }, context)
      },
    },
    context,
    run,
  )
}
