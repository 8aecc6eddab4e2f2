// SPDX-License-Identifier: Apache-2.0
import { groupBy } from '../core/group-by.js'
import { envName, type Definition, type OptionSet } from '../options/definition.js'
import { briefOf } from '../options/kinds.js'
import { klogFlags } from '../options/klog.js'

const code = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``

const defaultCell = ({ default: text, env }: Definition<unknown>): string => {
  if (text === undefined) return env === undefined ? 'not used' : 'must be given'
  return text === '' ? 'none' : code(text)
}

const profileCell = ({ profiles = {}, default: usual }: Definition<unknown>): string =>
  Object.entries(profiles)
    .filter(([, value]) => value !== usual)
    .map(([name, value]) => `${name} ${code(value)}`)
    .join(', ')

const whatCell = ({ kind, summary, relation, isList }: Definition<unknown>): string => {
  const text = [summary, relation].filter(part => part !== undefined).join('; ')
  const values = `${briefOf(kind)}${isList === true ? ', several times' : ''}`
  return `${text} (${values})`.replaceAll('|', '\\|')
}

const namesCell = ({ aliases = [], env }: Definition<unknown>): string => {
  const foreign = aliases.map(({ name, seconds }) => `\`--${name}\`${seconds ? ' (seconds)' : ''}`)
  return [...(env === undefined ? [] : [code(env)]), ...foreign].join(', ')
}

/** A table of one group; a column that would be empty is left out. */
const section = (set: OptionSet, group: string, title: string): string => {
  const definitions = set.definitions.filter(each => each.group === group)
  const columns: readonly [string, (definition: Definition<unknown>) => string][] = [
    ['option', ({ flag }) => code(`--${flag}`)],
    ['default', defaultCell],
    ['profiles', profileCell],
    ['what it is', whatCell],
    ['other names', namesCell],
  ]
  const used = columns.filter(([, cell]) => definitions.some(each => cell(each) !== ''))
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [
    `## ${title}`,
    '',
    line(used.map(([head]) => head)),
    `|${used.map(() => '---|').join('')}`,
    ...definitions.map(each => line(used.map(([, cell]) => cell(each)))),
    '',
  ].join('\n')
}

/** Flags that do nothing, other than klog's, by reason. */
const ignoredText = ({ ignored }: OptionSet): string => {
  const rows = Object.entries(ignored).filter(([name]) => !(name in klogFlags))
  if (rows.length === 0) return ''
  const lines = [...groupBy(rows, ([, why]) => why)].map(
    ([why, names]) => `- ${names.map(([name]) => code(`--${name}`)).join(', ')}: ${why}`,
  )
  return `\nSuperEdge's flags that are accepted but do nothing, as the log then says:\n\n${lines.join('\n')}\n`
}

const profilesText = ({ profiles }: OptionSet): string => {
  const list = Object.entries(profiles).map(([name, text]) => `**${name}**, ${text}`)
  return list.length === 0 ? '' : `\nProfiles: ${list.join('; ')}.\n`
}

const RULES = `The first of these sources that gives an option wins:

1. the flag \`--check-period 5s\`
2. the environment, \`EDGE_HEALTH_CHECK_PERIOD=5s\`; empty counts as not given
3. the file of \`--config\` (YAML, \`check-period: 5s\`; an unknown key is an error)
4. the profile, if the program has profiles
5. the default

A bad value ends the program with exit code 2 and one line that names the option, its rule and the value.
\`--print-config\` shows the result and where each value came from, in the form that \`--config\` reads.

In brackets: the values that an option takes. Durations have a unit: \`500ms\`, \`10s\`, \`1m30s\`. SuperEdge's names are
accepted as well as ours and do what they say; for those, a bare number is in seconds. klog's \`--v\` of 4 and above is
\`--log-level debug\`; its other flags (${Object.keys(klogFlags)
  .map(name => code(`--${name}`))
  .join(', ')}) do nothing.
`

/** A program's page of options, made only from its definitions. The agent's page contains the rules for all programs. */
export const optionsMarkdown = (set: OptionSet): string => {
  const rules =
    set.command === 'agent'
      ? RULES
      : `[How options are given](options.md), for example \`--${set.example} 5s\` or \`${envName(set.example)}=5s\`. In brackets: the values that an option takes.\n`
  return `<!-- Made by \`edge-health ${set.command} --options-markdown\`; a test fails when it differs. -->
<!-- prettier-ignore-start -->
# Options of \`edge-health ${set.command}\`

${rules}${ignoredText(set)}${profilesText(set)}
${Object.entries(set.groups)
  .map(([group, title]) => section(set, group, title))
  .join('\n')}
<!-- prettier-ignore-end -->
`
}
