// SPDX-License-Identifier: Apache-2.0
import type { Command, Option } from 'commander'
import type { OptionSet } from '../options/definition.js'
import type { Described } from '../options/resolve.js'
import type { OptionSources } from '../options/sources.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'
import { outputOption, type Format } from './format.js'
import { addOptions } from './option-flags.js'
import { optionsMarkdown } from './options-markdown.js'
import { configJson, configYaml } from './print-config.js'
import { sourcesFrom, tellNotices } from './run-program.js'

interface Flags {
  readonly output: Format
  readonly printConfig?: boolean
  readonly optionsMarkdown?: boolean
}

/** A command that runs a program of ours. @typeParam R its options, and where each came from */
interface LongCommand<R> {
  readonly set: OptionSet
  /** @throws InvalidInputError */
  readonly resolve: (sources: OptionSources) => R
  readonly describe: (resolved: R) => readonly Described[]
  readonly footer: string
  /** Flags of the command that are not options of the program. */
  readonly more?: readonly Option[]
  readonly go: (resolved: R, flags: object) => Promise<ExitCode>
}

/** The part of resolved options that all programs have. */
interface Resolved {
  /** Absent for a program without profiles. */
  readonly profile?: string
  readonly notices: readonly string[]
}

/** Give a command all options of its program, `--print-config`, and what it does. */
export const makeLongCommand = <R extends Resolved>(
  command: Command,
  { set, resolve, describe, footer, more = [], go }: LongCommand<R>,
  context: CliContext,
  run: Run,
): void => {
  const given = addOptions(command, set)
  for (const option of more) command.addOption(option)
  command
    .option('--print-config', 'print the options and where each came from, and exit')
    .addOption(command.createOption('--options-markdown').hideHelp())
    .addOption(outputOption('yaml', 'json'))
    .addHelpText('after', footer)
    .action((flags: Flags) =>
      run(async () => {
        if (flags.optionsMarkdown === true) {
          context.stdout.write(optionsMarkdown(set))
          return 0
        }
        const resolved = resolve(await sourcesFrom(given, context))
        if (flags.printConfig !== true) return go(resolved, flags)
        tellNotices(resolved.notices, context)
        const shown = { profile: resolved.profile, described: describe(resolved) }
        context.stdout.write(flags.output === 'json' ? configJson(shown) : await configYaml(shown))
        return 0
      }),
    )
}
