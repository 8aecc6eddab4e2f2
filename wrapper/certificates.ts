// SPDX-License-Identifier: Apache-2.0
import { lstat, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { getuid } from 'node:process'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import { isMissing, replaceFile } from '../net/atomic-file.js'
import { makeFolder } from '../net/make-folder.js'

/** The files of one authority, as PEM texts by name. */
export type CertificateFiles = Readonly<Record<(typeof FILES)[number], string>>

/** The authority is written last, and an incomplete set is not used without it. */
const FILES = ['server.crt', 'server.key', 'client.crt', 'client.key', 'ca.crt'] as const
const DAY_MS = 86_400_000

/**
 * Certificates for the wrapper's listener on loopback and for its client, signed by a new authority whose key is not kept:
 * nobody can sign another one.
 * @param now epoch ms; they are valid from a day before, since clocks differ
 */
export const makeCertificates = async (days: number, now: number): Promise<CertificateFiles> => {
  // Loaded only here, so that a running wrapper does not spend memory on it.
  const { generate } = await import('selfsigned')
  const common = {
    ...({ keyType: 'ec', algorithm: 'sha256' } as const),
    ...{ notBeforeDate: new Date(now - DAY_MS), notAfterDate: new Date(now + days * DAY_MS) },
  }
  const named = (value: string) => [{ name: 'commonName', value }]
  const ca = await generate(named('edge-health wrapper authority'), {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  const leaf = { ...common, ca: { key: ca.private, cert: ca.cert } }
  const ends = { name: 'basicConstraints', cA: false, critical: true } as const
  const signs = { name: 'keyUsage', digitalSignature: true, critical: true } as const
  const server = await generate(named('edge-health wrapper'), {
    ...leaf,
    extensions: [
      ...[ends, signs, { name: 'extKeyUsage', serverAuth: true } as const],
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  const client = await generate(named('kube-proxy'), {
    ...leaf,
    extensions: [ends, signs, { name: 'extKeyUsage', clientAuth: true }],
  })
  return {
    ...{ 'server.crt': server.cert, 'server.key': server.private },
    ...{ 'client.crt': client.cert, 'client.key': client.private },
    'ca.crt': ca.cert,
  }
}

/** True also for a dangling link. */
const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isMissing(error)) return false
      throw error
    },
  )

/**
 * Create the folder unless it exists, and check that the files may be written there.
 * @param replaces whether existing files may be replaced
 * @throws InvalidInputError when the folder cannot be used, others could replace the files, or a file exists
 */
export const openFor = async (folder: string, replaces: boolean): Promise<void> => {
  const refuse = (rule: string, cause?: unknown): never => {
    throw new InvalidInputError('--dir', rule, folder, { cause })
  }
  const unusable = (cause: unknown): never =>
    refuse(`must be a folder that can be used (${reasonOf(cause)})`, cause)
  await makeFolder(folder).catch(unusable)
  const { uid, mode } = await stat(folder).catch(unusable)
  if (uid !== getuid?.() || (mode & 0o022) !== 0)
    refuse('must be a folder that you own and nobody else may write to')
  if (replaces) return
  for (const name of FILES)
    if (await isThere(join(folder, name)).catch(unusable))
      refuse(`must have no ${name} unless --force is given`)
}

/** Write the files, each readable by its owner only. Rejects with the system's error. */
export const writeCertificates = async (folder: string, files: CertificateFiles): Promise<void> => {
  for (const name of FILES) await replaceFile(folder, name, [Buffer.from(files[name])])
}
