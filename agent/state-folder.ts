// SPDX-License-Identifier: Apache-2.0
import { constants, type Stats } from 'node:fs'
import { lstat, open, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InvalidInputError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { isMissing, replaceFile } from '../net/atomic-file.js'

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
  | 'own-node.json'

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
  /** What was read cannot be used, perhaps only by this version: keep it like a file that cannot be read. */
  distrust(name: StateName): void
  /** Try again what could not be written the last time, or read. */
  retry(): Promise<void>
  /** Resolves when nothing waits to be written. */
  settled(): Promise<void>
  readonly path: string
  /** Files that could not be written the last time, or read and not written since, with the reason. */
  readonly troubles: ReadonlyMap<StateName, string>
}

/** More than any zone takes. What is longer is refused before it is parsed. */
const MOST_BYTES: Readonly<Record<StateName, number>> = {
  'roster.json': 8 << 20,
  'zone-config.json': 8 << 20,
  'keys.json': 1 << 20,
  heartbeat: 1 << 10,
  'history.json': 8 << 20,
  'identity.json': 16 << 10,
  'identities.json': 8 << 20,
  epoch: 1 << 10,
  'own-node.json': 1 << 10,
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
/** Refuses a symbolic link, and opens a pipe without waiting for a writer. */
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
    const most = MOST_BYTES[name]
    if (found.size > most)
      throw new InvalidInputError(path, `must have at most ${most} bytes`, found.size)
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/** Undefined where there is nothing. */
const orMissing = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Before a file that could not be read or used is replaced, it is kept under its name with this suffix; only the oldest. */
const UNREAD = '.unread'

const keepUnread = async (path: string): Promise<void> => {
  const [found, kept] = [await orMissing(lstat(path)), await orMissing(lstat(path + UNREAD))]
  if (found !== undefined && kept === undefined) await rename(path, path + UNREAD)
}

/** A folder on disk. Writes of one name follow each other; of several waiting texts only the newest is written. */
class DiskFolder implements StateFolder {
  readonly path: string
  readonly troubles = new Map<StateName, string>()
  readonly #log: Logger
  /** The newest text of each name that is not being written yet. */
  readonly #waiting = new Map<StateName, string>()
  readonly #writing = new Map<StateName, Promise<void>>()
  /** What could not be written the last time. */
  readonly #failed = new Map<StateName, string>()
  /** Files that could not be used: they may be all that this node has of an earlier run. */
  readonly #unread = new Set<StateName>()

  constructor(path: string, log: Logger) {
    this.path = path
    this.#log = log
  }

  async read(name: StateName): Promise<string | undefined> {
    try {
      const text = await orMissing(readOwn(this.path, name))
      this.#unread.delete(name)
      return text
    } catch (error) {
      this.#unread.add(name)
      const reason = reasonOf(error)
      this.troubles.set(name, reason)
      this.#log.error('state cannot be read', { folder: this.path, name, error: reason })
      return undefined
    }
  }

  distrust(name: StateName): void {
    this.#unread.add(name)
  }

  write(name: StateName, text: string): Promise<void> {
    this.#waiting.set(name, text)
    const running = this.#writing.get(name) ?? this.#drain(name)
    this.#writing.set(name, running)
    return running
  }

  async retry(): Promise<void> {
    const unread = [...this.troubles.keys()].filter(name => !this.#failed.has(name))
    const unwritten = [...this.#failed]
    await Promise.all([
      ...unread.map(name => this.#review(name)),
      // What is being written is newer than what failed.
      ...unwritten.map(([name, text]) => this.#writing.get(name) ?? this.write(name, text)),
    ])
  }

  async settled(): Promise<void> {
    await Promise.all(this.#writing.values())
  }

  async #drain(name: StateName): Promise<void> {
    const waiting = this.#waiting
    for (let text = waiting.get(name); text !== undefined; text = waiting.get(name)) {
      waiting.delete(name)
      await this.#writeOnce(name, text)
    }
    this.#writing.delete(name)
  }

  async #writeOnce(name: StateName, text: string): Promise<void> {
    const folder = this.path
    try {
      // In a folder where others may write it would not be believed after a restart.
      const found = await orMissing(stat(folder))
      if (found !== undefined) checkOwner(folder, found)
      if (this.#unread.has(name)) await keepUnread(join(folder, name))
      await replaceFile(folder, name, [Buffer.from(text)])
      this.#unread.delete(name)
      this.troubles.delete(name)
      if (this.#failed.delete(name)) this.#log.info('state is written again', { folder, name })
    } catch (error) {
      const reason = reasonOf(error)
      if (!this.#failed.has(name))
        this.#log.error('state cannot be written', { folder, name, error: reason })
      this.troubles.set(name, reason)
      this.#failed.set(name, text)
    }
  }

  /** Forget the trouble of a file that can be read by now, or is gone. */
  async #review(name: StateName): Promise<void> {
    try {
      await orMissing(readOwn(this.path, name))
      this.troubles.delete(name)
    } catch {
      // It is as it was.
    }
  }
}

/** The state folder at this path; it is made with the first write. */
export const openStateFolder = (path: string, log: Logger): StateFolder => new DiskFolder(path, log)
