// SPDX-License-Identifier: Apache-2.0
// The command line as data, for whatever is made from it: completions and the manual page.
import type { Command, Option } from 'commander'

/** One option as its command declares it. */
export interface OptionLeaf {
  /** `-o`; undefined when there is none. */
  readonly short: string | undefined
  /** `--output`. */
  readonly long: string
  /** What stands behind it, `format`; undefined for a switch. */
  readonly value: string | undefined
  /** It may stand without its value. */
  readonly isValueOptional: boolean
  /** The values that there are; empty when any will do. */
  readonly choices: readonly string[]
  readonly description: string
}

/** A command, and those below it. */
export interface CommandTree {
  /** Its name behind those of its parents, without `edge-health`. */
  readonly path: readonly string[]
  readonly description: string
  readonly arguments: readonly {
    readonly name: string
    readonly isRequired: boolean
    readonly choices: readonly string[]
  }[]
  readonly options: readonly OptionLeaf[]
  /** What stands below its help: examples, exit codes. */
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

/** What stands below the help; commander gives it out with the help alone. Its output goes nowhere else afterwards. */
const footerOf = (command: Command): string => {
  let text = ''
  command.configureOutput({ writeOut: more => void (text += more) })
  command.outputHelp()
  return text.slice(command.helpInformation().length).trim()
}

/** What is hidden from the help is left out, SuperEdge's options among it. */
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
