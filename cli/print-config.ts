// SPDX-License-Identifier: Apache-2.0
import { originText, type Described } from '../options/resolve.js'

/** A program's resolved options. */
export interface ShownConfig {
  /** Undefined for a program without profiles. */
  readonly profile: string | undefined
  readonly described: readonly Described[]
}

/** JSON for programs: each option's text and where it came from. */
export const configJson = ({ profile, described }: ShownConfig): string => {
  const options = Object.fromEntries(
    described.map(({ flag, texts, origin }) => [
      flag,
      { value: texts.join(' '), origin: { ...origin, text: originText(origin) } },
    ]),
  )
  return `${JSON.stringify({ profile, options }, null, 2)}\n`
}

/** YAML that `--config` reads back to the same options; a comment after each value says where it came from. */
export const configYaml = async ({ profile, described }: ShownConfig): Promise<string> => {
  const { stringify } = await import('yaml')
  const rows = described.map(
    ({ flag, texts, origin }) =>
      [
        `${flag}: ${stringify(texts.join(' '), { lineWidth: 0 }).trimEnd()}`,
        originText(origin),
      ] as const,
  )
  const width = Math.max(...rows.map(([text]) => text.length))
  const lines = rows.map(([text, origin]) => `${text.padEnd(width)}  # ${origin}`)
  return `${profile === undefined ? '' : `profile: ${profile}\n`}${lines.join('\n')}\n`
}
