// SPDX-License-Identifier: Apache-2.0
import { InvalidInputError, reasonOf } from '../core/errors.js'

/** The content of a config file. */
export interface ConfigFile {
  readonly path: string
  /** In a valid file, a map from option to the text of its value. */
  readonly values: unknown
}

/**
 * Parse a config file. The failsafe schema keeps every value as its text: `0.10` stays `0.10` and `off` is not false.
 * The YAML library is loaded here, so that a program without such a file does not spend memory on it.
 * @throws InvalidInputError that names the file and the line
 */
export const parseConfigFile = async (path: string, text: string): Promise<ConfigFile> => {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text, { schema: 'failsafe', prettyErrors: true })
  const [error] = document.errors
  if (error !== undefined) {
    const thing = `${path}: line ${error.linePos?.[0].line ?? 1}`
    throw new InvalidInputError(thing, 'must be YAML', error.message.split('\n')[0])
  }
  try {
    return { path, values: document.toJS() as unknown }
  } catch (cause) {
    throw new InvalidInputError(path, 'must be YAML that can be read', reasonOf(cause), { cause })
  }
}
