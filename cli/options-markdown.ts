// SPDX-License-Identifier: Apache-2.0
import { envName, type Definition } from '../agent/options/definition.js'
import { allDefinitions, groups, ignoredFlags } from '../agent/options/definitions.js'
import { PROFILES, profileNames } from '../agent/options/profiles.js'

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

const row = (definition: Definition<unknown>): string => {
  const { flag, kind, summary, relation, aliases = [], env } = definition
  const foreign = aliases.map(({ name, seconds }) => `\`--${name}\`${seconds ? ' (seconds)' : ''}`)
  const also = [...(env === undefined ? [] : [`\`${env}\` in the environment`]), ...foreign]
  const what = [summary, relation, `${kind.name === 'plugin' ? 'Each ' : ''}${kind.rule}`]
    .filter(text => text !== undefined)
    .join('; ')
  return `| ${code(`--${flag}`)} | ${defaultCell(definition)} | ${profileCell(definition)} | ${what.replaceAll('|', '\\|')} | ${also.join(', ')} |`
}

const example = allDefinitions.find(({ flag }) => flag === 'check-period')!

/** `docs/options.md`, from the definitions alone. */
export const optionsMarkdown = (): string => {
  const sections = Object.entries(groups).map(([group, title]) =>
    [
      `## ${title}`,
      '',
      '| option | default | profiles | what it is | other names |',
      '|---|---|---|---|---|',
      ...allDefinitions.filter(definition => definition.group === group).map(row),
      '',
    ].join('\n'),
  )
  return `<!-- Made by \`edge-health agent --options-markdown\`; a test fails when it differs. -->
<!-- prettier-ignore-start -->
# Options of \`edge-health agent\`

Each option may be given in five places. The first that gives it wins:

1. the flag \`--${example.flag} 5s\`
2. the environment, \`${envName(example.flag)}=5s\`; empty counts as not given
3. the file of \`--config\` (YAML, \`${example.flag}: 5s\`; an unknown key is an error)
4. the profile
5. the default

A bad value ends the agent with exit code 2 and one line that names the option, its rule and the value.
\`--print-config\` shows the result and where each value came from; what it prints can be given to \`--config\`.

Durations have a unit: \`500ms\`, \`10s\`, \`1m30s\`. SuperEdge's names are accepted beside ours and do what they say;
there a bare number is seconds. klog's \`--v\` from 4 on is \`--log-level debug\`; its other flags
(${ignoredFlags.map(name => `\`--${name}\``).join(', ')}) are accepted and do nothing.

Profiles: ${profileNames.map(name => `**${name}**, ${PROFILES[name]}`).join('; ')}.

${sections.join('\n')}
<!-- prettier-ignore-end -->
`
}
