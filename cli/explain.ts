// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { explainText } from '../agent/text/explain-text.js'
import { nearest } from '../options/nearest.js'
import { agentOption, fetchNode, fetchStatus, parseAgentUrl } from './agent-client.js'
import { outputOption, paintFor, type Format } from './format.js'
import { exitOf } from './status.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'

interface ExplainFlags {
  readonly agent: string
  readonly output: Format
}

const runExplain = async (
  name: string,
  flags: ExplainFlags,
  context: CliContext,
): Promise<ExitCode> => {
  const base = parseAgentUrl(flags.agent)
  const view = await fetchNode(base, name, context)
  if (view === undefined) {
    const { nodes, zone } = await fetchStatus(base, context)
    const names = nodes.map(node => node.name)
    const close = nearest(name, names)
    const hint = close === undefined ? '' : ` (did you mean ${close}?)`
    throw new Exit(
      2,
      `NODE must be one of the ${names.length} nodes of zone ${JSON.stringify(zone.name)}${hint}, got ${JSON.stringify(name)}`,
    )
  }
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(view)}\n`
      : explainText(view, paintFor(context, context.stdout)),
  )
  return exitOf([view.node])
}

/** `edge-health explain NODE`. */
export const registerExplain = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('explain')
    .argument('<node>', 'name of a node of this zone')
    .description('explain the verdict on a node; exit 1 when it is dead')
    .addOption(agentOption(context))
    .addOption(outputOption('text', 'json'))
    .addHelpText(
      'after',
      '\nExit codes: 0 the node is not dead, 1 it is, 2 bad usage, 3 no agent answers.',
    )
    .action((name: string, flags: ExplainFlags) => run(() => runExplain(name, flags, context)))
}
