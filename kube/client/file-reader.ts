// SPDX-License-Identifier: Apache-2.0
import { readFile } from 'node:fs/promises'
import { CredentialsError, InvalidInputError, reasonOf } from '../../core/errors.js'

const MAX_CHARACTERS = 1024 * 1024

/**
 * Read a credentials file as text.
 * @param what what the file is for, as the error names it: `token`.
 * @throws CredentialsError when it is missing, unreadable, empty or absurdly large.
 */
export const readCredentialFile = async (what: string, path: string): Promise<string> => {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (cause) {
    throw new CredentialsError(`cannot read the ${what} file ${path}: ${reasonOf(cause)}`, {
      cause,
    })
  }
  if (text.trim() === '') throw new CredentialsError(`the ${what} file ${path} is empty`)
  if (text.length > MAX_CHARACTERS)
    throw new CredentialsError(`the ${what} file ${path} is larger than 1 MiB`)
  return text
}

/** Why something secret could not be read: as `reasonOf`, but never quoting the value. */
export const discreetReason = (error: unknown): string =>
  error instanceof InvalidInputError ? `${error.thing} ${error.rule}` : reasonOf(error)
