// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { ExplainView, NodeStatus } from '../agent/http/status-view.js'
import { agentOption, fetchNode, fetchStatus, parseAgentUrl } from './agent-client.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'
import { outputOption, paintFor, type Format } from './format.js'
import { matrixOf, matrixText } from './matrix-view.js'
import { exitOf } from './status.js'

interface MatrixFlags {
  readonly agent: string
  readonly output: Format
  readonly all?: boolean
}

/** With more nodes than this, only lines with something to see are shown: each is a request, and the agent has little CPU. */
const MOST_LINES = 64

const FOOTER = `
In zones of more than ${MOST_LINES} nodes only those that are not healthy, or that somebody sees down, unless --all is given.

Exit codes: 0 nobody is dead, 1 somebody is, 2 bad usage, 3 no agent answers.`

const isTroubled = ({ class: name, pending, votes }: NodeStatus): boolean =>
  name !== 'healthy' || pending !== null || votes.down > 0

const show = async (flags: MatrixFlags, context: CliContext): Promise<ExitCode> => {
  const base = parseAgentUrl(flags.agent)
  const { nodes } = await fetchStatus(base, context)
  const showsAll = flags.all === true || nodes.length <= MOST_LINES
  const views: ExplainView[] = []
  // One at a time, so that the agent can do its other work.
  for (const { name } of showsAll ? nodes : nodes.filter(isTroubled)) {
    const view = await fetchNode(base, name, context)
    // It may have left the zone in between.
    if (view !== undefined) views.push(view)
  }
  const matrix = matrixOf(
    nodes.map(({ name }) => name),
    views,
  )
  context.stdout.write(
    flags.output === 'json'
      ? `${JSON.stringify(matrix)}\n`
      : matrixText(matrix, paintFor(context, context.stdout)),
  )
  return exitOf(nodes)
}

/** `edge-health matrix`. */
export const registerMatrix = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('matrix')
    .description(
      'show how each node votes on each other node: a line for each node, a column for each voter',
    )
    .addOption(agentOption(context))
    .addOption(outputOption('text', 'json'))
    .option('--all', `all nodes, also of a zone of more than ${MOST_LINES}`)
    .addHelpText('after', FOOTER)
    .action((flags: MatrixFlags) => run(() => show(flags, context)))
}
