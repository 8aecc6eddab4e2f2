// SPDX-License-Identifier: Apache-2.0
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import { integer } from '../options/kinds.js'
import { makeCertificates, openFor, writeCertificates } from '../wrapper/certificates.js'
import { wrapperOptionSet } from '../wrapper/options/definitions.js'
import { Exit, type ExitCode, type Run, type CliContext } from './cli-context.js'

interface CertificateFlags {
  readonly dir?: string
  readonly days: string
  readonly force?: boolean
}

const DAYS = integer(1, 3_650)

const FOOTER = `
It creates a CA, whose key is not kept, a certificate for the wrapper on loopback and one for kube-proxy, and prints the
settings for kube-proxy's kubeconfig and the wrapper. Exit codes: 0 done, 1 not written, 2 bad usage, or the files exist.`

/** The lines about the wrapper for kube-proxy's kubeconfig, and the wrapper's own flags. */
const partText = (folder: string): string => {
  const path = (name: string): string => join(folder, name)
  const address = wrapperOptionSet.definitions.find(({ flag }) => flag === 'bind-address')!.default
  const server = `https://${String(address)}`
  const part = {
    clusters: [{ cluster: { server, 'certificate-authority': path('ca.crt') } }],
    users: [
      { user: { 'client-certificate': path('client.crt'), 'client-key': path('client.key') } },
    ],
  }
  const flags = [
    ['ca', 'ca.crt'],
    ['cert', 'server.crt'],
    ['key', 'server.key'],
  ] as const
  const wrapper = flags.map(([flag, name]) => `--${flag}-file=${path(name)}`)
  const flagsLine = ['--insecure=false', ...wrapper].join(' ')
  return `# For the cluster and the user of kube-proxy's kubeconfig; names, token and tokenFile stay as they are.
${stringify(part, { lineWidth: 0 })}# The wrapper: ${flagsLine}
`
}

const make = async (flags: CertificateFlags, { clock, stdout }: CliContext): Promise<ExitCode> => {
  if (flags.dir === undefined || flags.dir === '') throw new Exit(2, '--dir must be given')
  const days = DAYS.parse(flags.days, '--days')?.value
  if (days === undefined) throw new InvalidInputError('--days', DAYS.rule, flags.days)
  const folder = resolve(flags.dir)
  await openFor(folder, flags.force === true)
  const files = await makeCertificates(days, clock.wall())
  await writeCertificates(folder, files).catch((cause: unknown) => {
    throw new Exit(1, `certificates were not written to ${folder}: ${reasonOf(cause)}`)
  })
  stdout.write(partText(folder))
  return 0
}

/** `edge-health wrapper certificates`. */
export const registerCertificates = (wrapper: Command, context: CliContext, run: Run): void => {
  wrapper
    .command('certificates')
    .description(
      'create the files with which the wrapper and kube-proxy authenticate each other over TLS',
    )
    .option('--dir <folder>', 'folder to write them to; printed paths begin with it')
    .option('--days <n>', 'how long they are valid, from 1 to 3650 (default 3650)', '3650')
    .option('--force', 'replace existing files')
    .addHelpText('after', FOOTER)
    .action((flags: CertificateFlags) => run(() => make(flags, context)))
}
