// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { AgentOptions } from '../agent/options/agent-options.js'
import { agentOptionSet } from '../agent/options/definitions.js'
import { describeOptions, resolveAgentOptions } from '../agent/options/resolve.js'
import { outputOption, type Format } from './format.js'
import { addOptions } from './option-flags.js'
import { optionsMarkdown } from './options-markdown.js'
import { configJson, configYaml } from './print-config.js'
import { runLong, sourcesFrom, type MakeProgram } from './run-program.js'
import { Exit, type Run, type CliContext } from './cli-context.js'

export type MakeAgent = MakeProgram<AgentOptions>

interface AgentFlags {
  readonly output: Format
  readonly printConfig?: boolean
  readonly optionsMarkdown?: boolean
}

const FOOTER = `
Each option may also stand in the environment (--check-period is EDGE_HEALTH_CHECK_PERIOD) and in the file of
--config (check-period: 5s). A flag wins over the environment, that over the file, that over the profile, that over
the default. Durations have a unit: 500ms, 10s, 1m. SuperEdge's flags are accepted too; there a number is seconds.
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
  const flags = addOptions(command, agentOptionSet)
  command
    .option('--print-config', 'print the options and where each came from, and exit')
    .addOption(command.createOption('--options-markdown').hideHelp())
    .addOption(outputOption('yaml', 'json'))
    .addHelpText('after', FOOTER)
    .action((own: AgentFlags) =>
      run(async () => {
        if (own.optionsMarkdown === true) {
          context.stdout.write(optionsMarkdown(agentOptionSet))
          return 0
        }
        const resolved = resolveAgentOptions(sourcesFrom(flags, context))
        if (own.printConfig === true) {
          const shown = { profile: resolved.profile, described: describeOptions(resolved) }
          context.stdout.write(own.output === 'json' ? configJson(shown) : configYaml(shown))
          return 0
        }
        if (load === undefined) throw new Exit(1, 'this build has no agent')
        const { options, notices } = resolved
        return runLong({ name: 'agent', options, notices, make: await load() }, context)
      }),
    )
}
