// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { isMissing, replaceFile } from '../../../net/atomic-file.js'
import { readWhole } from '../../../net/read-whole.js'

/** A record is at most 960 KiB. */
const MAX_BYTES = 1 << 20
/** File names may have 255 characters, some of which the temporary file's suffix needs. */
const LONGEST_NAME = 200
const WRITER_FILE = 'writer'

const fileOf = (node: NodeName): string =>
  `record-${node.length <= LONGEST_NAME ? node : createHash('sha256').update(node).digest('hex')}`

/** The fast copy of the records. None of its methods rejects. */
export type RecordStore = Pick<RecordDisk, 'isFailing' | 'read' | 'remove' | 'write' | 'writer'>

/** Records in a folder, one file per node, and the name under which this folder's bridge writes records to the cluster. */
export class RecordDisk {
  readonly #folder: string
  readonly #log: Logger
  #isFailing = false

  constructor(folder: string, log: Logger) {
    this.#folder = folder
    this.#log = log
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

  /** Resolves when it is on disk, or when that failed. Never rejects. */
  write(node: NodeName, text: string): Promise<void> {
    return this.#write(fileOf(node), text)
  }

  /** Delete a node's record, if there is one. Never rejects. */
  async remove(node: NodeName): Promise<void> {
    try {
      await rm(join(this.#folder, fileOf(node)), { force: true })
    } catch (error) {
      this.#failed(error)
    }
  }

  async #read(name: string): Promise<string | undefined> {
    try {
      const file = await open(join(this.#folder, name), 'r')
      try {
        const tooLarge = (): Error => new Error(`${name} is larger than ${MAX_BYTES} bytes`)
        const chunks = file.createReadStream({ autoClose: false })
        return (await readWhole(chunks, MAX_BYTES, tooLarge)).toString('utf8')
      } finally {
        await file.close()
      }
    } catch (error) {
      if (!isMissing(error)) this.#failed(error)
      return undefined
    }
  }

  async #write(name: string, text: string): Promise<void> {
    try {
      await replaceFile(this.#folder, name, [Buffer.from(text)])
      this.#isFailing = false
    } catch (error) {
      this.#failed(error)
    }
  }

  /** Logged once: edges are served without a disk too, with the records in the cluster. */
  #failed(error: unknown): void {
    if (!this.#isFailing)
      this.#log.error('what edges hold cannot be kept on disk', {
        folder: this.#folder,
        error: reasonOf(error),
      })
    this.#isFailing = true
  }
}
