// SPDX-License-Identifier: Apache-2.0
import { Option } from 'commander'
import { plain, type Colour, type Paint } from '../core/text.js'
import type { Output, CliContext } from './cli-context.js'

export type Format = 'text' | 'json' | 'yaml'

/** `-o`, with the first format as default. */
export const outputOption = (...formats: readonly Format[]): Option =>
  new Option(
    '-o, --output <format>',
    `how to print: ${formats.join(' or ')} (default ${formats[0]!})`,
  )
    .choices(formats)
    .default(formats[0])

const CODES: Readonly<Record<Colour, readonly [on: number, off: number]>> = {
  red: [31, 39],
  yellow: [33, 39],
  green: [32, 39],
  bold: [1, 22],
  dim: [2, 22],
}

/** Colours on a terminal, unless NO_COLOR is set to anything. */
export const paintFor = (context: Pick<CliContext, 'env'>, output: Output): Paint =>
  output.isTTY === true && (context.env['NO_COLOR'] ?? '') === '' && context.env['TERM'] !== 'dumb'
    ? (colour, text) => `\u001b[${CODES[colour][0]}m${text}\u001b[${CODES[colour][1]}m`
    : plain
