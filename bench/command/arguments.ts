// SPDX-License-Identifier: Apache-2.0
// What the benches' command lines have in common.
import { parseArgs, type ParseArgsConfig } from 'node:util'

const COMMON = {
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

/** One line for a person, beside what is measured. */
export const say = (line: string): void => void process.stderr.write(`${line}\n`)

/** The options of `npm run bench -- NAME`. Ends the process after `--help`, and with 2 after a bad argument. */
export const readArguments = <const O extends NonNullable<ParseArgsConfig['options']>>(
  name: string,
  help: string,
  options: O,
) => {
  const refuse = (message: string): never => {
    say(`bench ${name}: ${message}`)
    process.exit(2)
  }
  const read = () => {
    try {
      const all: typeof COMMON & O = { ...COMMON, ...options }
      return parseArgs({ options: all }).values
    } catch (error) {
      return refuse((error as Error).message)
    }
  }
  const values = read()
  if (parseArgs({ options: COMMON, strict: false }).values.help === true) {
    process.stdout.write(help)
    process.exit(0)
  }
  /** A whole number of nine digits at most; `otherwise` where it is not given. */
  const whole = (option: string, text: string | undefined, otherwise: number, min = 1): number => {
    if (text === undefined) return otherwise
    return /^\d{1,9}$/.test(text) && Number(text) >= min
      ? Number(text)
      : refuse(`--${option} must be a whole number from ${min}, got ${text}`)
  }
  return { values, refuse, whole }
}
