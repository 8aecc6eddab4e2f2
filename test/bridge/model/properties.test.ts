// SPDX-License-Identifier: Apache-2.0
// An edge, the cluster and the lane between them, in any order of events: what must hold once things are calm, and always.
import t from 'tap'
import { DownstreamLane, type Sending } from '../../../bridge/model/lane/downstream-lane.js'
import { DOWNSTREAM_LIMITS } from '../../../bridge/model/lane/downstream-limits.js'
import { isNews, printOf, type Seen } from '../../../bridge/model/merge/change.js'
import { decodeRecord, encodeRecord } from '../../../bridge/model/record/codec.js'
import { compareRecord, type Held } from '../../../bridge/model/record/held.js'
import { noteRemoved, noteSending, noteStored } from '../../../bridge/model/record/note.js'
import type { JsonMap } from '../../../core/json.js'
import fc from '../../../testkit/properties.js'
import { pod } from './objects.js'

const NAMES = ['a', 'b', 'c'] as const
/** A message about a pod: what it is now, or that it is gone. */
type Word = { readonly name: string; readonly uid: string } & (
  | { readonly kind: 'update'; readonly image: number; readonly version: string }
  | { readonly kind: 'delete' }
)

/** The part of an edge that matters: SQLite, which survives a restart, and what runs. */
class Edge {
  readonly rows = new Map<string, { readonly uid: string; readonly image: number }>()
  running = new Map<string, number>()
  /** Words about these names are not taken so many times more. */
  readonly stubborn = new Map<string, number>()
  readonly heard: Word[] = []

  /** @returns whether it says OK; undefined: it says nothing */
  take(word: Word): boolean | undefined {
    const left = this.stubborn.get(word.name) ?? 0
    if (left > 0) {
      this.stubborn.set(word.name, left - 1)
      return left % 2 === 0 ? false : undefined
    }
    this.heard.push(word)
    if (word.kind === 'update') {
      this.rows.set(word.name, { uid: word.uid, image: word.image })
      this.running.set(word.uid, word.image)
    } else {
      // Edges before 1.23 delete the row of that name, whoever's it is.
      this.rows.delete(word.name)
      this.running.delete(word.uid)
    }
    return true
  }

  restart(): void {
    this.running = new Map([...this.rows.values()].map(({ uid, image }) => [uid, image]))
  }
}

interface Living {
  readonly uid: string
  readonly image: number
  readonly version: number
  readonly phase: number
}

const rawOf = (name: string, { uid, image, version, phase }: Living): JsonMap =>
  pod(
    name,
    { containers: [{ image: String(image) }] },
    { uid, metadata: { resourceVersion: String(version) }, status: { phase: String(phase) } },
  )

class Play {
  readonly edge = new Edge()
  readonly cluster = new Map<string, Living>()
  readonly seen = new Map<string, Seen>()
  record = new Map<string, Held>()
  lane = this.makeLane()
  down: Sending<Word>[] = []
  up: { readonly id: string; readonly isOk: boolean }[] = []
  isConnected = false
  now = 0
  #count = 0
  /** Updates that left the lane for the first time. */
  sends = 0
  mostInFlight = 0

  makeLane(): DownstreamLane<Word> {
    return new DownstreamLane<Word>(
      { newId: () => `m${++this.#count}`, spread: ms => ms },
      { ...DOWNSTREAM_LIMITS, window: 2, maxMessages: 3 },
    )
  }

  next(): number {
    return ++this.#count
  }

  offer(word: Word): void {
    this.lane.offer({ key: `pod ${word.name}`, uid: word.uid, bytes: 100, value: word })
  }

  seenOf(name: string, living: Living): Seen {
    return { uid: living.uid, print: printOf('pod', rawOf(name, living)) }
  }

  change(name: string, living: Living): void {
    const seen = this.seenOf(name, living)
    const isOffered = isNews(this.seen.get(name), seen)
    this.seen.set(name, seen)
    if (isOffered) this.offer(this.updateOf(name, living))
  }

  updateOf(name: string, { uid, image, version }: Living): Word {
    return { kind: 'update', name, uid, image, version: String(version) }
  }

  set(name: string, isStatusOnly: boolean): void {
    const before = this.cluster.get(name)
    const id = this.next()
    const after =
      before === undefined
        ? { uid: `u${id}`, image: id, version: id, phase: 0 }
        : { ...before, version: id, ...(isStatusOnly ? { phase: id } : { image: id }) }
    this.cluster.set(name, after)
    this.change(name, after)
  }

  remove(name: string): void {
    const before = this.cluster.get(name)
    if (before === undefined) return
    this.cluster.delete(name)
    this.seen.delete(name)
    this.offer({ kind: 'delete', name, uid: before.uid })
  }

  heldOf(name: string, living: Living): Held {
    const print = printOf('pod', rawOf(name, living))
    return { type: 'pod', namespace: 'till', name, version: String(living.version), print }
  }

  compare(): void {
    this.lane.compared()
    const wanted = new Map(
      [...this.cluster].map(([name, living]) => [living.uid, this.heldOf(name, living)]),
    )
    const { remove, send } = compareRecord(this.record, wanted)
    for (const uid of remove) this.offer({ kind: 'delete', name: this.record.get(uid)!.name, uid })
    for (const uid of send) {
      const { name } = wanted.get(uid)!
      this.offer(this.updateOf(name, this.cluster.get(name)!))
    }
  }

  connect(): void {
    this.cut()
    this.isConnected = true
    this.lane.open()
    this.compare()
  }

  cut(): void {
    this.isConnected = false
    this.down = []
    this.up = []
    this.lane.close()
  }

  /** The bridge's process ends and begins again: its record is on disk, everything else is lost. */
  restart(): void {
    this.cut()
    this.record = new Map(decodeRecord(encodeRecord(this.record).text).record)
    this.lane = this.makeLane()
    this.seen.clear()
    for (const [name, living] of this.cluster) this.seen.set(name, this.seenOf(name, living))
  }

  send(): void {
    for (const sending of this.lane.take(this.now)) {
      const { value } = sending.notice
      if (!sending.isResend) this.sends++
      if (value.kind === 'update') noteSending(this.record, value.uid, this.held(value))
      this.down.push(sending)
    }
    this.mostInFlight = Math.max(this.mostInFlight, this.lane.inFlight)
  }

  held({ name, version, image, uid }: Extract<Word, { kind: 'update' }>): Held {
    return this.heldOf(name, { uid, image, version: Number(version), phase: 0 })
  }

  /** The edge takes the next message. */
  hear(): void {
    const sending = this.down.shift()
    if (sending === undefined) return
    const isOk = this.edge.take(sending.notice.value)
    if (isOk !== undefined) this.up.push({ id: sending.id, isOk })
  }

  /** The bridge takes the edge's next word. */
  answer(): void {
    const word = this.up.shift()
    if (word === undefined) return
    if (!word.isOk) {
      this.lane.refuse(word.id, 'error', this.now)
      return
    }
    const notice = this.lane.acknowledge(word.id)
    if (notice === undefined) return
    const { value } = notice
    if (value.kind === 'update') noteStored(this.record, value.uid, this.held(value))
    else
      for (const uid of noteRemoved(this.record, value.uid, {
        type: 'pod',
        namespace: 'till',
        name: value.name,
      })) {
        const living = this.cluster.get(value.name)
        if (living?.uid === uid) this.offer(this.updateOf(value.name, living))
      }
  }

  /** Everything that is due. */
  round(): void {
    if (this.lane.mustCompare) this.compare()
    this.send()
    while (this.down.length > 0) this.hear()
    while (this.up.length > 0) this.answer()
  }

  /** Until nothing is left to do. @returns how long that took */
  calm(): number {
    const from = this.now
    if (!this.isConnected) this.connect()
    const isBusy = () => this.lane.messages > 0 || this.lane.mustCompare
    for (let count = 0; isBusy() && count < 2000; count++) {
      this.round()
      if (this.lane.messages > 0) this.now += 1000
    }
    return this.now - from
  }
}

const name = fc.constantFrom(...NAMES)
const about = (weight: number, what: string) => ({
  weight,
  arbitrary: name.map((name): readonly [string, string] => [what, name]),
})
const step = fc.oneof(
  ...[about(4, 'set'), about(1, 'status'), about(3, 'remove'), about(1, 'stubborn')],
  ...[about(6, 'send'), about(6, 'hear'), about(5, 'answer'), about(1, 'round')],
  ...[about(1, 'cut'), about(2, 'connect'), about(1, 'restart'), about(1, 'edge restart')],
  ...[about(1, '5 s'), about(1, '30 s')],
)

const run = (play: Play, [what, name]: readonly [string, string]): void => {
  if (what === 'set') play.set(name, false)
  else if (what === 'status') play.set(name, true)
  else if (what === 'remove') play.remove(name)
  else if (what === 'send') play.send()
  else if (what === 'hear') play.hear()
  else if (what === 'answer') play.answer()
  else if (what === 'round') play.round()
  else if (what === 'cut') play.cut()
  else if (what === 'connect') play.connect()
  else if (what === 'restart') play.restart()
  else if (what === 'edge restart') {
    play.cut()
    play.edge.restart()
  } else if (what === 'stubborn') play.edge.stubborn.set(name, 6)
  else play.now += what === '5 s' ? 5_000 : 30_000
}

/** Words that say less than what the edge had heard of that object: an older state, or any after its end. */
const backwards = (heard: readonly Word[]): readonly Word[] => {
  const last = new Map<string, number>()
  return heard.filter(word => {
    const now = word.kind === 'delete' ? Infinity : word.image
    const before = last.get(word.uid) ?? 0
    last.set(word.uid, Math.max(now, before))
    return now < before
  })
}

t.test('after any events the edge ends up with what the cluster has', t => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), steps => {
      const play = new Play()
      for (const one of steps) run(play, one)
      const tookMs = play.calm()
      t.equal(play.lane.messages, 0, 'nothing waits for ever')
      t.ok(tookMs <= 10 * 60_000, 'nor long')
      const wanted = [...play.cluster].map(([name, { uid, image }]) => [name, { uid, image }])
      t.strictSame([...play.edge.rows].sort(), wanted.sort(), 'nothing is lost')
      t.strictSame(
        [...play.edge.running].sort(),
        [...play.cluster.values()].map(({ uid, image }) => [uid, image]).sort(),
        'and nothing runs that is gone',
      )
      t.strictSame([...play.record.keys()].sort(), [...play.edge.running.keys()].sort())
      t.strictSame(backwards(play.edge.heard), [], 'in the order of each object')
      t.ok(play.mostInFlight <= 2, 'no more than the window at a time')
      const before = play.sends
      play.connect()
      play.calm()
      t.equal(play.sends, before, 'another connection finds nothing to send')
      for (const name of play.cluster.keys()) play.set(name, true)
      play.connect()
      play.calm()
      t.equal(play.sends, before, 'nor is what edges report sent back to them')
    }),
    { numRuns: 300 },
  )
  t.end()
})
