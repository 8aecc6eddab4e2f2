// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import { jitter, type Random } from '../../../core/random.js'
import type { ResourceClient } from '../../../kube/client/resource-client.js'
import type { NodeLink } from '../../hub/node-link.js'
import { DOWNSTREAM_LIMITS, type DownstreamLimits } from '../../model/lane/downstream-limits.js'
import { printOf } from '../../model/merge/change.js'
import type { Message } from '../../model/message/message.js'
import type { Place } from '../../model/record/held.js'
import type { DownstreamType } from '../../model/route/downstream.js'
import type { Resource } from '../../model/resource/resource.js'
import { RareLog } from '../../../core/rare-log.js'
import type { Recorder } from '../recorder/recorder.js'
import type { Cluster } from './cluster.js'
import { noMessages, type MessageCounts } from './message-counts.js'
import { NodeLane } from './node-lane.js'
import { ReadObject } from './read-object.js'
import { Reader } from './reader.js'
import { metadataText } from './views.js'

export interface SenderSeams {
  readonly client: Pick<ResourceClient, 'get'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly cluster: Pick<Cluster, 'isEdge' | 'podRead' | 'wanted' | 'wantedOf'>
  readonly recorder: Pick<Recorder, 'forget' | 'open' | 'stop'>
  readonly limits?: DownstreamLimits
}

/**
 * Unacknowledged messages are kept this long after a disconnect. Forgetting them is safe: a node that connects is compared
 * with the cluster anyway.
 */
const KEPT_MS = 300_000
const RETRY_MS = 2_000
/** When nodes were given this many characters of an object that was read, everything else has its turn. */
const AT_ONCE = 1 << 20
/** Time limit for storing the last records when a term ends. */
const STOP_MS = 2_000

const KEPT_TYPES: ReadonlySet<string> = new Set<DownstreamType>([
  'configmap',
  'node',
  'pod',
  'secret',
])
const isKept = (place: { readonly type: string }): place is Place => KEPT_TYPES.has(place.type)

/** Sends edges the objects that they should hold. Lives for one term. */
export class Sender {
  readonly #seams: SenderSeams
  readonly #rareLog: RareLog
  readonly #reader: Reader
  readonly #lanes = new Map<NodeName, NodeLane>()
  readonly #links = new Map<NodeName, NodeLink>()
  readonly #totals = noMessages()
  readonly #cancels = new Map<NodeName, () => void>()
  readonly #term: AbortSignal

  constructor(seams: SenderSeams, term: AbortSignal) {
    this.#seams = seams
    this.#rareLog = new RareLog(seams.clock, seams.log)
    this.#term = term
    this.#reader = new Reader({ ...seams, read: (...all) => this.#read(...all) })
  }

  get lanes(): readonly NodeLane[] {
    return [...this.#lanes.values()]
  }

  /** Of all nodes, since the term began. */
  get counts(): Readonly<MessageCounts> {
    return this.#totals
  }

  /** Objects that are being read. */
  get reading(): number {
    return this.#reader.waiting
  }

  laneOf(node: NodeName): NodeLane | undefined {
    return this.#lanes.get(node)
  }

  connected(link: NodeLink): void {
    this.#links.set(link.node, link)
    this.#cancels.get(link.node)?.()
    // Never rejects: what fails is tried again.
    void this.#open(link)
  }

  ended(link: NodeLink): void {
    const { node } = link
    if (this.#links.get(node) !== link) return
    this.#links.delete(node)
    this.#lanes.get(node)?.close()
    this.#cancels.set(
      node,
      this.#seams.clock.after(KEPT_MS, () => this.#forget(node)),
    )
  }

  acknowledged({ node }: NodeLink, message: Message): void {
    this.#lanes.get(node)?.acknowledged(message)
  }

  answering({ node, ...resource }: Resource, object: JsonMap): void {
    const record = this.#lanes.get(node)?.record
    const uid = metadataText(object, 'uid')
    if (record === undefined || uid === '' || !isKept(resource)) return
    const { type, namespace, name } = resource
    const version = metadataText(object, 'resourceVersion')
    record.answering(uid, { type, namespace, name, version, print: printOf(type, object) })
  }

  podUnknown({ node, namespace, name }: Resource, uid: string): void {
    this.#lanes.get(node)?.suspect(uid, { type: 'pod', namespace, name })
  }

  /** The object that a node should hold under this type and name may have changed. */
  changed(node: NodeName, place: Place): void {
    this.#lanes.get(node)?.look(place)
  }

  /** Read an object for a node. */
  ask(node: NodeName, place: Place): void {
    this.#reader.ask(node, place)
  }

  /** End the term; records are stored before this resolves. */
  async stop(): Promise<void> {
    for (const cancel of this.#cancels.values()) cancel()
    for (const lane of this.#lanes.values()) lane.close()
    await this.#reader.stop()
    const end = new AbortController()
    const cancel = this.#seams.clock.after(STOP_MS, () => end.abort(new Error('too late')))
    await this.#seams.recorder.stop(end.signal)
    cancel()
  }

  /** Read what the edge holds before anything is sent to it. */
  async #open(link: NodeLink): Promise<void> {
    const { node } = link
    const { recorder, clock, random } = this.#seams
    const isOver = (): boolean => this.#links.get(node) !== link || this.#term.aborted
    while (!isOver()) {
      try {
        const record = await recorder.open(node, this.#term)
        if (isOver()) return
        const lane = this.#lanes.get(node) ?? this.#makeLane(node, record)
        lane.open(link)
        return
      } catch (error) {
        if (isOver()) return
        const fields = { node, error: reasonOf(error) }
        this.#rareLog.warn('open', 'cannot read what an edge holds', fields)
        await sleep(clock, jitter(random, RETRY_MS, 0.2), this.#term)
      }
    }
  }

  #makeLane(node: NodeName, record: NodeLane['record']): NodeLane {
    const { clock, random, cluster, limits = DOWNSTREAM_LIMITS } = this.#seams
    const ask = (of: NodeName, place: Place): void => this.ask(of, place)
    const lane = new NodeLane(node, record, {
      clock,
      random,
      cluster,
      limits,
      ask,
      totals: this.#totals,
    })
    this.#lanes.set(node, lane)
    return lane
  }

  #forget(node: NodeName): void {
    this.#cancels.delete(node)
    if (this.#links.has(node)) return
    this.#lanes.delete(node)
    this.#seams.recorder.forget(node)
  }

  async #read(place: Place, raw: JsonMap | undefined, nodes: ReadonlySet<NodeName>): Promise<void> {
    const { clock, cluster } = this.#seams
    if (place.type === 'pod' && raw !== undefined) cluster.podRead(raw)
    const object = raw === undefined ? undefined : new ReadObject(place, raw)
    let given = 0
    for (const node of nodes) {
      // Asked anew after each pause.
      if (object !== undefined && !cluster.isEdge(node)) continue
      this.#lanes.get(node)?.read(place, object)
      given += object?.length ?? 0
      if (given < AT_ONCE) continue
      given = 0
      if (!(await sleep(clock, 0, this.#term))) return
    }
  }
}
