// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from 'node:crypto'
import { lstat, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../core/clock.js'
import { makeFolder } from './make-folder.js'

/** Whether an error of the file system says that there is no such file or folder. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** On a full disk a write may succeed in part: repeat until every byte is written. */
const writeAll = async (file: FileHandle, piece: Uint8Array): Promise<void> => {
  for (let from = 0; from < piece.length;) {
    const { bytesWritten } = await file.write(piece, from)
    if (bytesWritten === 0) throw new Error('the disk takes no more')
    from += bytesWritten
  }
}

/** A rename is durable only after its folder was synced. Some file systems refuse that; ignore it there. */
const syncFolder = async (folder: string, openFile: typeof open): Promise<void> => {
  const handle = await openFile(folder, 'r')
  try {
    await handle.sync().catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EINVAL' && code !== 'ENOTSUP') throw error
    })
  } finally {
    await handle.close()
  }
}

const writeNew = async (
  path: string,
  pieces: Iterable<Uint8Array>,
  openFile: typeof open,
): Promise<void> => {
  const file = await openFile(path, 'wx', 0o600)
  try {
    let size = 0
    for (const piece of pieces) {
      await writeAll(file, piece)
      size += piece.length
    }
    await file.sync()
    const kept = (await file.stat()).size
    if (kept !== size) throw new Error(`the disk kept ${kept} of ${size} bytes`)
  } finally {
    await file.close()
  }
}

/** Who writes a file changes it more often than this. */
const ABANDONED_MS = 60_000
const UNFINISHED = /^\..+\.new$/
/** Folders in which this process has looked for what earlier ones left: once each, since a folder may have many files. */
const cleaned = new Set<string>()

/**
 * Remove the unfinished files that a crash left. Another process may be writing one, perhaps in another container, so that
 * no process id tells; if one is removed wrongly, that process's write fails and the old file stays. A node without a
 * battery starts at a wrong time, so a file of the future is abandoned too.
 */
const removeAbandoned = async (folder: string): Promise<void> => {
  if (cleaned.has(folder)) return
  cleaned.add(folder)
  const remove = async (path: string): Promise<void> => {
    const { mtimeMs } = await lstat(path)
    if (Math.abs(systemClock.wall() - mtimeMs) > ABANDONED_MS) await rm(path, { force: true })
  }
  for (const name of await readdir(folder)) {
    // One that its writer has just renamed, or that cannot be removed, keeps none of the others.
    if (UNFINISHED.test(name)) await remove(join(folder, name)).catch(() => undefined)
  }
}

/**
 * Replace a file atomically, readable by its owner only; its folder is created (0700) if missing. After a crash, a power
 * cut or a full disk the file has either the old content or the new one; when the promise resolves it has the new one. Each
 * piece is written before the next is taken from the iterable. Rejects with the system's error.
 * @param openFile for tests of failing disks
 */
export const replaceFile = async (
  folder: string,
  name: string,
  pieces: Iterable<Uint8Array>,
  openFile: typeof open = open,
): Promise<void> => {
  await makeFolder(folder)
  // It is for space alone: what hinders it does not hinder a write.
  await removeAbandoned(folder).catch(() => undefined)
  const temporary = join(folder, `.${name}.${randomBytes(8).toString('hex')}.new`)
  try {
    await writeNew(temporary, pieces, openFile)
    await rename(temporary, join(folder, name))
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(folder, openFile)
}
