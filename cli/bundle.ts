// SPDX-License-Identifier: Apache-2.0
import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { explainText } from '../agent/text/explain-text.js'
import { statusText } from '../agent/text/status-text.js'
import type { ExplainView, StatusView } from '../agent/http/status-view.js'
import { describeOptions, resolveAgentOptions } from '../agent/options/resolve.js'
import { reasonOf } from '../core/errors.js'
import { clean, plain } from '../core/text.js'
import { agentOption, fetchHistory, fetchNode, fetchStatus, fetchText, parseAgentUrl } from './agent-client.js' // prettier-ignore
import type { CliContext, ExitCode, Run } from './cli-context.js'
import { Exit } from './cli-context.js'
import { doctorText } from './doctor.js'
import { askAll } from './doctor-ask.js'
import { diagnose } from './doctor-findings.js'
import { outputOption, type Format } from './format.js'
import { addLookOptions } from './look-options.js'
import { matrixOf, matrixText } from './matrix-view.js'
import { configYaml } from './print-config.js'
import { redact, secretsOf } from './redact.js'
import { sourcesFrom, withHostname } from './run-program.js'
import { tarOf, type TarFile } from './tar.js'
import { version } from './version.js'

interface BundleFlags {
  readonly agent: string
  readonly file?: string
  readonly output: Format
}

const FOOTER = `
The tar file contains status, matrix, an explanation of each node (256 at most, those in trouble first), history, metrics,
readiness, the options and where each came from, and doctor's findings. It contains no key, token, Secret or log: keys are never
requested, and what looks like a secret is removed. Node names and addresses stay, so look at it before you send it.

In a Pod: kubectl -n edge-system exec POD -c edge-health-agent -- node /app/edge-health.cjs bundle --file - >bundle.tar

Exit codes: 0 done, 1 the file cannot be written, 2 bad usage, 3 done, but no agent answers.`

const MOST_NODES = 256

const LOGS = `The agent's log is not in this file. It contains no secret either:
  kubectl -n edge-system logs POD -c edge-health-agent --since=1h
  kubectl -n edge-system logs POD -c edge-health-agent --previous
On a node without a cloud link: crictl ps --name edge-health-agent, then crictl logs ID
`

/** What was collected, and what could not be. */
class Collected {
  readonly files: TarFile[] = []
  readonly troubles: string[] = []

  /** Add a file, unless its content cannot be read. */
  async add(path: string, text: () => Promise<string>): Promise<void> {
    try {
      this.files.push({ path, text: await text() })
    } catch (error) {
      this.troubles.push(clean(`${path}: ${reasonOf(error).split('\n')[0]!}`))
    }
  }
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const isTroubled = ({ class: name }: StatusView['nodes'][number]): boolean => name !== 'healthy'

/** Cut to fit a path in the archive and cleaned, since the name may come from a program that is not an agent. */
const fileName = (name: string): string => name.slice(0, 64).replaceAll(/[^a-z0-9.-]/g, '_')

const addNodes = async (
  base: string,
  { nodes }: StatusView,
  into: Collected,
  context: CliContext,
): Promise<void> => {
  const chosen = [...nodes.filter(isTroubled), ...nodes.filter(node => !isTroubled(node))]
  const views: ExplainView[] = []
  for (const [index, { name }] of chosen.slice(0, MOST_NODES).entries())
    await into.add(`explain/${index + 1}-${fileName(name)}.txt`, async () => {
      const view = await fetchNode(base, name, context)
      if (view === undefined) throw new Error('it has left the zone')
      views.push(view)
      return explainText(view, plain)
    })
  const names = nodes.map(({ name }) => name)
  await into.add('matrix.txt', () => Promise.resolve(matrixText(matrixOf(names, views), plain)))
}

const collect = async (
  base: string,
  flags: Parameters<typeof sourcesFrom>[0],
  context: CliContext,
): Promise<Collected> => {
  const into = new Collected()
  const { env, clock, signal } = context
  let status: StatusView | undefined
  await into.add('status.json', async () => json((status = await fetchStatus(base, context))))
  if (status !== undefined) {
    const view = status
    await into.add('status.txt', () => Promise.resolve(statusText(view, plain)))
    await addNodes(base, view, into, context)
  }
  await into.add('history.json', async () => json(await fetchHistory(base, context)))
  for (const path of ['metrics', 'readyz', 'healthz'])
    await into.add(`${path}.txt`, () => fetchText(base, `/${path}`, context))
  const resolved = resolveAgentOptions(withHostname(await sourcesFrom(flags, context)))
  const shown = { profile: resolved.profile, described: describeOptions(resolved) }
  await into.add('config.yaml', () => configYaml(shown))
  await into.add('doctor.txt', async () => {
    const findings = diagnose(await askAll({ base, options: resolved.options }, context))
    return doctorText(findings, plain)
  })
  signal.throwIfAborted()
  const { arch, platform, version: node } = process
  const at = new Date(clock.wall()).toISOString()
  const facts = { version, node, platform: `${platform}-${arch}`, at }
  into.files.push({ path: 'about.json', text: json(facts) }, { path: 'LOGS.txt', text: LOGS })
  if (into.troubles.length > 0)
    into.files.push({ path: 'MISSING.txt', text: `${into.troubles.join('\n')}\n` })
  const secrets = secretsOf(env)
  const files = into.files.map(({ path, text }) => ({
    path: `edge-health-bundle/${path}`,
    text: redact(text, secrets),
  }))
  return Object.assign(into, { files })
}

const write = (path: string, tar: Buffer): void => {
  try {
    // An existing file is not replaced, and nobody else may read this one.
    writeFileSync(path, tar, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    throw new Exit(1, `--file ${path} cannot be written: ${reasonOf(error)}`)
  }
}

const save = (collected: Collected, flags: BundleFlags, context: CliContext): void => {
  const { stdout, stderr, clock } = context
  const wall = clock.wall()
  const tar = tarOf(collected.files, wall)
  const stamp = new Date(wall).toISOString().replaceAll(/[-:]|\..*/g, '')
  const path = flags.file ?? `edge-health-bundle-${stamp}.tar`
  if (path === '-') {
    stdout.write(tar)
    for (const trouble of collected.troubles) stderr.write(`edge-health: missing: ${trouble}\n`)
    return
  }
  write(path, tar)
  const paths = collected.files.map(each => each.path)
  const { troubles } = collected
  stdout.write(
    flags.output === 'json'
      ? json({ file: path, bytes: tar.length, paths, missing: troubles })
      : `${path}: ${paths.length} files, ${tar.length} bytes; look at it before you send it\n${troubles.map(text => `missing: ${text}\n`).join('')}`,
  )
}

/** `edge-health bundle`. */
export const registerBundle = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('bundle')
    .description(
      'write a tar file for a bug report: what the agent knows about its zone, without secrets',
    )
    .option('-f, --file <path>', 'file to write; - is stdout (default edge-health-bundle-TIME.tar)')
  command.addOption(agentOption(context)).addOption(outputOption('text', 'json'))
  const flags = addLookOptions(command)
  command.addHelpText('after', FOOTER).action((own: BundleFlags) =>
    run(async (): Promise<ExitCode> => {
      const collected = await collect(parseAgentUrl(own.agent), flags, context)
      save(collected, own, context)
      return collected.troubles.some(text => text.startsWith('status.json')) ? 3 : 0
    }),
  )
}
