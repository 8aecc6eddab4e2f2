// SPDX-License-Identifier: Apache-2.0
import { Option, type Command } from 'commander'
import type { Definition, OptionSet } from '../options/definition.js'
import { foreignFlags, type OptionSources } from '../options/sources.js'

/** `default 10s; fast 1s`: an option's defaults. */
const defaultsText = ({ default: text, profiles = {}, env }: Definition<unknown>): string => {
  const first =
    text === undefined
      ? env === undefined
        ? 'not used'
        : `or ${env}`
      : `default ${text || 'none'}`
  const others = Object.entries(profiles)
    .filter(([, value]) => value !== text)
    .map(([name, value]) => `; ${name} ${value}`)
  return `(${first}${others.join('')})`
}

/** The flags that were given, in the order of the command line. */
type Collected = { name: string; text: string }[]

const bareMeansTrue = (option: Option): Option => option.preset('true')

/**
 * Declare every option of a program: ours are shown in the help, SuperEdge's are hidden.
 * @returns what the command line gives, in its order, once it is parsed.
 */
export const addOptions = (command: Command, set: OptionSet): OptionSources['flags'] => {
  const given: Collected = []
  const declare = (name: string, argument: string, description: string): Option => {
    const option = new Option(`--${name} ${argument}`, description).argParser((text: string) => {
      given.push({ name, text })
      return text
    })
    command.addOption(option)
    return option
  }
  const profiles = Object.entries(set.profiles).map(([name, text]) => `${name}: ${text}`)
  if (profiles.length > 0) {
    const names = Object.keys(set.profiles).join(', ')
    declare('profile', '<name>', `${names} (${profiles.join('; ')})`)
  }
  declare('config', '<path>', 'YAML file with one key for each option, without the leading --')
  for (const definition of set.definitions) {
    const { flag, kind, summary, group } = definition
    const isBoolean = kind.name === 'true|false'
    const argument = isBoolean ? `[${kind.name}]` : `<${kind.name}>`
    const option = declare(flag, argument, `${summary} ${defaultsText(definition)}`)
    option.helpGroup(`${set.groups[group]!}:`)
    if (isBoolean) bareMeansTrue(option)
  }
  for (const name of foreignFlags(set)) bareMeansTrue(declare(name, '[value]', '').hideHelp())
  return given
}
