// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import { show } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { jitter, type Random } from '../../../core/random.js'
import type { NodeLink } from '../../hub/node-link.js'
import { DownstreamLane } from '../../model/lane/downstream-lane.js'
import type { Notice } from '../../model/lane/notice-queues.js'
import type { DownstreamLimits } from '../../model/lane/downstream-limits.js'
import type { Message } from '../../model/message/message.js'
import { compareRecord, placeOf, type Held, type Place } from '../../model/record/held.js'
import type { NodeRecord } from '../recorder/node-record.js'
import type { Cluster } from './cluster.js'
import { ExpectedObjects, type ObjectMessage } from './expected-objects.js'
import { LanePump } from './lane-pump.js'
import { noMessages, type MessageCounts } from './message-counts.js'
import type { ReadObject } from './read-object.js'

export interface NodeLaneSeams {
  readonly clock: Clock
  readonly random: Random
  readonly limits: DownstreamLimits
  readonly cluster: Pick<Cluster, 'wanted' | 'wantedOf'>
  /** Of all nodes. */
  readonly totals: MessageCounts
  /** Read an object from the cluster; `NodeLane.read` is called with it. */
  readonly ask: (node: NodeName, place: Place) => void
}

/** Time between two comparisons with the cluster. */
const COMPARE_MS = 300_000
/** While a record has this many objects of unknown version, objects that the edge reports are not added to it. */
const MAX_UNSURE = 200
/** Size of a message without its object. */
const ENVELOPE_BYTES = 300

/** Keeps one node's objects as the cluster has them: compares, sends what differs, and goes on over the next connection. */
export class NodeLane {
  readonly node: NodeName
  readonly record: NodeRecord
  readonly #seams: NodeLaneSeams
  readonly #lane: DownstreamLane<ObjectMessage>
  readonly #pump: LanePump
  readonly #expected: ExpectedObjects
  /** Pods that the edge holds and the watch does not have; they are being read from the cluster. */
  readonly #unconfirmedPods = new Set<string>()
  /** Some of those are gone: once all are read, compare again, since what they referred to may have to go too. */
  #areSomeGone = false
  #comparedAt: number | undefined
  #cancelCompare: (() => void) | undefined
  readonly #counts = noMessages()

  constructor(node: NodeName, record: NodeRecord, seams: NodeLaneSeams) {
    this.node = node
    this.record = record
    this.#expected = new ExpectedObjects(record)
    this.#seams = seams
    const { clock, random, limits } = seams
    const spread = (ms: number): number => jitter(random, ms, 0.2)
    this.#lane = new DownstreamLane({ newId: () => randomUUID(), spread }, limits)
    this.#pump = new LanePump(this.#lane, { clock, record, count: what => this.#count(what) })
  }

  get link(): NodeLink | undefined {
    return this.#pump.link
  }

  get lane(): Pick<DownstreamLane<ObjectMessage>, 'deferrals' | 'bytes' | 'inFlight' | 'messages'> {
    return this.#lane
  }

  get counts(): Readonly<MessageCounts> {
    return this.#counts
  }

  /** Clock ms; undefined: never. */
  get comparedAt(): number | undefined {
    return this.#comparedAt
  }

  /** The edge is connected. */
  open(link: NodeLink): void {
    this.#pump.open(link)
    this.#lane.open()
    this.compare()
  }

  /** The connection is gone. What was not acknowledged is kept. */
  close(): void {
    this.#pump.close()
    this.#lane.close()
    this.#cancelCompare?.()
  }

  /** Send what differs between the cluster and what the edge holds. */
  compare(): void {
    const { clock, random, cluster } = this.#seams
    this.#lane.compared()
    this.#areSomeGone = false
    this.#comparedAt = clock.now()
    const wanted = cluster.wantedOf(this.node)
    const held = new Map([...wanted].map(([uid, object]) => [uid, object.held]))
    const { remove, send } = compareRecord(this.#expected.all(), held)
    this.#remove(remove)
    for (const uid of send) this.#send(uid, wanted.get(uid)!)
    this.#cancelCompare?.()
    this.#cancelCompare = clock.after(jitter(random, COMPARE_MS, 0.1), () => this.compare())
    void this.#pump.send()
  }

  /** The watch reported a change of the object with this type and name. */
  look(place: Place): void {
    const wanted = this.#seams.cluster.wanted(this.node, place)
    this.#removeAllBut(wanted?.uid, place)
    if (wanted !== undefined && this.#expected.differs(wanted.uid, wanted.held))
      this.#send(wanted.uid, wanted)
    void this.#pump.send()
  }

  /** The edge reports an object that is not in its record: read it, and remove it from the edge if the cluster has none. */
  suspect(uid: string, place: Place): void {
    const { held } = this.record
    const unsure = [...held.values()].filter(({ version }) => version === '0').length
    if (held.has(uid) || this.#expected.isPending(uid) || unsure >= MAX_UNSURE) return
    this.record.answering(uid, { ...place, version: '0', print: '' })
    this.#seams.ask(this.node, place)
  }

  /** An object was read for this node; undefined: there is none of that type and name. */
  read(place: Place, object: ReadObject | undefined): void {
    const isMine = object !== undefined && this.#isMine(place, object.raw)
    const uid = isMine ? object.uid : undefined
    // What was read may be older than what the watch has brought meanwhile: of that the watch will report the end.
    const wanted = this.#seams.cluster.wanted(this.node, place)?.uid
    const hasRemoved = this.#removeAllBut(wanted ?? uid, place)
    // Where the watch has another object of that name, or none yet, the watch will report it.
    if (isMine && wanted === uid) this.#update(object)
    // The pod is gone, so what it referred to may have to go as well.
    if (this.#unconfirmedPods.delete(placeOf(place)) && hasRemoved) this.#areSomeGone = true
    if (this.#areSomeGone && this.#unconfirmedPods.size === 0) this.compare()
    else void this.#pump.send()
  }

  /** The edge acknowledged or refused a message, which may be one that we did not send. */
  acknowledged({ parentId = '', operation, content }: Message): void {
    const { clock } = this.#seams
    if (operation === 'error') {
      this.#count('refused')
      this.#lane.refuse(parentId, `the edge says ${show(content)}`, clock.now())
    } else {
      const notice = this.#lane.acknowledge(parentId)
      if (notice !== undefined) this.#done(notice)
    }
    if (this.#lane.mustCompare) this.compare()
    else void this.#pump.send()
  }

  /** A pod names its node; everything else was read because a pod of this node refers to it. */
  #isMine({ type }: Place, object: JsonMap): boolean {
    const { spec } = object as { spec?: { nodeName?: unknown } }
    return type !== 'pod' || spec?.nodeName === this.node
  }

  /**
   * The edge holds objects that the watch does not have. The watch may lag, so pods are read before the edge is made to stop
   * them, and until then everything that they may refer to stays.
   */
  #remove(uids: readonly string[]): void {
    const expected = this.#expected.all()
    const held = uids.map(uid => [uid, expected.get(uid)!] as const)
    const pods = held.filter(([, { type }]) => type === 'pod')
    this.#unconfirmedPods.clear()
    for (const [, pod] of pods) {
      this.#unconfirmedPods.add(placeOf(pod))
      this.#seams.ask(this.node, pod)
    }
    if (pods.length === 0) for (const [uid, object] of held) this.#delete(uid, object)
  }

  /** @returns whether the edge had another object of that type and name */
  #removeAllBut(uid: string | undefined, place: Place): boolean {
    const others = this.#expected.uidsAt(place).filter(other => other !== uid)
    for (const other of others) this.#delete(other, place)
    return others.length > 0
  }

  #delete(uid: string, { type, namespace, name }: Place): void {
    const of = { type, namespace, name }
    // An edge that is sent the deletion of its own Node stops working, and does not reconnect while there is no Node.
    if (type === 'node') this.record.removed(uid, of)
    else this.#offer(uid, of, { kind: 'delete', of })
  }

  #send(
    uid: string,
    { held, text }: { readonly held: Held; readonly text: string | undefined },
  ): void {
    if (text === undefined) this.#seams.ask(this.node, held)
    else this.#offer(uid, held, { kind: 'update', held, text })
  }

  #update(object: ReadObject): void {
    const { uid, held } = object
    if (this.#expected.differs(uid, held))
      this.#offer(uid, held, { kind: 'update', held, text: object.text })
    // Only fields that edges are not sent have changed.
    else if (!this.#expected.isPending(uid)) this.record.stored(uid, held)
  }

  #offer(uid: string, place: Place, value: ObjectMessage): void {
    const bytes = ENVELOPE_BYTES + (value.kind === 'update' ? value.text.length : 0)
    const notice = { key: placeOf(place), uid, bytes, value }
    if (this.#lane.offer(notice)) this.#expected.offered(notice)
  }

  #done(notice: Notice<ObjectMessage>): void {
    const { uid, value } = notice
    this.#count('acknowledged')
    this.#expected.acknowledged(notice)
    if (value.kind === 'update') this.record.stored(uid, value.held)
    else if (this.record.removed(uid, value.of).length > 0) this.look(value.of)
  }

  #count(what: keyof MessageCounts): void {
    this.#counts[what]++
    this.#seams.totals[what]++
  }
}
