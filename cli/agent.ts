// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { AgentOptions } from '../agent/options/agent-options.js'
import { agentOptionSet } from '../agent/options/definitions.js'
import { describeOptions, resolveAgentOptions } from '../agent/options/resolve.js'
import { makeLongCommand } from './long-command.js'
import { runLong, type MakeProgram } from './run-program.js'
import { Exit, type Run, type CliContext } from './cli-context.js'

export type MakeAgent = MakeProgram<AgentOptions>

const FOOTER = `
Each option can also be given in the environment (--check-period is EDGE_HEALTH_CHECK_PERIOD) or in the file of
--config (check-period: 5s). The first of these that gives it wins: flag, environment, file, profile, default.
Durations have a unit: 500ms, 10s, 1m. SuperEdge's flags are accepted too; for those, a bare number is in seconds.
Exit codes: 0 stopped by a signal, 1 it could not start or stop, 2 a bad option.`

/** `edge-health agent`. */
export const registerAgent = (
  program: Command,
  context: CliContext,
  run: Run,
  load: (() => Promise<MakeAgent>) | undefined,
): void => {
  const command = program
    .command('agent')
    .description("run the node's agent: check the peers, exchange, vote, write, answer /localinfo")
  makeLongCommand(
    command,
    {
      set: agentOptionSet,
      resolve: resolveAgentOptions,
      describe: describeOptions,
      footer: FOOTER,
      go: async ({ options, notices }) => {
        if (load === undefined) throw new Exit(1, 'this build has no agent')
        return runLong({ name: 'agent', options, notices, make: await load() }, context)
      },
    },
    context,
    run,
  )
}
