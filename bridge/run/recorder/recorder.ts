// SPDX-License-Identifier: Apache-2.0
import { logFailures, WorkQueue, type WorkResult } from '../../../controller/work-queue.js'
import { aborted, type Clock } from '../../../core/clock.js'
import { KubeStatusError, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Random } from '../../../core/random.js'
import { decodeRecord, encodeRecord } from '../../model/record/codec.js'
import type { EdgeRecord } from '../../model/record/held.js'
import { RareLog } from '../../../core/rare-log.js'
import { NodeRecord } from './node-record.js'
import type { ObjectSyncs } from './object-syncs.js'
import type { RecordStore } from './record-disk.js'
import type { RecordMaps } from './record-map.js'

export interface RecorderSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** The name under which this process writes, if its folder has none. */
  readonly fresh: string
  readonly disk: RecordStore
  readonly maps: Pick<RecordMaps, 'read' | 'remove' | 'write'>
  /** cloudcore's records. */
  readonly syncs: Pick<ObjectSyncs, 'read' | 'write'>
}

export interface RecorderOptions {
  /** Where there is no record of what an edge holds, read cloudcore's ObjectSyncs. */
  readonly adoptsObjectSyncs: boolean
  /** Keep ObjectSyncs as cloudcore does. */
  readonly writesObjectSyncs: boolean
}

/** How far the records are stored. */
export interface RecorderStatus {
  readonly isDiskFailing: boolean
  /** Nodes whose present record is not in the cluster yet. */
  readonly unsaved: number
  /** Those of them whose last write failed. */
  readonly failing: number
}

/** How long an acknowledgement may not be on disk. If it is lost, the object is sent once more. */
const SOON_MS = 500
/** Shortest time between two writes of one node's record to the cluster. */
const CLUSTER_MS = 2_000
const QUEUE = { workers: 8, startsPerSecond: 100, firstRetryMs: 2_000, lastRetryMs: 60_000 }
/** Makes the name of another writer: what this disk has is older than the record in the cluster. */
const NOT_ON_DISK = '-memory'
const EMPTY: EdgeRecord = new Map()

/** One node's record, and where it is stored already. */
interface Kept {
  readonly record: NodeRecord
  /** The write after the one that runs. */
  next: Promise<void> | undefined
  running: Promise<void>
  cancelSoon: (() => void) | undefined
  isUnsaved: boolean
  /** A write to the cluster runs. */
  isWriting: boolean
  /** To be dropped from memory once it is stored. */
  isForgotten: boolean
  /** Whether the disk has the record as it is, but for acknowledgements. */
  isOnDisk: boolean
  /** As the ObjectSyncs have it; undefined when they were not read. */
  synced: EdgeRecord | undefined
}

const isStored = ({ isUnsaved, isWriting, next, cancelSoon }: Kept): boolean =>
  !isUnsaved && !isWriting && next === undefined && cancelSoon === undefined

/** Stores what edges hold: at once on disk, soon after in the cluster. Lives for one term. */
export class Recorder {
  readonly #options: RecorderOptions
  readonly #seams: RecorderSeams
  /** An edge that holds very much makes every write of its record a cause to complain. */
  readonly #rareLog: RareLog
  readonly #kept = new Map<NodeName, Kept>()
  readonly #queue: WorkQueue
  readonly #writer: Promise<string>
  /** cloudcore's records as of the first read. */
  #synced: Promise<ReadonlyMap<string, EdgeRecord>> | undefined

  constructor(options: RecorderOptions, seams: RecorderSeams) {
    const { clock, random, log } = seams
    this.#options = options
    this.#seams = seams
    this.#rareLog = new RareLog(clock, log)
    this.#writer = seams.disk.writer(seams.fresh)
    this.#queue = new WorkQueue(
      (node, signal) => this.#write(node as NodeName, signal),
      {
        ...{ clock, random },
        onFailure: logFailures(log, 'what an edge holds cannot be kept in the cluster', node => ({
          node,
        })),
      },
      QUEUE,
    )
  }

  get status(): RecorderStatus {
    const unsaved = [...this.#kept.values()].filter(({ isUnsaved }) => isUnsaved).length
    const { isFailing: isDiskFailing } = this.#seams.disk
    return { isDiskFailing, unsaved, failing: this.#queue.status.failing }
  }

  /** What a node holds. Rejects as ResourceClient does. */
  async open(node: NodeName, signal: AbortSignal): Promise<NodeRecord> {
    const known = this.#kept.get(node)
    if (known !== undefined) {
      known.isForgotten = false
      return known.record
    }
    const held = await this.#load(node, signal)
    const kept: Kept = this.#kept.get(node) ?? {
      record: new NodeRecord(held, {
        save: () => this.#save(node, kept),
        saveSoon: () => this.#saveSoon(node, kept),
      }),
      ...{ next: undefined, running: Promise.resolve(), cancelSoon: undefined },
      ...{ isUnsaved: false, isWriting: false, isForgotten: false },
      ...{ isOnDisk: true, synced: undefined },
    }
    kept.isForgotten = false
    this.#kept.set(node, kept)
    return kept.record
  }

  /** The node is gone: drop its record from memory as soon as it is stored, unless it is opened again. */
  forget(node: NodeName): void {
    const kept = this.#kept.get(node)
    if (kept === undefined) return
    kept.isForgotten = true
    this.#release(node, kept)
  }

  /**
   * The Node was deleted for good: delete its records, unless it is connected again, or they are not stored yet. Rejects as
   * ResourceClient does.
   * @returns whether they are deleted
   */
  async drop(node: NodeName, signal: AbortSignal): Promise<boolean> {
    const { disk, maps, syncs } = this.#seams
    if (this.#kept.has(node)) return false
    if (this.#options.writesObjectSyncs) {
      const before = await this.#load(node, signal)
      await syncs.write(node, { before, after: EMPTY }, signal)
    }
    if (this.#kept.has(node)) return false
    await maps.remove(node, signal)
    await disk.remove(node)
    return true
  }

  /** Store everything that is not stored yet, until the signal aborts. Never rejects. */
  async stop(signal: AbortSignal): Promise<void> {
    await this.#queue.stop()
    for (const [node, kept] of this.#kept) {
      kept.cancelSoon?.()
      await Promise.race([this.#save(node, kept), aborted(signal)])
      if (!kept.isUnsaved || signal.aborted) continue
      const result = await this.#write(node, signal)
      if (result.kind === 'failed')
        this.#seams.log.warn('the record of an edge could not be stored in the cluster', {
          ...{ node, error: result.reason },
        })
    }
  }

  #release(node: NodeName, kept: Kept): void {
    if (kept.isForgotten && isStored(kept)) this.#kept.delete(node)
  }

  async #load(node: NodeName, signal: AbortSignal): Promise<EdgeRecord> {
    const { disk, maps } = this.#seams
    // Read even where the disk has a record: what a watch knows of another bridge may be late.
    const inCluster = await maps.read(node, signal)
    // Another bridge has served the node since this disk was written, so the cluster's record is newer.
    const writer = inCluster?.writer ?? ''
    const isForeign = writer !== '' && writer !== (await this.#writer)
    const text = (isForeign ? undefined : await disk.read(node)) ?? inCluster?.text
    if (text === undefined) return this.#adopt(node, signal)
    const { record, unread } = decodeRecord(text)
    if (unread > 0) {
      const fields = { node, lines: unread }
      this.#rareLog.warn(`unread ${node}`, 'a part of the record of an edge cannot be read', fields)
    }
    return record
  }

  async #adopt(node: NodeName, signal: AbortSignal): Promise<EdgeRecord> {
    return this.#options.adoptsObjectSyncs ? await this.#syncedOf(node, signal) : EMPTY
  }

  /** Read once, for all nodes: from then on there are records of our own. */
  async #syncedOf(node: NodeName, signal: AbortSignal): Promise<EdgeRecord> {
    this.#synced ??= this.#seams.syncs.read(signal)
    try {
      return (await this.#synced).get(node) ?? EMPTY
    } catch (error) {
      this.#synced = undefined
      throw error
    }
  }

  /** One write at a time; changes meanwhile are part of the next one. */
  #save(node: NodeName, kept: Kept): Promise<void> {
    kept.isUnsaved = true
    kept.isOnDisk = false
    this.#queue.addAfter(node, CLUSTER_MS)
    kept.next ??= kept.running.then(() => {
      kept.next = undefined
      kept.running = this.#keepOnDisk(node, kept)
      return kept.running
    })
    return kept.next
  }

  async #keepOnDisk(node: NodeName, kept: Kept): Promise<void> {
    const isWritten = await this.#seams.disk.write(node, this.#textOf(node, kept))
    kept.isOnDisk = isWritten && kept.next === undefined
    this.#release(node, kept)
  }

  #saveSoon(node: NodeName, kept: Kept): void {
    kept.isUnsaved = true
    kept.cancelSoon ??= this.#seams.clock.after(SOON_MS, () => {
      kept.cancelSoon = undefined
      void this.#save(node, kept)
    })
  }

  #textOf(node: NodeName, { record }: Kept): string {
    const { text, left } = encodeRecord(record.held)
    if (left > 0) {
      const fields = { node, left }
      this.#rareLog.warn(
        `left ${node}`,
        'an edge holds more objects than its record has room for',
        fields,
      )
    }
    return text
  }

  async #write(node: NodeName, signal: AbortSignal): Promise<WorkResult> {
    const kept = this.#kept.get(node)
    if (kept?.isUnsaved !== true) return { kind: 'done' }
    const after = new Map(kept.record.held)
    const text = this.#textOf(node, kept)
    kept.isUnsaved = false
    kept.isWriting = true
    try {
      const writer = await this.#writer
      const as = kept.isOnDisk ? writer : writer + NOT_ON_DISK
      await this.#seams.maps.write(node, { text, writer: as }, signal)
      await this.#sync(node, kept, after, signal)
      return { kind: 'done' }
    } catch (error) {
      kept.isUnsaved = true
      const { retryAfterMs } = error instanceof KubeStatusError ? error : {}
      return { kind: 'failed', reason: reasonOf(error), retryAfterMs }
    } finally {
      kept.isWriting = false
      this.#release(node, kept)
    }
  }

  async #sync(node: NodeName, kept: Kept, after: EdgeRecord, signal: AbortSignal): Promise<void> {
    if (!this.#options.writesObjectSyncs) return
    kept.synced ??= await this.#syncedOf(node, signal)
    await this.#seams.syncs.write(node, { before: kept.synced, after }, signal)
    kept.synced = after
  }
}
