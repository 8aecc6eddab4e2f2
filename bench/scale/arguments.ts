// SPDX-License-Identifier: Apache-2.0
import { availableParallelism } from 'node:os'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { EdgeHealthError, InvalidInputError } from '../../core/errors.js'
import { type Cell, IDENTITIES, type Identity } from './cell.js'

/** Options that all tables share, as `parseArgs` wants them. */
export const SHARED = {
  nodes: { type: 'string' },
  profile: { type: 'string', default: 'default' },
  loss: { type: 'string' },
  seed: { type: 'string', default: '1' },
  flag: { type: 'string', multiple: true },
  threads: { type: 'string', default: String(availableParallelism()) },
  output: { type: 'string', short: 'o', default: 'text' },
  help: { type: 'boolean', short: 'h', default: false },
} as const

export const SHARED_HELP = `  --profile default              or fast
  --seed N                       default 1; the same seed prints the same figures
  --flag NAME=VALUE              an option of the agents; may be repeated
  --threads N                    zones at the same time; default: as many as there are cores
  -o, --output json              print JSON instead of tables
`

const integer = (option: string, text: string, [min, max]: readonly [number, number]): number => {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new InvalidInputError(`--${option}`, `must be a whole number from ${min} to ${max}`, text)
  return value
}

/** `a,b,c`; the fallback where the option was not given. */
export const integers = (
  option: string,
  text: string | undefined,
  range: readonly [number, number],
  fallback: readonly number[],
): readonly number[] =>
  text === undefined ? fallback : text.split(',').map(part => integer(option, part, range))

export const maybeInteger = (
  option: string,
  text: string | undefined,
  range: readonly [number, number],
): number | undefined => (text === undefined ? undefined : integer(option, text, range))

/** Words of a list that must be known. */
export const words = <W extends string>(
  option: string,
  text: string,
  known: readonly W[],
): ReadonlySet<W> => {
  const given = text.split(',')
  const isKnown = (word: string): word is W => (known as readonly string[]).includes(word)
  if (!given.every(isKnown))
    throw new InvalidInputError(`--${option}`, `must be among ${known.join(', ')}`, text)
  return new Set(given)
}

export const NODES = [1, 20_000] as const
/** Percent. */
export const LOSSES = [0, 90] as const

/** What is the same for all rows of a run. */
export interface Plan {
  readonly profile: Cell['profile']
  readonly seed: number
  readonly identity: Identity
  readonly flags: readonly string[]
  readonly threads: number
  readonly isJson: boolean
}

export const planOf = (values: {
  readonly profile: string
  readonly seed: string
  readonly flag?: readonly string[] | undefined
  readonly threads: string
  readonly output: string
}): Plan => {
  const [profile] = words('profile', values.profile, ['default', 'fast'])
  const [output] = words('output', values.output, ['text', 'json'])
  return {
    profile: profile!,
    seed: integer('seed', values.seed, [0, 1e9]),
    identity: 'off',
    flags: (values.flag ?? []).map(flag => `--${flag}`),
    threads: integer('threads', values.threads, [1, 256]),
    isJson: output === 'json',
  }
}

/** The same for each of these `--identity`. */
export const plansOf = (plan: Plan, identities: string): readonly Plan[] =>
  [...words('identity', identities, IDENTITIES)].map(identity => ({ ...plan, identity }))

export const cellOf = (
  { profile, seed, identity, flags }: Plan,
  size: number,
  lossPercent: number,
  zone = 0,
): Cell => ({ size, loss: lossPercent / 100, profile, seed: seed + 101 * zone, identity, flags })

/** Run a command line's work; what was asked wrongly is one line and exit code 2. */
export const runCommand = async <O extends NonNullable<ParseArgsConfig['options']>>(
  options: O,
  help: string,
  work: (values: ReturnType<typeof parseArgs<{ options: O }>>['values']) => Promise<boolean>,
): Promise<void> => {
  try {
    const { values } = parseArgs({ options })
    if ((values as { help?: boolean }).help === true) process.stdout.write(help)
    else if (!(await work(values))) process.exitCode = 1
  } catch (error) {
    const isUsage = error instanceof EdgeHealthError || error instanceof TypeError
    if (!isUsage) throw error
    process.stderr.write(`${error.message}\n`)
    process.exitCode = 2
  }
}
