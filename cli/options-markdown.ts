// SPDX-License-Identifier: Apache-2.0
import { envName, type Definition, type OptionSet } from '../options/definition.js'
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

const row = (definition: Definition<unknown>, hasProfiles: boolean): string => {
  const { flag, kind, summary, relation, aliases = [], env, isList } = definition
  const foreign = aliases.map(({ name, seconds }) => `\`--${name}\`${seconds ? ' (seconds)' : ''}`)
  const also = [...(env === undefined ? [] : [`\`${env}\` in the environment`]), ...foreign]
  const what = [summary, relation, `${isList === true ? 'Each ' : ''}${kind.rule}`]
    .filter(text => text !== undefined)
    .join('; ')
  const profiles = hasProfiles ? ` ${profileCell(definition)} |` : ''
  return `| ${code(`--${flag}`)} | ${defaultCell(definition)} |${profiles} ${what.replaceAll('|', '\\|')} | ${also.join(', ')} |`
}

const section = (set: OptionSet, group: string, title: string): string => {
  const hasProfiles = Object.keys(set.profiles).length > 0
  return [
    `## ${title}`,
    '',
    `| option | default |${hasProfiles ? ' profiles |' : ''} what it is | other names |`,
    `|---|---|${hasProfiles ? '---|' : ''}---|---|`,
    ...set.definitions.filter(each => each.group === group).map(each => row(each, hasProfiles)),
    '',
  ].join('\n')
}

/** Flags that do nothing, beside klog's. */
const replacedText = ({ ignored }: OptionSet): string => {
  const rows = Object.entries(ignored).filter(([name]) => !(name in klogFlags))
  if (rows.length === 0) return ''
  const lines = rows.map(([name, why]) => `- ${code(`--${name}`)}: ${why}`)
  return `\nFlags of SuperEdge's that are accepted, do nothing and say so in the log:\n\n${lines.join('\n')}\n`
}

const profilesText = ({ profiles }: OptionSet): string => {
  const list = Object.entries(profiles).map(([name, text]) => `**${name}**, ${text}`)
  return list.length === 0 ? '' : `\nProfiles: ${list.join('; ')}.\n`
}

/** A program's page of options, from its definitions alone. */
export const optionsMarkdown = (set: OptionSet): string => {
  const { example } = set
  const places = [
    `the flag \`--${example} 5s\``,
    `the environment, \`${envName(example)}=5s\`; empty counts as not given`,
    `the file of \`--config\` (YAML, \`${example}: 5s\`; an unknown key is an error)`,
    ...(Object.keys(set.profiles).length > 0 ? ['the profile'] : []),
    'the default',
  ]
  const numbers = ['two', 'three', 'four', 'five']
  return `<!-- Made by \`edge-health ${set.command} --options-markdown\`; a test fails when it differs. -->
<!-- prettier-ignore-start -->
# Options of \`edge-health ${set.command}\`

Each option may be given in ${numbers[places.length - 2]!} places. The first that gives it wins:

${places.map((place, index) => `${index + 1}. ${place}`).join('\n')}

A bad value ends the program with exit code 2 and one line that names the option, its rule and the value.
\`--print-config\` shows the result and where each value came from; what it prints can be given to \`--config\`.

Durations have a unit: \`500ms\`, \`10s\`, \`1m30s\`. SuperEdge's names are accepted beside ours and do what they say;
there a bare number is seconds. klog's \`--v\` from 4 on is \`--log-level debug\`; its other flags
(${Object.keys(klogFlags)
    .map(name => `\`--${name}\``)
    .join(', ')}) are accepted and do nothing.
${replacedText(set)}${profilesText(set)}
${Object.entries(set.groups)
  .map(([group, title]) => section(set, group, title))
  .join('\n')}
<!-- prettier-ignore-end -->
`
}
