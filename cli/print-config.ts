// SPDX-License-Identifier: Apache-2.0
import { stringify } from 'yaml'
import { describeOptions, originText, type ResolvedAgentOptions } from '../agent/options/resolve.js'

/** JSON for programs: each option's text and where it came from. */
export const configJson = (resolved: ResolvedAgentOptions): string => {
  const options = Object.fromEntries(
    describeOptions(resolved).map(({ flag, texts, origin }) => [
      flag,
      { value: texts.join(' '), origin: { ...origin, text: originText(origin) } },
    ]),
  )
  return `${JSON.stringify({ profile: resolved.profile, options }, null, 2)}\n`
}

/** YAML that `--config` reads back to the same options; where each value came from stands behind it. */
export const configYaml = (resolved: ResolvedAgentOptions): string => {
  const rows = describeOptions(resolved).map(
    ({ flag, texts, origin }) =>
      [
        `${flag}: ${stringify(texts.join(' '), { lineWidth: 0 }).trimEnd()}`,
        originText(origin),
      ] as const,
  )
  const width = Math.max(...rows.map(([text]) => text.length))
  const lines = rows.map(([text, origin]) => `${text.padEnd(width)}  # ${origin}`)
  return `profile: ${resolved.profile}\n${lines.join('\n')}\n`
}
