// SPDX-License-Identifier: Apache-2.0
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissing, replaceFile } from '../../net/atomic-file.js'

/** A file's content, read while it is taken; a piece may be reused for the next one. */
export interface FileToRead {
  readonly size: number
  readonly pieces: AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Files that are replaced atomically, readable by their owner only. */
export interface Folder {
  /**
   * Undefined when the file does not exist. Rejects with the system's error, or RangeError when it is too large; so may its
   * pieces.
   */
  read(name: string, maxBytes: number): Promise<FileToRead | undefined>
  /** After a crash the file holds the old content or the new one. Rejects with the system's error. */
  replace(name: string, pieces: Iterable<Uint8Array>): Promise<void>
}

const PIECE_BYTES = 256 << 10

async function* piecesOf(file: string): AsyncGenerator<Uint8Array> {
  const handle = await open(file)
  try {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES)
    for (;;) {
      const { bytesRead } = await handle.read(buffer, 0, PIECE_BYTES)
      if (bytesRead === 0) return
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await handle.close()
  }
}

/** A folder on disk (0700), created with the first file. */
export const openFolder = (path: string): Folder => ({
  read: async (name, maxBytes) => {
    const file = join(path, name)
    try {
      const { size } = await stat(file)
      if (size > maxBytes) throw new RangeError(`${file} is larger than ${maxBytes} bytes`)
      return { size, pieces: piecesOf(file) }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  },
  replace: (name, pieces) => replaceFile(path, name, pieces),
})
