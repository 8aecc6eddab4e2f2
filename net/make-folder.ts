// SPDX-License-Identifier: Apache-2.0
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    found => found.isDirectory(),
    () => false,
  )

const makeOne = async (folder: string): Promise<void> => {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await isFolder(folder))) throw error
  }
}

/**
 * Create a folder (0700) and its parents; existing ones are left as they are. Rejects with the system's error. Node.js' own
 * `recursive` never returns where a folder cannot be created, such as below /proc.
 */
export const makeFolder = async (folder: string): Promise<void> => {
  try {
    await makeOne(folder)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
    await makeFolder(dirname(folder))
    await makeOne(folder)
  }
}
