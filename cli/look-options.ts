// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { agentOptionSet } from '../agent/options/definitions.js'
import type { OptionSources } from '../options/sources.js'
import { addOptions } from './option-flags.js'

/** The options that say where the agent is and what it reaches. */
const SHOWN: readonly string[] = [
  ...['profile', 'config', 'node-name', 'state-dir', 'edge-selector', 'port', 'local-port'],
  ...['namespace', 'kubeconfig', 'master-url', 'key-secret', 'self-report-url'],
]

/**
 * Add all options of the agent to a command that looks where the agent looks. The command's help shows some of them, after
 * its own.
 * @returns what the command line gives
 */
export const addLookOptions = (command: Command): OptionSources['flags'] => {
  const own = new Set(command.options)
  const given = addOptions(command, agentOptionSet)
  for (const option of command.options)
    if (!own.has(option))
      option
        .helpGroup(
          "The agent's options, with the agent's values (all are accepted; see edge-health agent --help):",
        )
        .hideHelp(option.hidden || !SHOWN.includes(option.name()))
  return given
}
