// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { NodeStatus, StatusView } from '../agent/http/status-view.js'
import { looksDead } from '../agent/text/headline.js'
import { statusText } from '../agent/text/status-text.js'
import { agentOption, fetchStatus, parseAgentUrl, watchStatus } from './agent-client.js'
import { outputOption, paintFor, type Format } from './format.js'
import type { ExitCode, Run, CliContext } from './cli-context.js'

/** 1 when a node is dead, even if a guard keeps that from being written. */
export const exitOf = (
  nodes: readonly Pick<NodeStatus, 'verdict' | 'pending' | 'maintenance'>[],
): ExitCode => (nodes.some(node => node.maintenance === null && looksDead(node)) ? 1 : 0)

/** The alternate screen: what the terminal showed before comes back afterwards. */
const OPEN_SCREEN = '\u001b[?1049h'
const CLOSE_SCREEN = '\u001b[?1049l'
const CLEAR = '\u001b[H\u001b[2J'

interface StatusFlags {
  readonly agent: string
  readonly output: Format
  readonly watch?: boolean
}

type Show = (view: StatusView) => void

/** Show one view after the other, until the context's signal aborts. @returns the last one */
const watchInPlace = async (
  base: string,
  context: CliContext,
  show: Show,
): Promise<StatusView | undefined> => {
  const { stdout } = context
  let last: StatusView | undefined
  stdout.write(OPEN_SCREEN)
  try {
    for await (const view of watchStatus(base, context)) {
      stdout.write(CLEAR)
      show(view)
      last = view
    }
  } finally {
    stdout.write(CLOSE_SCREEN)
    if (last !== undefined) show(last)
  }
  return last
}

/** The same where there is no terminal: one below the other, with `between` between them. */
const watchInLines = async (
  base: string,
  context: CliContext,
  show: Show,
  between: string,
): Promise<StatusView | undefined> => {
  let last: StatusView | undefined
  for await (const view of watchStatus(base, context)) {
    if (last !== undefined && between !== '') context.stdout.write(between)
    show(view)
    last = view
  }
  return last
}

const runStatus = async (flags: StatusFlags, context: CliContext): Promise<ExitCode> => {
  const { stdout } = context
  const base = parseAgentUrl(flags.agent)
  const paint = paintFor(context, stdout)
  const isText = flags.output === 'text'
  const print: Show = view =>
    stdout.write(isText ? statusText(view, paint) : `${JSON.stringify(view)}\n`)
  if (flags.watch === true) {
    const last =
      isText && stdout.isTTY === true
        ? await watchInPlace(base, context, print)
        : await watchInLines(base, context, print, isText ? '\n' : '')
    return exitOf(last?.nodes ?? [])
  }
  const view = await fetchStatus(base, context)
  print(view)
  return exitOf(view.nodes)
}

/** `edge-health status`. */
export const registerStatus = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('status')
    .description('show the zone as the agent of this node sees it; exit 1 when a node is dead')
    .addOption(agentOption(context))
    .addOption(outputOption('text', 'json'))
    .option('-w, --watch', 'show it again after every change, until Ctrl-C')
    .addHelpText(
      'after',
      '\nExit codes: 0 nobody is dead, 1 somebody is, 2 bad usage, 3 no agent answers.',
    )
    .action((flags: StatusFlags) => run(() => runStatus(flags, context)))
}
