// SPDX-License-Identifier: Apache-2.0
// The command line as data, from which completions and the manual page are made.
import type { Command, Option } from 'commander'

/** One option as its command declares it. */
export interface OptionLeaf {
  /** `-o`; undefined when there is none. */
  readonly short: string | undefined
  /** `--output`. */
  readonly long: string
  /** The name of its value, `format`; undefined for a switch. */
  readonly value: string | undefined
  /** The value may be left out. */
  readonly isValueOptional: boolean
  /** The possible values; empty when any value is accepted. */
  readonly choices: readonly string[]
  readonly description: string
}

/** A command and its subcommands. */
export interface CommandTree {
  /** The names of its parents and its own, without `edge-health`. */
  readonly path: readonly string[]
  readonly description: string
  readonly arguments: readonly {
    readonly name: string
    readonly isRequired: boolean
    readonly choices: readonly string[]
  }[]
  readonly options: readonly OptionLeaf[]
  /** The text below its help: examples, exit codes. */
  readonly footer: string
  readonly commands: readonly CommandTree[]
}

const leafOf = ({ short, long, flags, description, argChoices, optional }: Option): OptionLeaf => {
  const value = /[<[](.+)[>\]]/.exec(flags)?.[1]
  const choices = argChoices ?? (value?.includes('|') === true ? value.split('|') : [])
  return {
    ...{ short, long: long ?? short ?? '', value, isValueOptional: optional, choices, description },
  }
}

const HELP: OptionLeaf = {
  ...{ short: '-h', long: '--help', value: undefined, isValueOptional: false, choices: [] },
  description: 'display help for command',
}

/** The text below the help, which commander only gives out with the help. Afterwards the command's output goes nowhere. */
const footerOf = (command: Command): string => {
  let text = ''
  command.configureOutput({ writeOut: more => void (text += more) })
  command.outputHelp()
  return text.slice(command.helpInformation().length).trim()
}

/** Options that the help hides are left out, such as SuperEdge's. */
export const commandTree = (command: Command, path: readonly string[] = []): CommandTree => ({
  path,
  description: command.description(),
  arguments: command.registeredArguments.map(argument => ({
    name: argument.name(),
    isRequired: argument.required,
    choices: argument.argChoices ?? [],
  })),
  options: [...command.options.filter(({ hidden }) => !hidden).map(leafOf), HELP],
  footer: footerOf(command),
  commands: command
    .createHelp()
    .visibleCommands(command)
    .filter(inner => inner.name() !== 'help')
    .map(inner => commandTree(inner, [...path, inner.name()])),
})

/** All commands, parents first. */
export const flatten = (tree: CommandTree): readonly CommandTree[] => [
  tree,
  ...tree.commands.flatMap(flatten),
]
