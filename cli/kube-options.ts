// SPDX-License-Identifier: Apache-2.0
// How a command line reaches a cluster.
import { delimiter, join } from 'node:path'
import type { Command } from 'commander'
import { InvalidInputError } from '../core/errors.js'
import { systemRandom } from '../core/random.js'
import { makeCredentials } from '../kube/client/credentials.js'
import { makeResourceClient } from '../kube/client/http-resource-client.js'
import type { ResourceClient } from '../kube/client/resource-client.js'
import { objectName } from '../options/kinds.js'
import type { CliContext } from './cli-context.js'
import { makeLogger } from './logger.js'

/** The same options as kubectl's. */
export interface KubeFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly masterUrl?: string
}

/** Declares them. */
export const withKube = (command: Command): Command =>
  command
    .option(
      '--kubeconfig <path>',
      'a kubeconfig (default KUBECONFIG, one or several paths, or in-cluster credentials, or ~/.kube/config)',
    )
    .option('--context <name>', 'a context of the kubeconfig (default its current one)')
    .option('--master-url <url>', 'URL of the apiserver, in place of the one in the kubeconfig')

/** What is not given is looked for where kubectl looks. */
const kubeconfigOf = (flags: KubeFlags, { env }: CliContext): string | readonly string[] => {
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter(path => path !== '')
  const given = flags.kubeconfig ?? listed
  const isElsewhere = (env['KUBERNETES_SERVICE_HOST'] ?? '') !== '' || flags.masterUrl !== undefined
  const home = env['HOME'] ?? ''
  if (given.length > 0 || isElsewhere || home === '') return given
  return join(home, '.kube', 'config')
}

/** @throws InvalidInputError for a text that is not a valid object name */
export const checkName = (flag: string, text: string): void => {
  if (objectName.parse(text, `--${flag}`) === undefined)
    throw new InvalidInputError(`--${flag}`, objectName.rule, text)
}

/** Call a function with a client of the cluster. Rejects as the function does, and with CredentialsError. */
export const withClient = async <T>(
  flags: KubeFlags,
  context: CliContext,
  act: (client: ResourceClient) => Promise<T>,
): Promise<T> => {
  const { clock, env: environment } = context
  const log = makeLogger({ logLevel: 'error' }, 'cli', context.stderr)
  const credentials = makeCredentials(
    {
      ...{ kubeconfig: kubeconfigOf(flags, context), masterUrl: flags.masterUrl, environment },
      context: flags.context,
    },
    { clock, log },
  )
  const client = makeResourceClient(
    { credentials, clock, log, random: systemRandom },
    { fieldManager: 'edge-health-cli' },
  )
  try {
    return await act(client)
  } finally {
    await client.close()
  }
}
