// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import * as v from 'valibot'
import type { NodeExplained } from '../admission/model/explain.js'
import { admissionOptionSet } from '../admission/options/definitions.js'
import { describeAdmissionOptions, resolveAdmissionOptions } from '../admission/options/resolve.js'
import { clean } from '../core/text.js'
import { outputOption, type Format } from './format.js'
import { LocalClient } from './local-client.js'
import { makeLongCommand } from './long-command.js'
import { runLong } from './run-program.js'
import type { CliContext, ExitCode, Run } from './cli-context.js'

interface ExplainFlags {
  readonly admission: string
  readonly output: Format
}

const FOOTER = `
Each option can also be given in the environment (--fresh-for is EDGE_HEALTH_FRESH_FOR) or in the file of --config
(fresh-for: 30s). The first of these that gives it wins: flag, environment, file, default. The flags of SuperEdge's
edge-health-admission are accepted too. Exit codes: 0 stopped by a signal, 1 it could not start or stop, 2 a bad option.`

const EXPLAIN_FOOTER = '\nExit codes: 0 done, 2 bad usage, 3 no webhook answers.'

const client = new LocalClient({
  name: 'admission',
  withArticle: 'a webhook',
  listener: "the webhook's status listener",
  url: 'http://127.0.0.1:51010',
})

// Enough to tell a webhook from anything else that answers on this port; the other fields are trusted.
const schema = v.looseObject({ name: v.string(), isKept: v.boolean(), why: v.string() })

const explainedText = ({ name, isKept, why, node, reportSeconds }: NodeExplained): string => {
  const ready =
    node === null ? '' : `\n  Ready ${node.ready === '' ? 'was never reported' : node.ready}`
  const word = node?.isVouched === true && reportSeconds !== null ? `\n  vouched for ${reportSeconds} s ago` : '' // prettier-ignore
  return clean(`${name} is ${isKept ? '' : 'not '}kept: ${why}`) + ready + word + '\n'
}

const explain = async (
  name: string,
  flags: ExplainFlags,
  context: CliContext,
): Promise<ExitCode> => {
  const base = client.parseUrl(flags.admission)
  const path = `/explain?node=${encodeURIComponent(name)}`
  const { text } = await client.fetch(base, path, context)
  const view = client.parse(base, path, schema, text) as NodeExplained
  context.stdout.write(flags.output === 'json' ? `${JSON.stringify(view)}\n` : explainedText(view))
  return 0
}

/** `edge-health admission`, and its subcommand `explain`. */
export const registerAdmission = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('admission')
    .description(
      'run the webhook that keeps Pods on nodes that their peers vouch for, for Kubernetes before 1.36',
    )
    // Arguments after a subcommand belong to the subcommand.
    .enablePositionalOptions()
  makeLongCommand(
    command,
    {
      set: admissionOptionSet,
      resolve: resolveAdmissionOptions,
      describe: describeAdmissionOptions,
      footer: FOOTER,
      go: async ({ options, notices }) => {
        const { makeProgram } = await import('../admission/run/program.js')
        return runLong({ name: 'admission', options, notices, make: makeProgram }, context)
      },
    },
    context,
    run,
  )
  command
    .command('explain')
    .argument('<node>', 'name of a Node')
    .description('show whether a node is kept now, and why')
    .addOption(client.option(context))
    .addOption(outputOption('text', 'json'))
    .addHelpText('after', EXPLAIN_FOOTER)
    .action((name: string, own: ExplainFlags) => run(() => explain(name, own, context)))
}
