// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import process from 'node:process'
import { type Command, Option } from 'commander'
import { aborted, systemClock } from '../core/clock.js'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { parseJson } from '../core/parse.js'
import { type DemoReport, runDemo } from '../sandbox/demo/run.js'
import { SCENES } from '../sandbox/demo/scenes.js'
import { plainScreen, type Screen, terminalScreen } from '../sandbox/demo/screen.js'
import { colours, noColours } from '../sandbox/demo/table.js'
import { parseKubeletOptions, startKubelet } from '../sandbox/kubelet.js'
import type { Profile, Vouch } from '../sandbox/zone-node.js'

interface DemoFlags {
  readonly nodes: number
  readonly scene: readonly string[]
  readonly profile: Profile | undefined
  readonly vouch: Vouch
  readonly keep: boolean
  readonly addressBase: string
  readonly apiPort: number
  readonly output: 'text' | 'json'
}

const whole =
  (name: string, min: number, max: number) =>
  (text: string): number => {
    const value = Number(text)
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidInputError(name, `must be a whole number from ${min} to ${max}`, text)
    return value
  }

const collectScene = (name: string, before: readonly string[]): readonly string[] => {
  if (!SCENES.some(scene => scene.name === name)) {
    const names = SCENES.map(scene => scene.name).join(', ')
    throw new InvalidInputError('--scene', `must be one of ${names}`, name)
  }
  return [...before, name]
}

/** A terminal shows a table that is redrawn; files, pipes, CI and NO_COLOR get plain lines. */
const screenFor = (output: 'text' | 'json'): Screen => {
  const { env } = process
  const stream = output === 'json' ? process.stderr : process.stdout
  const isPlain =
    !stream.isTTY ||
    (env['NO_COLOR'] ?? '') !== '' ||
    (env['CI'] ?? '') !== '' ||
    env['TERM'] === 'dumb'
  return isPlain
    ? plainScreen(stream, systemClock, noColours)
    : terminalScreen(stream, systemClock, colours)
}

/** The environment of the nodes' processes, without variables that could configure an agent. */
const childEnvironment = (): Record<string, string> => {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE']
  return Object.fromEntries(
    kept.flatMap(name => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Aborts at the first signal that ends a program. */
const signalled = (): AbortSignal => {
  const stopping = new AbortController()
  for (const name of SIGNALS) process.once(name, () => stopping.abort(name))
  return stopping.signal
}

const exitCodeOf = (report: DemoReport, keep: boolean): number => {
  // Ending a demo that was started with --keep is not an interruption.
  if (report.interrupted && !(keep && report.ok)) return 130
  return report.ok ? 0 : 1
}

/** In the fast profile all nodes probe each other each second: most nodes that one machine can run. */
const MAX_FAST = 16

const demo = async (flags: DemoFlags): Promise<void> => {
  const signal = signalled()
  const screen = screenFor(flags.output)
  const report = await runDemo(
    {
      ...flags,
      scenes: flags.scene,
      profile: flags.profile ?? (flags.nodes > MAX_FAST ? 'default' : 'fast'),
      command: process.execPath,
      script: process.argv[1] ?? '',
      env: childEnvironment(),
      tempDir: tmpdir(),
    },
    { clock: systemClock, screen, signal, platform: process.platform },
  )
  if (flags.output === 'json') process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`)
  else if (report.interrupted) screen.text('Ended; no process and no file is left.')
  else
    screen.text(
      `${report.ok ? 'All scenes showed what they claim' : 'The demo failed'}, ${(report.durationMs / 1_000).toFixed(0)} s.`,
    )
  process.exitCode = exitCodeOf(report, flags.keep)
}

const sceneList = (): string => {
  const width = Math.max(...SCENES.map(scene => scene.name.length))
  return SCENES.map(({ name, proves }) => `  ${name.padEnd(width)}  ${proves}`).join('\n')
}

/** `edge-health demo`. */
export const registerDemo = (program: Command): void => {
  program
    .command('demo')
    .description(
      'run a whole zone of agent processes on this machine, against an embedded Kubernetes API',
    )
    .option('--nodes <n>', 'how many nodes, 3 to 50 (default 5)', whole('--nodes', 3, 50), 5)
    .addOption(
      new Option('--scene <name>', 'play this scene, with what it needs; repeatable (default all)')
        .argParser(collectScene)
        .default([]),
    )
    .addOption(
      new Option(
        '--profile <name>',
        "the agents' periods: fast, default or superedge (default fast, or default for more than 16 nodes)",
      ).choices(['fast', 'default', 'superedge']),
    )
    .addOption(
      new Option('--vouch <how>', 'how agents vouch: lease, taint or off (default lease)')
        .choices(['lease', 'taint', 'off'])
        .default('lease'),
    )
    .option('--keep', 'stay up afterwards and print the curl and kubectl lines to try', false)
    .option(
      '--address-base <ip>',
      "the first node's loopback address (default 127.7.0.11)",
      '127.7.0.11',
    )
    .option(
      '--api-port <port>',
      'port of the embedded API; 0 takes a free one (default 0)',
      whole('--api-port', 0, 65535),
      0,
    )
    .addOption(
      new Option('-o, --output <format>', 'text, or json for programs (default text)')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `\nScenes:\n${sceneList()}\n\nExit codes: 0 every scene showed what it claims, 1 one did not, 2 a bad option, 130 interrupted.`,
    )
    .action(demo)
}

const lineLog = (): Logger => {
  const at = (level: string) => (message: string, fields?: object) => {
    process.stderr.write(`${JSON.stringify({ level, message, ...fields })}\n`)
  }
  return { debug: () => undefined, info: at('info'), warn: at('warn'), error: at('error') }
}

const kubelet = async (flags: { readonly config: string }): Promise<void> => {
  const signal = signalled()
  const options = parseKubeletOptions(parseJson(flags.config, readFileSync(flags.config, 'utf8')))
  const log = lineLog()
  try {
    const running = await startKubelet(options, { clock: systemClock, log })
    await aborted(signal)
    await running.stop()
  } catch (error) {
    log.error('kubelet failed', { error: reasonOf(error) })
    process.exitCode = 1
  }
}

/** `edge-health sandbox-kubelet`: one node's small kubelet, as the demo starts it. */
export const registerSandboxKubelet = (program: Command): void => {
  program
    .command('sandbox-kubelet', { hidden: true })
    .requiredOption('--config <file>', 'JSON with the options')
    .action(kubelet)
}
