// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import type { AgentOptions } from '../agent/options/agent-options.js'
import {
  configPathOf,
  resolveAgentOptions,
  type ResolvedAgentOptions,
} from '../agent/options/resolve.js'
import type { Clock } from '../core/clock.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { systemRandom, type Random } from '../core/random.js'
import { outputOption, type Format } from './format.js'
import { makeLogger } from './logger.js'
import { addAgentOptions } from './option-flags.js'
import { optionsMarkdown } from './options-markdown.js'
import { configJson, configYaml } from './print-config.js'
import { version } from './version.js'
import { Exit, type ExitCode, type Run, type World } from './world.js'

/** A program that runs until it is stopped. */
export interface AgentProgram {
  /** Resolves when the agent runs; rejects when it cannot (a taken port, no credentials). */
  start(): Promise<void>
  /** Announces leaving and stops in reverse order; may be called while starting. */
  stop(): Promise<void>
}

/** The real world, as far as the command line knows it. */
export interface AgentSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  /** Changes the log level: klog's verbosity, 0 to 10. */
  readonly setVerbosity: (verbosity: number) => void
  /** The process environment: credentials are found through it. */
  readonly environment: World['env']
}

export type MakeAgent = (options: AgentOptions, seams: AgentSeams) => AgentProgram

const STOP_LIMIT_MS = 5_000

const aborted = (signal: AbortSignal): Promise<'aborted'> =>
  new Promise(resolve => {
    if (signal.aborted) resolve('aborted')
    else signal.addEventListener('abort', () => resolve('aborted'), { once: true })
  })

const stopWithin = (agent: AgentProgram, clock: Clock, ms: number): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false))
    agent.stop().then(
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

/** Run an agent from start to the world's signal. 0: stopped as asked; 1: could not start, or not stop in 5 s. */
export const runAgent = async (
  { options, notices }: Pick<ResolvedAgentOptions, 'options' | 'notices'>,
  makeAgent: MakeAgent,
  world: World,
): Promise<ExitCode> => {
  const { clock, signal } = world
  const { setVerbosity, ...log } = makeLogger(options, world.stderr)
  for (const notice of notices) log.warn(notice)
  const environment = world.env
  const agent = makeAgent(options, {
    ...{ clock, random: systemRandom, log, version, setVerbosity, environment },
  })
  log.info('starting', { version })
  try {
    const first = await Promise.race([agent.start().then(() => 'running'), aborted(signal)])
    if (first === 'running') log.info('running')
    await aborted(signal)
    log.info('stopping', { signal: signal.reason as unknown })
    if (await stopWithin(agent, clock, STOP_LIMIT_MS)) return 0
    log.error('not stopped in time', { limitMs: STOP_LIMIT_MS })
    return 1
  } catch (error) {
    if (error instanceof InvalidInputError) throw error
    log.error('agent failed', { error: reasonOf(error) })
    await stopWithin(agent, clock, STOP_LIMIT_MS).catch((cause: unknown) =>
      log.error('stopping failed', { error: reasonOf(cause) }),
    )
    return 1
  }
}

const resolveFrom = (
  flags: Parameters<typeof resolveAgentOptions>[0]['flags'],
  world: World,
): ResolvedAgentOptions => {
  const sources = { flags, env: world.env }
  const path = configPathOf(sources)
  if (path === undefined) return resolveAgentOptions(sources)
  let text: string
  try {
    text = world.readFile(path)
  } catch (cause) {
    const rule = `must be a readable file (${reasonOf(cause)})`
    throw new InvalidInputError('--config', rule, path, { cause })
  }
  return resolveAgentOptions({ ...sources, config: { path, text } })
}

interface AgentFlags {
  readonly output: Format
  readonly printConfig?: boolean
  readonly optionsMarkdown?: boolean
}

const FOOTER = `
Each option may also stand in the environment (--check-period is EDGE_HEALTH_CHECK_PERIOD) and in the file of
--config (check-period: 5s). A flag wins over the environment, that over the file, that over the profile, that over
the default. Durations have a unit: 500ms, 10s, 1m. SuperEdge's flags are accepted too; there a number is seconds.
Exit codes: 0 stopped by a signal, 1 it could not start or stop, 2 a bad option.`

/** `edge-health agent`. */
export const registerAgent = (
  program: Command,
  world: World,
  run: Run,
  load: (() => Promise<MakeAgent>) | undefined,
): void => {
  const command = program
    .command('agent')
    .description("run the node's agent: check the peers, exchange, vote, write, answer /localinfo")
  const flags = addAgentOptions(command)
  command
    .option('--print-config', 'print the options and where each came from, and exit')
    .addOption(command.createOption('--options-markdown').hideHelp())
    .addOption(outputOption('yaml', 'json'))
    .addHelpText('after', FOOTER)
    .action((own: AgentFlags) =>
      run(async () => {
        if (own.optionsMarkdown === true) {
          world.stdout.write(optionsMarkdown())
          return 0
        }
        const resolved = resolveFrom(flags, world)
        if (own.printConfig === true) {
          world.stdout.write(own.output === 'json' ? configJson(resolved) : configYaml(resolved))
          return 0
        }
        if (load === undefined) throw new Exit(1, 'this build has no agent')
        return runAgent(resolved, await load(), world)
      }),
    )
}
