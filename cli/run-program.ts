// SPDX-License-Identifier: Apache-2.0
import { hostname } from 'node:os'
import { configPathOf } from '../options/resolve.js'
import type { OptionSources } from '../options/sources.js'
import { parseConfigFile } from '../options/config-file.js'
import { aborted, type Clock } from '../core/clock.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Program, ProgramSeams } from '../core/program.js'
import { systemRandom } from '../core/random.js'
import { clean } from '../core/text.js'
import { makeLogger, type LoggerOptions } from './logger.js'
import { version } from './version.js'
import type { ExitCode, CliContext } from './cli-context.js'

/** The process, as far as the command line knows it. */
export interface CliProgramSeams extends ProgramSeams {
  /** Changes the log level: klog's verbosity, 0 to 10. */
  readonly setVerbosity: (verbosity: number) => void
}

/** How a program is built out of its options. */
export type MakeProgram<O> = (options: O, seams: CliProgramSeams) => Program

/** The program's name for logs, and its options. */
export interface ProgramRun<O> {
  readonly name: string
  readonly options: O
  readonly notices: readonly string[]
  readonly make: MakeProgram<O>
}

const STOP_LIMIT_MS = 5_000

const stopWithin = (program: Program, clock: Clock, ms: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false))
    program.stop().then(
      () => {
        cancel()
        resolve(true)
      },
      (error: unknown) => {
        cancel()
        reject(error instanceof Error ? error : new Error(reasonOf(error)))
      },
    )
  })

/** Run a program from start to the context's signal. 0: stopped as asked; 1: could not start, failed, or did not stop in 5 s. */
export const runLong = async <O extends LoggerOptions>(
  { name, options, notices, make }: ProgramRun<O>,
  context: CliContext,
): Promise<ExitCode> => {
  const { clock, signal } = context
  const { setVerbosity, ...log } = makeLogger(options, name, context.stderr)
  for (const notice of notices) log.warn(notice)
  const environment = context.env
  const program = make(options, {
    ...{ clock, random: systemRandom, log, version, setVerbosity, environment },
  })
  log.info('starting', { version })
  try {
    const first = await Promise.race([program.start().then(() => 'running'), aborted(signal)])
    if (first === 'running') log.info('running')
    const { failed } = program
    await Promise.race([aborted(signal), ...(failed === undefined ? [] : [failed])])
    log.info('stopping', { signal: signal.reason as unknown })
    if (await stopWithin(program, clock, STOP_LIMIT_MS)) return 0
    log.error('not stopped in time', { limitMs: STOP_LIMIT_MS })
    return 1
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    log.error(`${name} failed`, { error: reasonOf(error) })
    await stopWithin(program, clock, STOP_LIMIT_MS).catch((cause: unknown) =>
      log.error('stopping failed', { error: reasonOf(cause) }),
    )
    return 1
  }
}

/** Print warnings about given options that have no effect, for commands without a log. */
export const tellNotices = (notices: readonly string[], { stderr }: CliContext): void => {
  for (const notice of notices) stderr.write(`edge-health: warning: ${clean(notice)}\n`)
}

/** Use the machine's name when no node name is given: for commands that only look, never for the programs themselves. */
export const withHostname = (sources: OptionSources): OptionSources => ({
  ...sources,
  env: { NODE_NAME: hostname(), ...sources.env },
})

/** Flags, environment and, if one is named, the config file. Rejects with InvalidInputError when the file cannot be read. */
export const sourcesFrom = async (
  flags: OptionSources['flags'],
  context: CliContext,
): Promise<OptionSources> => {
  const sources = { flags, env: context.env }
  const path = configPathOf(sources)
  if (path === undefined) return sources
  return { ...sources, config: await parseConfigFile(path, readConfigFile(path, context)) }
}

const readConfigFile = (path: string, context: CliContext): string => {
  try {
    return context.readFile(path)
  } catch (cause) {
    const rule = `must be a readable file (${reasonOf(cause)})`
    throw new InvalidInputError('--config', rule, path, { cause })
  }
}
