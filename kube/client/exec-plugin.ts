// SPDX-License-Identifier: Apache-2.0
import { spawn } from 'node:child_process'
import * as v from 'valibot'
import type { Clock } from '../../core/clock.js'
import { CredentialsError, TimeoutError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { ExecCommand } from './access.js'
import { discreetReason } from './file-reader.js'

/** What an exec plugin gave us. */
export interface ExecCredential {
  readonly token: string | undefined
  readonly certificate: { readonly cert: string; readonly key: string } | undefined
  /** Clock.now at which it ends; Infinity when the plugin named no end. */
  readonly endsAt: number
}

/** What running a plugin needs of the world. */
export interface ExecSeams {
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
}

const TIMEOUT_MS = 60_000
const MAX_OUTPUT = 1024 * 1024
/** Least lifetime of a credential: a wrong wall clock must not run the plugin for every request. */
const SHORTEST_MS = 10_000

const credentialSchema = v.object({
  kind: v.literal('ExecCredential'),
  status: v.object({
    token: v.optional(v.string()),
    clientCertificateData: v.optional(v.string()),
    clientKeyData: v.optional(v.string()),
    expirationTimestamp: v.nullish(v.string()),
  }),
})

interface Output {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const run = (exec: ExecCommand, { clock, environment }: ExecSeams): Promise<Output> =>
  new Promise((resolve, reject) => {
    const info = {
      kind: 'ExecCredential',
      apiVersion: exec.apiVersion,
      spec: { interactive: false },
    }
    const child = spawn(exec.command, exec.args, {
      env: { ...environment, ...exec.env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const give = (error: Error): void => {
      child.kill('SIGKILL')
      cancel()
      reject(error)
    }
    const cancel = clock.after(TIMEOUT_MS, () => give(new TimeoutError(TIMEOUT_MS)))
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
      if (stdout.length > MAX_OUTPUT) give(new CredentialsError('it printed more than 1 MiB'))
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-2000)
    })
    child.on('error', give)
    child.on('close', code => {
      cancel()
      resolve({ code, stdout, stderr })
    })
  })

const parseOutput = (output: Output, clock: Clock): ExecCredential => {
  if (output.code !== 0) {
    const said = output.stderr.trim().split('\n').at(-1) ?? ''
    throw new CredentialsError(`it ended with code ${String(output.code)}: ${said}`)
  }
  // The text may hold a token: it must not reach an error message.
  let raw: unknown
  try {
    raw = JSON.parse(output.stdout)
  } catch {
    throw new CredentialsError('it did not print JSON')
  }
  const { status } = parseWith(credentialSchema, 'its answer', raw)
  const { token, clientCertificateData: cert, clientKeyData: key } = status
  if (token === undefined && (cert === undefined || key === undefined))
    throw new CredentialsError('it gave neither a token nor a client certificate with its key')
  const end = Date.parse(status.expirationTimestamp ?? '')
  const endsAt = Number.isNaN(end)
    ? Infinity
    : clock.now() + Math.max(SHORTEST_MS, end - clock.wall())
  const certificate = cert === undefined || key === undefined ? undefined : { cert, key }
  return { token, certificate, endsAt }
}

/**
 * Run an exec plugin once.
 * @throws CredentialsError that names the command and the last line of its complaint.
 */
export const runExecPlugin = async (
  exec: ExecCommand,
  seams: ExecSeams,
): Promise<ExecCredential> => {
  try {
    return parseOutput(await run(exec, seams), seams.clock)
  } catch (cause) {
    // No `cause`: its text may quote a secret.
    throw new CredentialsError(`exec plugin ${exec.command}: ${discreetReason(cause)}`)
  }
}
