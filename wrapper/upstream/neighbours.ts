// SPDX-License-Identifier: Apache-2.0
import { KnownVersion } from '../../kube/client/known-version.js'
import { listWatch } from '../../kube/client/list-watch.js'
import type { WatchOptions } from '../../kube/client/watch-options.js'
import type { Watching } from '../../kube/client/watching.js'
import { nameIn, NODE_ROWS, NodeRowsPoll, type NodeRowsSeams, rowsQuery } from './node-rows.js'

/** Receives the names of all nodes that have `value` for a label. */
export type TakeNeighbours = (label: string, value: string, names: ReadonlySet<string>) => void

/** How the nodes that share a label's value are found, for `/status`. */
export interface NeighboursStatus {
  readonly label: string
  readonly value: string
  readonly how: 'watched' | 'polled'
  /** The last error as text; undefined since the last success. */
  readonly trouble: string | undefined
}

/**
 * Each node reports every five minutes, which costs a watch 0.5 kB: 13 MB a day for this many. More of them are polled
 * instead, at 10 kB per list.
 */
const MOST_WATCHED = 100
/** A list is as cheap as an hour's bookmarks, each of which repeats all column names. */
const WATCH: WatchOptions = {
  bookmarks: false,
  fromCache: true,
  watchMs: 3_600_000,
  spreadMs: 10_000,
}
const POLL_MS = 120_000

interface NeighbourhoodSeams extends NodeRowsSeams {
  /** The newest known version of Nodes, from lists for any label. */
  readonly known: KnownVersion
}

/** The nodes that share one value of one label with this node: watched while they are few, polled while they are many. */
class Neighbourhood {
  readonly label: string
  readonly value: string
  readonly #seams: NeighbourhoodSeams
  readonly #take: TakeNeighbours
  readonly #names = new Set<string>()
  #watching: Watching | undefined
  #poll: NodeRowsPoll | undefined
  #isStopped = false
  /** Watches and polls that are being stopped. */
  readonly #ends = new Set<Promise<void>>()

  constructor(label: string, value: string, seams: NeighbourhoodSeams, take: TakeNeighbours) {
    this.label = label
    this.value = value
    this.#seams = seams
    this.#take = take
    this.#watch()
  }

  get status(): NeighboursStatus {
    const { label, value } = this
    const isPolled = this.#poll !== undefined
    const trouble = isPolled ? this.#poll?.trouble : this.#watching?.status.trouble
    return { label, value, how: isPolled ? 'polled' : 'watched', trouble }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#end(this.#watching)
    this.#end(this.#poll)
    await Promise.all(this.#ends)
  }

  get #selector(): string {
    return `${this.label}=${this.value}`
  }

  #watch(): void {
    const spec = {
      ...NODE_ROWS,
      what: `nodes with ${this.#selector}`,
      query: rowsQuery(this.#selector),
      parse: nameIn,
      known: this.#seams.known,
      sink: {
        replace: (names: readonly string[]) => this.#replace(names),
        upsert: (name: string) => this.#add(name),
        remove: (name: string) => this.#remove(name),
      },
    }
    this.#watching = listWatch(spec, this.#seams, WATCH)
  }

  #startPoll(): void {
    const { label, value } = this
    const poll = {
      what: label,
      labelSelector: `${label}=${value}`,
      everyMs: POLL_MS,
      isUrgent: false,
      known: this.#seams.known,
    }
    this.#poll = new NodeRowsPoll(poll, this.#seams, rows => this.#replace(rows.map(nameIn)))
  }

  #replace(names: readonly string[]): void {
    this.#names.clear()
    for (const name of names) this.#names.add(name)
    this.#report()
  }

  /** A report of a known node changes nothing. */
  #add(name: string): void {
    if (this.#names.has(name)) return
    this.#names.add(name)
    this.#report()
  }

  #remove(name: string): void {
    if (this.#names.delete(name)) this.#report()
  }

  #report(): void {
    if (this.#isStopped) return
    this.#take(this.label, this.value, new Set(this.#names))
    this.#choose()
  }

  /**
   * Hysteresis: between the two numbers nothing changes, so that one node that comes and goes does not switch it each time.
   */
  #choose(): void {
    const { size } = this.#names
    if (this.#poll === undefined && size > MOST_WATCHED) {
      this.#end(this.#watching)
      this.#watching = undefined
      this.#startPoll()
    } else if (this.#poll !== undefined && size <= MOST_WATCHED / 2) {
      this.#end(this.#poll)
      this.#poll = undefined
      this.#watch()
    }
  }

  #end(what: Watching | NodeRowsPoll | undefined): void {
    const ended = what?.stop()
    if (ended === undefined) return
    this.#ends.add(ended)
    void ended.then(() => this.#ends.delete(ended))
  }
}

/** Finds the nodes that share a label's value with this node, for the labels in Services' topology keys. */
export class Neighbours {
  readonly #seams: NeighbourhoodSeams
  readonly #take: TakeNeighbours
  readonly #all = new Map<string, Neighbourhood>()
  readonly #ends = new Set<Promise<void>>()
  #isStopped = false

  constructor(seams: NodeRowsSeams, take: TakeNeighbours) {
    this.#seams = { ...seams, known: new KnownVersion() }
    this.#take = take
  }

  get status(): readonly NeighboursStatus[] {
    return [...this.#all.values()].map(({ status }) => status)
  }

  /** From now on follow exactly these. @param wanted labels, with this node's values */
  want(wanted: ReadonlyMap<string, string>): void {
    if (this.#isStopped) return
    for (const [label, one] of this.#all) if (wanted.get(label) !== one.value) this.#end(label, one)
    for (const [label, value] of wanted)
      if (!this.#all.has(label))
        this.#all.set(label, new Neighbourhood(label, value, this.#seams, this.#take))
  }

  /** Resolves when all connections are closed. May be called twice. */
  async stop(): Promise<void> {
    this.#isStopped = true
    for (const [label, one] of this.#all) this.#end(label, one)
    await Promise.all(this.#ends)
  }

  #end(label: string, one: Neighbourhood): void {
    this.#all.delete(label)
    const ended = one.stop()
    this.#ends.add(ended)
    void ended.then(() => this.#ends.delete(ended))
  }
}
