// SPDX-License-Identifier: Apache-2.0
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Files that are replaced as a whole, readable by their owner alone. */
export interface Folder {
  /** Undefined when there is none. Rejects with the system's error, or RangeError for one that is too large. */
  read(name: string, maxBytes: number): Promise<Buffer | undefined>
  /** After a crash the file holds the old content or the new one. Rejects with the system's error. */
  replace(name: string, pieces: Iterable<Uint8Array>): Promise<void>
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** A folder on disk, 0700; made when the first file is written. */
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
  replace: async (name, pieces) => {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const temporary = join(path, `.${name}.new`)
    try {
      const file = await open(temporary, 'w', 0o600)
      try {
        // A file that was left behind keeps its mode.
        await file.chmod(0o600)
        for (const piece of pieces) await file.write(piece)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(temporary, join(path, name))
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  },
})
