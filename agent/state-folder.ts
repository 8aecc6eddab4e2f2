// SPDX-License-Identifier: Apache-2.0
import { constants, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { replaceFile } from '../net/atomic-file.js'

/** What is remembered over a restart; each name is one file. */
export type StateName =
  | 'roster.json'
  | 'zone-config.json'
  | 'keys.json'
  | 'heartbeat'
  | 'history.json'
  | 'identity.json'
  | 'identities.json'
  | 'epoch'

/** Where the agent keeps what it needs to vote after a boot without the cloud. */
export interface StateFolder {
  /**
   * The text last written; undefined when there is none, or when it cannot be read or somebody else may have written it
   * (which is logged).
   */
  read(name: StateName): Promise<string | undefined>
  /**
   * Replace a file as a whole, readable by the owner only: after a crash it holds the old text or the new one.
   * Never rejects: a full disk must not stop the votes; it is logged when it begins and when it ends.
   */
  write(name: StateName, text: string): Promise<void>
  /** Try again what could not be written the last time, or read. */
  retry(): Promise<void>
  /** Resolves when nothing waits to be written. */
  settled(): Promise<void>
  readonly path: string
  /** Files that could not be written the last time, or read and not written since, with the reason. */
  readonly troubles: ReadonlyMap<StateName, string>
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** More than the roster of any zone takes. */
const MAX_BYTES = 8 << 20

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
/** A link is refused, and a pipe opens without somebody who writes to it. */
const READ_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

const OTHERS_WRITE = 0o022

/** @throws InvalidInputError where another user may have put what is there. */
const checkOwner = (path: string, { uid, mode }: Stats): void => {
  if (uid !== 0 && uid !== process.getuid?.())
    throw new InvalidInputError(path, 'must belong to this user or to root', uid)
  if ((mode & OTHERS_WRITE) !== 0)
    throw new InvalidInputError(path, 'must be writable by its owner alone', mode.toString(8))
}

/** The text of a plain file, in a folder where nobody else writes. */
const readOwn = async (folder: string, name: StateName): Promise<string> => {
  checkOwner(folder, await stat(folder))
  const path = join(folder, name)
  const file = await open(path, READ_FLAGS)
  try {
    const found = await file.stat()
    if (!found.isFile()) throw new InvalidInputError(path, 'must be a plain file', found.mode)
    checkOwner(path, found)
    if (found.size > MAX_BYTES)
      throw new InvalidInputError(path, `must have at most ${MAX_BYTES} bytes`, found.size)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** A folder on disk. Writes of one name follow each other; of several waiting texts only the newest is written. */
export const openStateFolder = (folder: string, log: Logger): StateFolder => {
  const troubles = new Map<StateName, string>()
  const waiting = new Map<StateName, string>()
  const writing = new Map<StateName, Promise<void>>()
  const failed = new Map<StateName, string>()

  const writeOnce = async (name: StateName, text: string): Promise<void> => {
    try {
      await replaceFile(folder, name, [Buffer.from(text)])
      // Else it is not believed after a restart.
      checkOwner(folder, await stat(folder))
      troubles.delete(name)
      if (failed.delete(name)) log.info('state is written again', { folder, name })
    } catch (error) {
      if (!failed.has(name))
        log.error('state cannot be written', { folder, name, error: reasonOf(error) })
      troubles.set(name, reasonOf(error))
      failed.set(name, text)
    }
  }
  const drain = async (name: StateName): Promise<void> => {
    for (let text = waiting.get(name); text !== undefined; text = waiting.get(name)) {
      waiting.delete(name)
      await writeOnce(name, text)
    }
    writing.delete(name)
  }
  const write = (name: StateName, text: string): Promise<void> => {
    waiting.set(name, text)
    const running = writing.get(name) ?? drain(name)
    writing.set(name, running)
    return running
  }
  /** Whether what could not be read is a trouble still. */
  const review = async (name: StateName): Promise<void> => {
    try {
      await readOwn(folder, name)
      troubles.delete(name)
    } catch (error) {
      if (isMissing(error)) troubles.delete(name)
    }
  }
  return {
    path: folder,
    troubles,
    retry: async () => {
      const unread = [...troubles.keys()].filter(name => !failed.has(name))
      await Promise.all([...unread.map(review), ...[...failed].map(([name, text]) => write(name, text))]) // prettier-ignore
    },
    settled: async () => {
      await Promise.all(writing.values())
    },
    read: async name => {
      try {
        return await readOwn(folder, name)
      } catch (error) {
        if (isMissing(error)) return undefined
        troubles.set(name, reasonOf(error))
        log.error('state cannot be read', { folder, name, error: reasonOf(error) })
        return undefined
      }
    },
    write,
  }
}
