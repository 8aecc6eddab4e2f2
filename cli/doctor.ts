// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { resolveAgentOptions } from '../agent/options/resolve.js'
import { clean, type Colour, type Paint } from '../core/text.js'
import { agentOption, parseAgentUrl } from './agent-client.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'
import { askAll } from './doctor-ask.js'
import { diagnose } from './doctor-findings.js'
import type { Finding, Level } from './finding.js'
import { outputOption, paintFor, type Format } from './format.js'
import { addLookOptions } from './look-options.js'
import { sourcesFrom, tellNotices, withHostname } from './run-program.js'

interface DoctorFlags {
  readonly agent: string
  readonly output: Format
}

const FOOTER = `
Run it on the node, or in its agent's Pod; there it uses some seconds of the agent's CPU time. It takes the agent's options, so
that it looks where the agent looks. It writes nothing: it asks the apiserver for rights (SelfSubjectAccessReview), Nodes and
ConfigMaps, and peers, the kubelet and the agent over HTTP.

Exit codes: 0 nothing fails (there may be warnings), 1 something fails, 2 bad usage.`

const COLOUR: Readonly<Record<Level, Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }

const count = (findings: readonly Finding[], level: Level): number =>
  findings.filter(finding => finding.level === level).length

/** For people: what was found, and below it what to do. */
export const doctorText = (findings: readonly Finding[], paint: Paint): string => {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, level, saw, fix }) => [
    `${paint(COLOUR[level], level.padEnd(4))}  ${check.padEnd(width)}  ${clean(saw)}`,
    ...(fix === null ? [] : [`${' '.repeat(width + 8)}→ ${clean(fix)}`]),
  ])
  const sum = `${count(findings, 'fail')} fail, ${count(findings, 'warn')} warn, ${count(findings, 'ok')} ok`
  return `${lines.join('\n')}\n${sum}\n`
}

/** `edge-health doctor`. */
export const registerDoctor = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('doctor')
    .description(
      'find out what is wrong with this node, its agent and its zone, and say what to do',
    )
  command.addOption(agentOption(context)).addOption(outputOption('text', 'json'))
  const flags = addLookOptions(command)
  command.addHelpText('after', FOOTER).action((own: DoctorFlags) =>
    run(async (): Promise<ExitCode> => {
      const base = parseAgentUrl(own.agent)
      const { options, notices } = resolveAgentOptions(
        withHostname(await sourcesFrom(flags, context)),
      )
      tellNotices(notices, context)
      const findings = diagnose(await askAll({ base, options }, context))
      context.stdout.write(
        own.output === 'json'
          ? `${JSON.stringify({ findings }, null, 2)}\n`
          : doctorText(findings, paintFor(context, context.stdout)),
      )
      return findings.some(({ level }) => level === 'fail') ? 1 : 0
    }),
  )
}
