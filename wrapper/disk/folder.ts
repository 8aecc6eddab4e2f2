// SPDX-License-Identifier: Apache-2.0
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, replaceFile } from '../../net/atomic-file.js'

/** Files that are replaced atomically, readable by their owner only. */
export interface Folder {
  /**
   * Undefined when the file does not exist. Rejects with the system's error, or RangeError when it is too large.
   */
  read(name: string, maxBytes: number): Promise<Buffer | undefined>
  /** After a crash the file holds the old content or the new one. Rejects with the system's error. */
  replace(name: string, pieces: Iterable<Uint8Array>): Promise<void>
}

/** A folder on disk (0700), created with the first file. */
export const openFolder = (path: string): Folder => ({
  read: async (name, maxBytes) => {
    const file = join(path, name)
    try {
      const { size } = await stat(file)
      if (size > maxBytes) throw new RangeError(`${file} is larger than ${maxBytes} bytes`)
      return await readFile(file)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  },
  replace: (name, pieces) => replaceFile(path, name, pieces),
})
