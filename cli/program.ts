// SPDX-License-Identifier: Apache-2.0
import { Command, CommanderError } from 'commander'
import { suggestion } from '../options/nearest.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import { cleanLines } from '../core/text.js'
import type { MakeAgent } from './agent.js'
import type { LazyCommand } from './lazy-command.js'
import { ABOUT, registerOwn } from './own-commands.js'
import { version } from './version.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'

/** Parts that are loaded only when they are used. */
export interface Parts {
  readonly lazyCommands: readonly LazyCommand[]
  readonly loadAgent: (() => Promise<MakeAgent>) | undefined
}

const REWORDED: readonly (readonly [RegExp, string])[] = [
  [
    /^option '.*(--[a-z-]+) .*' argument '(.*)' is invalid\. Allowed choices are (.*)\.$/,
    '$1 must be one of $3, got "$2"',
  ],
  [/^option '.*(--[a-z-]+) (.*)' argument missing$/, '$1 must have a value, $2, got nothing'],
  [
    /^command-argument value '(.*)' is invalid for argument '(.*)'\. Allowed choices are (.*)\.$/,
    'argument <$2> must be one of $3, got "$1"',
  ],
  [/^missing required argument '(.*)'$/, 'argument <$1> must be given'],
]

/** Commander's error as one line, with the nearest name of the command's own options. */
const lineOf = (error: CommanderError, program: Command, argv: readonly string[]): string => {
  const text = error.message
    .replace(/^error: /, '')
    .replace(/\n\(Did you mean (.*)\?\)$/, ' (did you mean $1?)')
    .replaceAll('\n', ' ')
  const named = program.commands.find(command => command.name() === argv[0]) ?? program
  const unknown = /^unknown option '(--?[^'=]*)/.exec(text)
  if (unknown === null)
    return REWORDED.reduce((line, [pattern, words]) => line.replace(pattern, words), text)
  const command = named.commands.find(inner => inner.name() === argv[1]) ?? named
  const names = command.options.filter(option => !option.hidden).flatMap(({ long }) => long ?? [])
  const base = text.replace(/ \(did you mean .*\)$/, '')
  return `${base}${suggestion(unknown[1]!, names)}`
}

/** `help NAME…` is `NAME… --help`. @throws Exit for a name that no visible command has */
const asHelp = (argv: readonly string[], program: Command): readonly string[] => {
  const [first, name] = argv
  if (first !== 'help') return argv
  if (name === undefined || name.startsWith('-')) return ['--help']
  const visible = program.createHelp().visibleCommands(program)
  demandName(
    name,
    visible.map(command => command.name()),
  )
  return [...argv.slice(1), '--help']
}

const demandName = (name: string, names: readonly string[]): void => {
  if (!names.includes(name))
    throw new Exit(2, `unknown command '${name}'${suggestion(name, names)}`)
}

/** The arguments after a command's name. A command that also runs by itself would take a misspelt subcommand for an argument. */
const behindName = (given: readonly string[], command: Command): readonly string[] => {
  if (command.commands.length === 0) return given
  const argv = asHelp(given, command)
  const [first] = argv
  if (first !== undefined && !first.startsWith('-'))
    demandName(
      first,
      command.commands.map(inner => inner.name()),
    )
  return argv
}

const registerLazy = (program: Command, lazy: LazyCommand, context: CliContext, run: Run): void => {
  program
    .command(lazy.name, { hidden: lazy.hidden === true })
    .description(lazy.description)
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .argument('[arguments...]')
    .action(async (given: readonly string[]) => {
      // Everything after a subcommand's name belongs to the subcommand.
      const own = new Command('edge-health')
        .copyInheritedSettings(program)
        .enablePositionalOptions()
      const parts = await lazy.load()
      parts.register(own, context, run)
      const argv = [lazy.name, ...own.commands.flatMap(command => behindName(given, command))]
      try {
        await own.parseAsync(argv, { from: 'user' })
      } catch (error) {
        // Only the subcommand's own program knows which names to suggest.
        if (!(error instanceof CommanderError) || error.exitCode === 0) throw error
        if (error.code === 'commander.help') throw error
        throw new Exit(2, lineOf(error, own, argv))
      }
    })
}

const exitOf = (
  error: unknown,
  program: Command,
  argv: readonly string[],
): readonly [ExitCode, string] => {
  if (error instanceof Exit) return [error.exitCode, error.message]
  if (error instanceof InvalidInputError) return [2, error.message]
  if (!(error instanceof CommanderError)) return [1, reasonOf(error)]
  if (error.exitCode === 0) return [0, '']
  return [2, error.code === 'commander.help' ? '' : lineOf(error, program, argv)]
}

/**
 * Run the command line.
 * @param argv without the interpreter and the script
 * @returns the exit code; the process is not ended
 */
export const runProgram = async (
  argv: readonly string[],
  context: CliContext,
  parts: Parts,
): Promise<number> => {
  let code: ExitCode = 0
  const run: Run = async work => {
    code = await work()
  }
  const width = (): number => context.stdout.columns ?? 100
  const program = new Command('edge-health')
    .description(ABOUT)
    .version(version, '--version', 'print the version number alone')
    .exitOverride()
    // The descriptions contain defaults and choices, in our words.
    .configureHelp({ optionDescription: option => option.description })
    .configureOutput({
      writeOut: text => void context.stdout.write(text),
      writeErr: text => void context.stderr.write(text),
      // The line is written below, for every kind of error.
      outputError: () => undefined,
      getOutHelpWidth: width,
      getErrHelpWidth: width,
    })
  registerOwn(program, context, run, parts.loadAgent)
  for (const lazy of parts.lazyCommands) registerLazy(program, lazy, context, run)
  try {
    await program.parseAsync([...asHelp(argv, program)], { from: 'user' })
    return code
  } catch (error) {
    const [exitCode, message] = exitOf(error, program, argv)
    if (message !== '') context.stderr.write(`edge-health: ${cleanLines(message)}\n`)
    return exitCode
  }
}
