// SPDX-License-Identifier: Apache-2.0
import type { Command } from 'commander'
import { wrapperOptionSet } from '../wrapper/options/definitions.js'
import { describeWrapperOptions, resolveWrapperOptions } from '../wrapper/options/resolve.js'
import { InvalidInputError } from '../core/errors.js'
import { outputOption, paintFor, type Format } from './format.js'
import { makeLongCommand } from './long-command.js'
import { runLong } from './run-program.js'
import { registerCertificates } from './wrapper-certificates.js'
import { fetchService, fetchWrapperStatus, wrapperOption } from './wrapper-client.js'
import { serviceText, wrapperStatusText } from './wrapper-text.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'

interface ClientFlags {
  readonly wrapper: string
  readonly output: Format
}

const FOOTER = `
Each option can also be given in the environment (--health-limit is EDGE_HEALTH_HEALTH_LIMIT) or in the file of
--config (health-limit: 5m). The first of these that gives it wins: flag, environment, file, default.
SuperEdge's flags are accepted too. Exit codes: 0 stopped by a signal, 1 it could not start or stop, 2 a bad option or
certificate.`

const CLIENT_FOOTER = '\nExit codes: 0 done, 1 no such service, 2 bad usage, 3 no wrapper answers.'

const runStatus = async (flags: ClientFlags, context: CliContext): Promise<ExitCode> => {
  const { stdout } = context
  const view = await fetchWrapperStatus(flags.wrapper, context)
  const paint = paintFor(context, stdout)
  stdout.write(
    flags.output === 'json' ? `${JSON.stringify(view)}\n` : wrapperStatusText(view, paint),
  )
  return 0
}

const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

const runExplain = async (
  name: string,
  flags: ClientFlags & { readonly namespace: string },
  context: CliContext,
): Promise<ExitCode> => {
  const { stdout } = context
  for (const [thing, text] of [
    ['service', name],
    ['--namespace', flags.namespace],
  ] as const)
    if (!NAME.test(text)) throw new InvalidInputError(thing, 'must be a Kubernetes name', text)
  const service = `${flags.namespace}/${name}`
  const view = await fetchService(flags.wrapper, service, context)
  if (view === undefined) throw new Exit(1, `the wrapper knows no service ${service}`)
  const paint = paintFor(context, stdout)
  stdout.write(flags.output === 'json' ? `${JSON.stringify(view)}\n` : serviceText(view, paint))
  return 0
}

const registerClients = (command: Command, context: CliContext, run: Run): void => {
  command
    .command('status')
    .description('show what the wrapper of this node serves, and from where')
    .addOption(wrapperOption(context))
    .addOption(outputOption('text', 'json'))
    .addHelpText('after', CLIENT_FOOTER)
    .action((flags: ClientFlags) => run(() => runStatus(flags, context)))
  command
    .command('explain')
    .argument('<service>', 'name of the Service')
    .description('show each endpoint of a service, whether it is served, and why')
    .option('-n, --namespace <name>', 'namespace of the Service (default default)', 'default')
    .addOption(wrapperOption(context))
    .addOption(outputOption('text', 'json'))
    .addHelpText('after', CLIENT_FOOTER)
    .action((name: string, flags: ClientFlags & { readonly namespace: string }) =>
      run(() => runExplain(name, flags, context)),
    )
}

/** `edge-health wrapper`, and its subcommands `status`, `explain` and `certificates`. */
export const registerWrapper = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('wrapper')
    .description(
      "serve kube-proxy on this node in the apiserver's place: lists and watches without the endpoints of dead nodes",
    )
    // Arguments after a subcommand belong to the subcommand.
    .enablePositionalOptions()
  makeLongCommand(
    command,
    {
      set: wrapperOptionSet,
      resolve: resolveWrapperOptions,
      describe: describeWrapperOptions,
      footer: FOOTER,
      go: async ({ options, notices }) => {
        const { makeProgram } = await import('../wrapper/program.js')
        return runLong({ name: 'wrapper', options, notices, make: makeProgram }, context)
      },
    },
    context,
    run,
  )
  registerClients(command, context, run)
  registerCertificates(command, context, run)
}
