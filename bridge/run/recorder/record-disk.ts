// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { isMissing, replaceFile } from '../../../net/atomic-file.js'
import { readWhole } from '../../../net/read-whole.js'
import { RareLog } from '../../../core/rare-log.js'
import { DiskTurns } from './disk-turns.js'

/** A record is at most 960 KiB. */
const MAX_BYTES = 1 << 20
/** File names may have 255 characters, some of which the temporary file's suffix needs. */
const LONGEST_NAME = 200
const WRITER_FILE = 'writer'

const fileOf = (node: NodeName): string =>
  `record-${node.length <= LONGEST_NAME ? node : createHash('sha256').update(node).digest('hex')}`

const readText = async (path: string): Promise<string> => {
  const file = await open(path, 'r')
  try {
    const tooLarge = (): Error => new Error(`${basename(path)} is larger than ${MAX_BYTES} bytes`)
    return (
      await readWhole(file.createReadStream({ autoClose: false }), MAX_BYTES, tooLarge)
    ).toString('utf8')
  } finally {
    await file.close()
  }
}

export interface RecordDiskSeams {
  readonly clock: Clock
  readonly log: Logger
  /** @default writes to the disk */
  readonly replace?: typeof replaceFile
}

/** The fast copy of the records. None of its methods rejects, and all settle, even if the disk hangs. */
export type RecordStore = Pick<RecordDisk, 'isFailing' | 'read' | 'remove' | 'write' | 'writer'>

/** Records in a folder, one file per node, and the name under which this folder's bridge writes records to the cluster. */
export class RecordDisk {
  readonly #folder: string
  readonly #rareLog: RareLog
  readonly #replace: typeof replaceFile
  readonly #turns: DiskTurns
  #isFailing = false

  constructor(folder: string, { clock, log, replace = replaceFile }: RecordDiskSeams) {
    this.#folder = folder
    this.#rareLog = new RareLog(clock, log)
    this.#replace = replace
    this.#turns = new DiskTurns(clock)
  }

  /** The last access to the folder failed. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** The name in the folder; if it has none, `fresh`, which is stored there. Never rejects. */
  async writer(fresh: string): Promise<string> {
    const known = await this.#read(WRITER_FILE)
    if (known !== undefined && /^[\w-]{8,64}$/.test(known)) return known
    await this.#write(WRITER_FILE, fresh)
    return fresh
  }

  /** The text of a node's record; undefined when there is none or it cannot be read. Never rejects. */
  read(node: NodeName): Promise<string | undefined> {
    return this.#read(fileOf(node))
  }

  /** Resolves with true when it is on disk, with false when that failed or takes too long. Never rejects. */
  write(node: NodeName, text: string): Promise<boolean> {
    return this.#write(fileOf(node), text)
  }

  /** Delete a node's record, if there is one. Never rejects. */
  async remove(node: NodeName): Promise<void> {
    const name = fileOf(node)
    try {
      await this.#turns.run(name, () => rm(join(this.#folder, name), { force: true }))
    } catch (error) {
      this.#failed(error)
    }
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      return await this.#turns.run(name, () => readText(join(this.#folder, name)))
    } catch (error) {
      if (!isMissing(error)) this.#failed(error)
      return undefined
    }
  }

  async #write(name: string, text: string): Promise<boolean> {
    try {
      await this.#turns.run(name, () => this.#replace(this.#folder, name, [Buffer.from(text)]))
      this.#isFailing = false
      return true
    } catch (error) {
      this.#failed(error)
      return false
    }
  }

  /**
   * Logged when it begins, and once a minute at most if it comes and goes: edges are served without a disk too, with the
   * records in the cluster.
   */
  #failed(error: unknown): void {
    if (!this.#isFailing)
      this.#rareLog.error('disk', 'what edges hold cannot be kept on disk', {
        folder: this.#folder,
        error: reasonOf(error),
      })
    this.#isFailing = true
  }
}
