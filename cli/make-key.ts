// SPDX-License-Identifier: Apache-2.0
// Creates the first key of a cluster, for a Job that may create Secrets but not read them.
import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { KubeStatusError, reasonOf } from '../core/errors.js'
import type { ResourceType } from '../kube/client/resource.js'
import { Exit, type CliContext, type ExitCode, type Run } from './cli-context.js'
import { checkName, withClient, withKube, type KubeFlags } from './kube-options.js'

interface MakeKeyFlags extends KubeFlags {
  readonly namespace: string
  readonly secret: string
}

const FOOTER = `
Makes the Secret with the key "primary", 32 random bytes in base64. One that is there is neither read nor changed.

Exit codes: 0 it is there now, 1 the API refuses it, 2 bad usage, 3 the API cannot be reached.`

const KEY_BYTES = 32

/** The server's answer is not read. */
const SECRETS: ResourceType<null> = {
  ...{ group: '', version: 'v1', resource: 'secrets', parse: () => null },
}

const secretOf = ({ namespace, secret }: MakeKeyFlags) => ({
  ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
  metadata: {
    ...{ name: secret, namespace },
    labels: {
      'app.kubernetes.io/name': 'edge-health-keys',
      'app.kubernetes.io/component': 'keys',
      'app.kubernetes.io/part-of': 'edge-health',
    },
  },
  data: {
    primary: Buffer.from(randomBytes(KEY_BYTES).toString('base64')).toString('base64'),
  },
})

/** @returns whether it is new */
const make = async (flags: MakeKeyFlags, context: CliContext): Promise<boolean> => {
  const { namespace, secret } = flags
  try {
    await withClient(flags, context, client =>
      client.create(SECRETS, { namespace }, { body: secretOf(flags) }, context.signal),
    )
    return true
  } catch (error) {
    if (error instanceof KubeStatusError && error.reason === 'AlreadyExists') return false
    const what = `Secret ${namespace}/${secret} cannot be made: ${reasonOf(error)}`
    throw new Exit(error instanceof KubeStatusError ? 1 : 3, what)
  }
}

const makeKey = async (flags: MakeKeyFlags, context: CliContext): Promise<ExitCode> => {
  checkName('namespace', flags.namespace)
  checkName('secret', flags.secret)
  const isNew = await make(flags, context)
  const what = isNew ? 'was made' : 'is there already and was left as it is'
  context.stdout.write(`Secret ${flags.namespace}/${flags.secret} ${what}\n`)
  return 0
}

/** `edge-health make-key`. */
export const registerMakeKey = (program: Command, context: CliContext, run: Run): void => {
  const command = program
    .command('make-key')
    .description('create the Secret with the key that agents sign with, unless it exists')
  withKube(command)
    .option(
      '-n, --namespace <name>',
      'namespace of the agents (default edge-system)',
      'edge-system',
    ) // prettier-ignore
    .option('--secret <name>', 'name of the Secret (default edge-health-keys)', 'edge-health-keys')
    .addHelpText('after', FOOTER)
    .action((flags: MakeKeyFlags) => run(() => makeKey(flags, context)))
}
