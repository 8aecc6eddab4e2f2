// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import { show } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { JsonMap } from '../../../core/json.js'
import { jitter, type Random } from '../../../core/random.js'
import type { NodeLink } from '../../hub/hub.js'
import {
  DownstreamLane,
  type DownstreamLimits,
  type Sending,
  type Notice,
} from '../../model/lane/downstream-lane.js'
import { printOf } from '../../model/merge/change.js'
import { tidyObject } from '../../model/merge/tidy.js'
import type { Message } from '../../model/message/message.js'
import {
  compareRecord,
  isSameObject,
  placeOf,
  type Held,
  type Place,
} from '../../model/record/held.js'
import { deleteMessage, updateMessage } from '../../model/route/downstream.js'
import type { NodeRecord } from '../recorder/node-record.js'
import type { Cluster } from './cluster.js'
import { metadataText } from './views.js'

/** What is to be sent to an edge about one object. */
type Word =
  | { readonly kind: 'update'; readonly held: Held; readonly text: string }
  /** It is gone, or not for this node. */
  | { readonly kind: 'delete'; readonly of: Place }

export interface NodeLaneSeams {
  readonly clock: Clock
  readonly random: Random
  readonly limits: DownstreamLimits
  readonly cluster: Pick<Cluster, 'wanted' | 'wantedOf'>
  /** Of all nodes. */
  readonly totals: MessageCounts
  /** Read an object; `read` brings it. */
  readonly ask: (node: NodeName, place: Place) => void
}

/** Messages, by what became of them. */
export interface MessageCounts {
  sent: number
  resent: number
  acknowledged: number
  refused: number
}

/** How long after a comparison with the cluster the next one comes. */
const COMPARE_MS = 300_000
/** An edge's own word adds to its record no longer when so much of it is not sure. */
const MAX_UNSURE = 200
/** A message without its object. */
const ENVELOPE_BYTES = 300

const isAt = (held: Place, place: Place): boolean =>
  held.name === place.name && held.namespace === place.namespace && held.type === place.type

/** What is sent to one node, so that it holds what the cluster has, over one connection after another. */
export class NodeLane {
  readonly node: NodeName
  readonly record: NodeRecord
  readonly #seams: NodeLaneSeams
  readonly #lane: DownstreamLane<Word>
  /** The newest notice of each object that the edge has not acknowledged. */
  readonly #pending = new Map<string, Notice<Word>>()
  /** Pods that the edge holds and that nobody knows of here: they are being asked for. */
  readonly #doubts = new Set<string>()
  /** Some of those are gone: when all are answered, what they referred to is looked at again. */
  #wasDoubtRight = false
  #link: NodeLink | undefined
  #isPumping = false
  #comparedAt: number | undefined
  #cancelPump: (() => void) | undefined
  #cancelCompare: (() => void) | undefined
  readonly #counts: MessageCounts = { sent: 0, resent: 0, acknowledged: 0, refused: 0 }

  constructor(node: NodeName, record: NodeRecord, seams: NodeLaneSeams) {
    this.node = node
    this.record = record
    this.#seams = seams
    const { random, limits } = seams
    const spread = (ms: number): number => jitter(random, ms, 0.2)
    this.#lane = new DownstreamLane({ newId: () => randomUUID(), spread }, limits)
  }

  get link(): NodeLink | undefined {
    return this.#link
  }

  get lane(): Pick<DownstreamLane<Word>, 'asides' | 'bytes' | 'inFlight' | 'messages'> {
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
    this.#link = link
    this.#lane.open()
    this.compare()
  }

  /** The connection is gone. What was not acknowledged is kept. */
  close(): void {
    this.#link = undefined
    this.#lane.close()
    this.#cancelPump?.()
    this.#cancelCompare?.()
  }

  /** Send what differs between the cluster and what the edge holds. */
  compare(): void {
    const { clock, random, cluster } = this.#seams
    this.#lane.compared()
    this.#wasDoubtRight = false
    this.#comparedAt = clock.now()
    const wanted = cluster.wantedOf(this.node)
    const held = new Map([...wanted].map(([uid, object]) => [uid, object.held]))
    const { remove, send } = compareRecord(this.#expected(), held)
    this.#remove(remove)
    for (const uid of send) this.#send(uid, wanted.get(uid)!)
    this.#cancelCompare?.()
    this.#cancelCompare = clock.after(jitter(random, COMPARE_MS, 0.1), () => this.compare())
    void this.#pump()
  }

  /** What the node should keep at a place may have changed: the watch says so. */
  look(place: Place): void {
    const wanted = this.#seams.cluster.wanted(this.node, place)
    this.#removeAllBut(wanted?.uid, place)
    if (wanted !== undefined && this.#differs(wanted.uid, wanted.held))
      this.#send(wanted.uid, wanted)
    void this.#pump()
  }

  /** The edge says that it has an object that is not in its record: it goes, unless the cluster has it. */
  suspect(uid: string, place: Place): void {
    const { held } = this.record
    const unsure = [...held.values()].filter(({ version }) => version === '0').length
    if (held.has(uid) || this.#pending.has(uid) || unsure >= MAX_UNSURE) return
    this.record.answering(uid, { ...place, version: '0', print: '' })
    this.#seams.ask(this.node, place)
  }

  /** An object was read for this node; undefined: there is none at that place. */
  read(place: Place, object: JsonMap | undefined): void {
    const isMine = object !== undefined && this.#isMine(place, object)
    const uid = isMine ? metadataText(object, 'uid') : undefined
    const hasRemoved = this.#removeAllBut(uid, place)
    // Another object than the watch knows of: the watch will report it.
    if (isMine && this.#seams.cluster.wanted(this.node, place)?.uid === uid)
      this.#update(uid!, place, object)
    // What was doubted is gone, and what it referred to may go as well.
    if (this.#doubts.delete(placeOf(place)) && hasRemoved) this.#wasDoubtRight = true
    if (this.#wasDoubtRight && this.#doubts.size === 0) this.compare()
    else void this.#pump()
  }

  /** An edge's word about a message, which may be none of ours. */
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
    else void this.#pump()
  }

  /** What the edge will hold once it has taken everything that was sent. */
  #expected(): ReadonlyMap<string, Held> {
    const expected = new Map(this.record.held)
    for (const [uid, { value }] of this.#pending)
      if (value.kind === 'update') expected.set(uid, value.held)
      else expected.delete(uid)
    return expected
  }

  #differs(uid: string, wanted: Held): boolean {
    const { value } = this.#pending.get(uid) ?? {}
    if (value?.kind === 'delete') return true
    const held = value?.held ?? this.record.held.get(uid)
    return held === undefined || !isSameObject(held, wanted)
  }

  /** A node's pods are those that say so; everything else was asked for since a pod of it refers to it. */
  #isMine({ type }: Place, object: JsonMap): boolean {
    const { spec } = object as { spec?: { nodeName?: unknown } }
    return type !== 'pod' || spec?.nodeName === this.node
  }

  /**
   * The edge holds what the caches do not know. They may be late: that a pod is gone is asked before it is stopped, and
   * until then what it may refer to stays.
   */
  #remove(uids: readonly string[]): void {
    const expected = this.#expected()
    const held = uids.map(uid => [uid, expected.get(uid)!] as const)
    const pods = held.filter(([, { type }]) => type === 'pod')
    this.#doubts.clear()
    for (const [, pod] of pods) {
      this.#doubts.add(placeOf(pod))
      this.#seams.ask(this.node, pod)
    }
    if (pods.length === 0) for (const [uid, object] of held) this.#delete(uid, object)
  }

  /** @returns whether there was something else at that place */
  #removeAllBut(uid: string | undefined, place: Place): boolean {
    const others = this.#heldAt(place).filter(other => other !== uid)
    for (const other of others) this.#delete(other, place)
    return others.length > 0
  }

  /** Uids of what the edge will hold at a place once it has taken everything that was sent. */
  #heldAt(place: Place): readonly string[] {
    const found: string[] = []
    for (const [uid, held] of this.record.held)
      if (isAt(held, place) && !this.#pending.has(uid)) found.push(uid)
    for (const [uid, { value }] of this.#pending)
      if (value.kind === 'update' && isAt(value.held, place)) found.push(uid)
    return found
  }

  #delete(uid: string, { type, namespace, name }: Place): void {
    const of = { type, namespace, name }
    // An edge that hears of the deletion of its own Node stops working; without a Node it does not connect again.
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

  #update(uid: string, { type, namespace, name }: Place, object: JsonMap): void {
    const version = metadataText(object, 'resourceVersion')
    const held = { type, namespace, name, version, print: printOf(type, object) }
    if (this.#differs(uid, held))
      this.#offer(uid, held, {
        kind: 'update',
        held,
        text: JSON.stringify(tidyObject(type, object)),
      })
    // Nothing that is sent to the edge has changed.
    else if (!this.#pending.has(uid)) this.record.stored(uid, held)
  }

  #offer(uid: string, place: Place, value: Word): void {
    const bytes = ENVELOPE_BYTES + (value.kind === 'update' ? value.text.length : 0)
    const notice = { key: placeOf(place), uid, bytes, value }
    if (this.#lane.offer(notice)) this.#pending.set(uid, notice)
  }

  #done(notice: Notice<Word>): void {
    const { uid, value } = notice
    this.#count('acknowledged')
    if (this.#pending.get(uid) === notice) this.#pending.delete(uid)
    if (value.kind === 'update') this.record.stored(uid, value.held)
    else if (this.record.removed(uid, value.of).length > 0) this.look(value.of)
  }

  /** Send what may leave; what an edge may hold from now on is written down before. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return
    this.#isPumping = true
    const { clock } = this.#seams
    for (let link = this.#link; link !== undefined; link = this.#link) {
      const sendings = this.#lane.take(clock.now())
      if (sendings.length === 0) break
      await this.record.sending(
        sendings.flatMap(({ notice: { uid, value } }) =>
          value.kind === 'update' ? [[uid, value.held] as const] : [],
        ),
      )
      // Of a connection that ended meanwhile nothing counts: the next one begins with it.
      if (link === this.#link) for (const sending of sendings) this.#leave(link, sending)
    }
    this.#isPumping = false
    this.#wakeLater()
  }

  #leave(link: NodeLink, { id, notice, isResend }: Sending<Word>): void {
    this.#count(isResend ? 'resent' : 'sent')
    link.send(this.#message({ id, at: this.#seams.clock.wall() }, notice))
  }

  #message(stamp: { readonly id: string; readonly at: number }, notice: Notice<Word>): Message {
    const { uid, value } = notice
    const { node } = this
    if (value.kind === 'delete') return deleteMessage({ node, ...value.of }, stamp, uid)
    return updateMessage({ node, ...value.held }, stamp, JSON.parse(value.text) as JsonMap)
  }

  #count(what: keyof MessageCounts): void {
    this.#counts[what]++
    this.#seams.totals[what]++
  }

  #wakeLater(): void {
    this.#cancelPump?.()
    const { nextAt } = this.#lane
    if (nextAt === Infinity) return
    const { clock } = this.#seams
    this.#cancelPump = clock.after(Math.max(1, nextAt - clock.now()), () => void this.#pump())
  }
}
