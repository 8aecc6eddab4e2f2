// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import type { FileToRead, Folder } from './folder.js'
import {
  contentOf,
  listFile,
  readListFile,
  sizeOf,
  type SavedItems,
  type SavedList,
} from './list-file.js'

/** How often lists are written, and how large they may be. */
export interface LastListsOptions {
  /** Shortest time between two writes of a list. */
  readonly periodMs: number
  /** @default 64 MiB; a list that is larger is not kept */
  readonly maxBytes?: number
}

/** What it needs of the world. */
export interface LastListsSeams {
  readonly folder: Folder
  readonly clock: Clock
  readonly log: Logger
  /** All present objects of a resource; undefined until the apiserver has listed it. */
  readonly itemsOf: (resource: string) => SavedItems | undefined
}

/** The last lists, on disk. Never throws: with a full or broken disk nothing is stored. */
export interface LastLists {
  /** Undefined when there is none that can be used; why is logged. */
  load(resource: string): Promise<SavedList | undefined>
  /** The resource changed: write it some time later. */
  changed(resource: string): void
  /**
   * Reserve versions on disk: `newestOf` gets the highest one that an earlier process may have served, and returns the
   * first one of this process. Resolves to the former; 0 when none is known.
   */
  claimVersions(newestOf: (last: number) => number): Promise<number>
  /** Write what has changed, and stop. */
  stop(): Promise<void>
  /** Why a list cannot be written or read, the newest of them; undefined when none has failed last. */
  readonly trouble: string | undefined
  readonly writes: number
}

const MAX_BYTES = 64 << 20
/** Flash memory wears out: most bytes written per millisecond for one list, on average. */
const BYTES_PER_MS = 10
const FIRST_MS = 1_000
const VERSION_FILE = 'served-version'
/** Versions that are reserved for one process; so many changes would take years. */
const LIFE = 1_000_000_000
/** No process of ours gets here: above it nothing could be counted. A start from the year 2112 leaves room for four million lives. */
const MAX_LAST = Number.MAX_SAFE_INTEGER - 2 * LIFE

/** The version in the file; 0 when it cannot be one of ours. */
const lastIn = (text: string): number => {
  const last = /^\d{1,16}$/.test(text) ? Number(text) : 0
  return last > MAX_LAST ? 0 : last
}

const textOf = async (file: FileToRead | undefined): Promise<string> => {
  let text = ''
  for await (const piece of file?.pieces ?? []) text += Buffer.from(piece).toString('latin1')
  return text.trim()
}

interface Kept {
  isChanged: boolean
  /** `Clock.now` before which it is not written again. */
  notBefore: number
  content: string | undefined
}

class DiskLists implements LastLists {
  readonly #options: Required<LastListsOptions>
  readonly #seams: LastListsSeams
  readonly #kept = new Map<string, Kept>()
  #cancel: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()
  #isStopped = false
  /** By what failed last, as logged: one list may be too large while others are written. */
  readonly #troubles = new Map<string, { readonly message: string; readonly reason: string }>()
  writes = 0

  constructor(options: LastListsOptions, seams: LastListsSeams) {
    this.#options = { maxBytes: MAX_BYTES, ...options }
    this.#seams = seams
  }

  get trouble(): string | undefined {
    const newest = [...this.#troubles].at(-1)
    return newest && `${newest[0]}: ${newest[1].reason}`
  }

  async load(resource: string): Promise<SavedList | undefined> {
    const { folder, log } = this.#seams
    try {
      const file = await folder.read(`${resource}.list`, this.#options.maxBytes)
      if (file === undefined) return undefined
      const read = await readListFile(resource, file)
      if (!read.ok) {
        log.warn('the last list on disk is not used', { resource, error: read.trouble })
        return undefined
      }
      this.#of(resource).content = contentOf(read.list.items)
      return read.list
    } catch (error) {
      this.#fail('the last list on disk cannot be read', resource, error)
      return undefined
    }
  }

  changed(resource: string): void {
    this.#of(resource).isChanged = true
    this.#plan()
  }

  async claimVersions(newestOf: (last: number) => number): Promise<number> {
    const { folder } = this.#seams
    let last = 0
    try {
      last = lastIn(await textOf(await folder.read(VERSION_FILE, 64)))
      await folder.replace(VERSION_FILE, [Buffer.from(`${newestOf(last) + LIFE}\n`)])
    } catch (error) {
      this.#fail('the served version cannot be kept on disk', VERSION_FILE, error)
    }
    return last
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#writing
    for (const [resource, kept] of this.#kept) if (kept.isChanged) await this.#write(resource, kept)
  }

  #of(resource: string): Kept {
    let kept = this.#kept.get(resource)
    if (kept === undefined) {
      // Soon, since power may fail; not at once, since there are many changes right after a start.
      const notBefore = this.#seams.clock.now() + Math.min(FIRST_MS, this.#options.periodMs)
      kept = { isChanged: false, notBefore, content: undefined }
      this.#kept.set(resource, kept)
    }
    return kept
  }

  #plan(): void {
    if (this.#isStopped || this.#cancel !== undefined) return
    const { clock } = this.#seams
    const due = [...this.#kept.values()].flatMap(kept => (kept.isChanged ? [kept.notBefore] : []))
    if (due.length === 0) return
    this.#cancel = clock.after(Math.max(0, Math.min(...due) - clock.now()), () => {
      this.#writing = this.#writeDue().finally(() => {
        this.#cancel = undefined
        this.#plan()
      })
    })
  }

  async #writeDue(): Promise<void> {
    const now = this.#seams.clock.now()
    for (const [resource, kept] of this.#kept)
      if (kept.isChanged && kept.notBefore <= now) await this.#write(resource, kept)
  }

  async #write(resource: string, kept: Kept): Promise<void> {
    const { folder, clock, log, itemsOf } = this.#seams
    const { maxBytes, periodMs } = this.#options
    kept.isChanged = false
    const items = itemsOf(resource)
    if (items === undefined) return
    const bytes = sizeOf(items)
    kept.notBefore = clock.now() + Math.max(periodMs, bytes / BYTES_PER_MS)
    const content = contentOf(items)
    if (content === kept.content) return
    try {
      if (items === 'absent' && (await this.#hasList(resource))) return
      if (bytes > maxBytes) throw new RangeError(`${bytes} bytes are more than ${maxBytes}`)
      await folder.replace(`${resource}.list`, listFile(resource, { savedAt: clock.wall(), items }))
      this.writes++
      kept.content = content
      // The version is written at a start only, and the disk works.
      this.#troubles.delete(VERSION_FILE)
      if (this.#troubles.delete(resource)) log.info('a list is kept on disk again', { resource })
    } catch (error) {
      this.#fail('the last list cannot be kept on disk', resource, error)
      kept.isChanged = true
    }
  }

  /**
   * Whether a list is on disk. It is kept when the apiserver answers 404: the 404 may come from a proxy in front
   * of an apiserver that is not up yet, and a deleted list could not be served after the next boot.
   */
  async #hasList(resource: string): Promise<boolean> {
    const saved = await this.load(resource)
    return saved !== undefined && saved.items !== 'absent'
  }

  #fail(message: string, what: string, error: unknown): void {
    const reason = reasonOf(error)
    // Reasons differ each time where they name the unfinished file.
    if (this.#troubles.get(what)?.message !== message)
      this.#seams.log.error(message, { what, error: reason })
    this.#troubles.delete(what)
    this.#troubles.set(what, { message, reason })
  }
}

/** Keep the last list of each resource in a folder, to serve it after a boot without the cloud. */
export const makeLastLists = (options: LastListsOptions, seams: LastListsSeams): LastLists =>
  new DiskLists(options, seams)
