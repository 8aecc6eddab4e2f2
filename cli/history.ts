// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { HistoryEntryView, HistoryView } from '../agent/http/history-view.js'
import { InvalidInputError } from '../core/errors.js'
import { ageText, clean, secondsSince, table, type Paint } from '../core/text.js'
import { agentOption, fetchHistory, parseAgentUrl, watchHistory } from './agent-client.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'
import { outputOption, paintFor, type Format } from './format.js'

interface HistoryFlags {
  readonly agent: string
  readonly output: Format
  readonly node?: string
  readonly lines: number
  readonly watch?: boolean
}

const FOOTER = `
The newest 1024 entries are kept, over a restart too. Times are those of the agent's clock.

Exit codes: 0 done, 2 bad usage, 3 no agent answers.`

const MOST_LINES = 1_024

const parseLines = (text: string): number => {
  const lines = Number(text)
  if (/^\d+$/.test(text) && lines >= 1 && lines <= MOST_LINES) return lines
  throw new InvalidInputError('--lines', `must be a whole number from 1 to ${MOST_LINES}`, text)
}

const isAbout = ({ nodes }: HistoryEntryView, node: string | undefined): boolean =>
  node === undefined || nodes.includes(node)

const rowOf = ({ at, kind, text }: HistoryEntryView, now: string): readonly string[] => [
  at.replace(/\.\d+Z$/, 'Z'),
  `${ageText(secondsSince(at, now))} ago`,
  kind,
  text,
]

/** The entries for people. */
export const historyText = (
  { at, self }: Pick<HistoryView, 'at' | 'self'>,
  entries: readonly HistoryEntryView[],
  paint: Paint,
): string => {
  if (entries.length === 0) return `${clean(self.name)} knows of no recent events\n`
  return table([['AT', 'AGE', 'WHAT', 'TEXT'], ...entries.map(each => rowOf(each, at))], paint)
}

const show = async (flags: HistoryFlags, context: CliContext): Promise<ExitCode> => {
  const { stdout } = context
  const base = parseAgentUrl(flags.agent)
  const isJson = flags.output === 'json'
  const line = (entry: HistoryEntryView): string =>
    isJson ? `${JSON.stringify(entry)}\n` : `${clean(`${entry.at} ${entry.kind}: ${entry.text}`)}\n`
  const view = await fetchHistory(base, context)
  const entries = view.entries.filter(entry => isAbout(entry, flags.node)).slice(-flags.lines)
  if (flags.watch === true) {
    for (const entry of entries) stdout.write(line(entry))
    for await (const entry of watchHistory(base, view.entries.at(-1)?.id ?? 0, context))
      if (isAbout(entry, flags.node)) stdout.write(line(entry))
    return 0
  }
  stdout.write(
    isJson
      ? `${JSON.stringify({ ...view, entries })}\n`
      : historyText(view, entries, paintFor(context, stdout)),
  )
  return 0
}

/** `edge-health history`. */
export const registerHistory = (program: Command, context: CliContext, run: Run): void => {
  program
    .command('history')
    .description('show recent events, as the agent of this node saw them')
    .addOption(agentOption(context))
    .addOption(outputOption('text', 'json'))
    .option('--node <name>', 'only events about this node')
    .option(
      '-n, --lines <count>',
      'show at most this many entries, the newest ones (default 50)',
      parseLines,
      50,
    )
    .option('-w, --watch', 'keep printing each new entry, until Ctrl-C')
    .addHelpText('after', FOOTER)
    .action((flags: HistoryFlags) => run(() => show(flags, context)))
}
