// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { bridgeOptionSet } from '../bridge/options/definitions.js'
import { describeBridgeOptions, resolveBridgeOptions } from '../bridge/options/resolve.js'
import type { CliContext, Run } from './cli-context.js'
import { outputOption, type Format } from './format.js'
import { addOptions } from './option-flags.js'
import { optionsMarkdown } from './options-markdown.js'
import { configJson, configYaml } from './print-config.js'
import { runLong, sourcesFrom } from './run-program.js'

interface BridgeFlags {
  readonly output: Format
  readonly printConfig?: boolean
  readonly optionsMarkdown?: boolean
}

const FOOTER = `
Each option may also stand in the environment (--answer-within is EDGE_HEALTH_ANSWER_WITHIN) and in the file of --config
(answer-within: 30s). A flag wins over the environment, that over the file, that over the default. Exit codes: 0 stopped
by a signal, 1 it could not start or stop, 2 a bad option.`

/** `edge-health bridge`. */
export const registerBridge = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('bridge')
    .description("serve KubeEdge's edges in cloudcore's place: their Nodes, Leases and Pods")
  const flags = addOptions(command, bridgeOptionSet)
  command
    .option('--print-config', 'print the options and where each came from, and exit')
    .addOption(command.createOption('--options-markdown').hideHelp())
    .addOption(outputOption('yaml', 'json'))
    .addHelpText('after', FOOTER)
    .action((own: BridgeFlags) =>
      run(async () => {
        if (own.optionsMarkdown === true) {
          context.stdout.write(optionsMarkdown(bridgeOptionSet))
          return 0
        }
        const resolved = resolveBridgeOptions(sourcesFrom(flags, context))
        if (own.printConfig === true) {
          const shown = { profile: undefined, described: describeBridgeOptions(resolved) }
          context.stdout.write(own.output === 'json' ? configJson(shown) : configYaml(shown))
          return 0
        }
        const { options, notices } = resolved
        const { makeProgram } = await import('../bridge/run/program.js')
        return runLong({ name: 'bridge', options, notices, make: makeProgram }, context)
      }),
    )
}
