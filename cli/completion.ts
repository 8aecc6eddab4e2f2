// SPDX-License-Identifier: Apache-2.0
import { Argument, Command } from 'commander'
import { InvalidInputError } from '../core/errors.js'
import type { CliContext, Run } from './cli-context.js'
import { commandTree, type CommandTree } from './command-tree.js'
import { completionScript, type Shell } from './completion-scripts.js'
import type { LazyCommand } from './lazy-command.js'
import { manPage } from './man-page.js'
import { ABOUT, registerOwn } from './own-commands.js'
import { version } from './version.js'

const nothing: Run = () => Promise.resolve()

/** Every command, loaded; none of them can be run. */
const wholeTree = async (
  lazyCommands: readonly LazyCommand[],
  context: CliContext,
): Promise<CommandTree> => {
  const program = new Command('edge-health')
    .description(ABOUT)
    .version(version, '--version', 'print the version number alone')
    .configureHelp({ optionDescription: option => option.description })
  registerOwn(program, context, nothing, undefined)
  for (const lazy of lazyCommands.filter(({ hidden }) => hidden !== true)) {
    const part = await lazy.load()
    part.register(program, context, nothing)
  }
  return commandTree(program)
}

/** The date for reproducible builds. @throws InvalidInputError */
const wallOf = ({ env, clock }: CliContext): number => {
  const text = env['SOURCE_DATE_EPOCH'] ?? ''
  if (text === '') return clock.wall()
  if (!/^\d{1,11}$/.test(text))
    throw new InvalidInputError('SOURCE_DATE_EPOCH', 'must be seconds since 1970', text)
  return Number(text) * 1_000
}

const COMPLETION_FOOTER = `
bash: source <(edge-health completion bash), in ~/.bashrc
zsh: edge-health completion zsh >"\${fpath[1]}/_edge-health"
fish: edge-health completion fish >~/.config/fish/completions/edge-health.fish

Exit codes: 0 done, 2 bad usage.`

const MAN_FOOTER = `
edge-health man >/usr/local/share/man/man1/edge-health.1. The variable SOURCE_DATE_EPOCH (seconds) sets the page's date.

Exit codes: 0 done, 2 bad usage.`

/** `edge-health completion SHELL`. */
export const registerCompletion =
  (lazyCommands: readonly LazyCommand[]) =>
  (program: Command, context: CliContext, run: Run): void => {
    program
      .command('completion')
      .description('print a script that lets a shell complete commands, options and their values')
      .addArgument(new Argument('<shell>', 'which shell').choices(['bash', 'zsh', 'fish']))
      .addHelpText('after', COMPLETION_FOOTER)
      .action((shell: Shell) =>
        run(async () => {
          context.stdout.write(completionScript(shell, await wholeTree(lazyCommands, context)))
          return 0
        }),
      )
  }

/** `edge-health man`. */
export const registerMan =
  (lazyCommands: readonly LazyCommand[]) =>
  (program: Command, context: CliContext, run: Run): void => {
    program
      .command('man')
      .description('print the manual page edge-health(1), of all commands')
      .addHelpText('after', MAN_FOOTER)
      .action(() =>
        run(async () => {
          const facts = { version, wall: wallOf(context) }
          context.stdout.write(manPage(await wholeTree(lazyCommands, context), facts))
          return 0
        }),
      )
  }
