// SPDX-License-Identifier: Apache-2.0
import { Option, type Command } from 'commander'
import type { Definition } from '../agent/options/definition.js'
import { allDefinitions, groups } from '../agent/options/definitions.js'
import { PROFILES, profileNames } from '../agent/options/profiles.js'
import { foreignFlags, type OptionSources } from '../agent/options/sources.js'

/** `default 10s; fast 1s`: what an option is when nobody says. */
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

/** A profile list and how texts reach the resolver. */
type Collected = { name: string; text: string }[]

const bareMeansTrue = (option: Option): Option => option.preset('true')

/**
 * Declare every option of the agent, ours shown and SuperEdge's hidden.
 * @returns what the command line gives, in its order, once it is parsed.
 */
export const addAgentOptions = (command: Command): OptionSources['flags'] => {
  const given: Collected = []
  const declare = (name: string, argument: string, description: string): Option => {
    const option = new Option(`--${name} ${argument}`, description).argParser((text: string) => {
      given.push({ name, text })
      return text
    })
    command.addOption(option)
    return option
  }
  const profiles = Object.entries(PROFILES).map(([name, text]) => `${name}: ${text}`)
  declare('profile', '<name>', `${profileNames.join(', ')} (${profiles.join('; ')})`)
  declare('config', '<path>', 'YAML file with one key for each option, without dashes')
  for (const definition of allDefinitions) {
    const { flag, kind, summary, group } = definition
    const isBoolean = kind.name === 'true|false'
    const argument = isBoolean ? `[${kind.name}]` : `<${kind.name}>`
    const option = declare(flag, argument, `${summary} ${defaultsText(definition)}`)
    option.helpGroup(`${groups[group]}:`)
    if (isBoolean) bareMeansTrue(option)
  }
  for (const name of foreignFlags) bareMeansTrue(declare(name, '[value]', '').hideHelp())
  return given
}
