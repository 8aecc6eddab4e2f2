// SPDX-License-Identifier: Apache-2.0
import { setMaxListeners } from 'node:events'
import { sleep, type Clock } from '../../core/clock.js'
import type { Random } from '../../core/random.js'
import { EDGE_TIMES, type EdgeEvent, type EdgePart, type EdgeTimes } from './edge-part.js'
import { decodeFrame, encodeFrame, makeFrame, type Frame, type Route } from './frame.js'
import { LeaseRenewer } from './lease-renewer.js'
import type { Dial, Link } from './link.js'
import { MetaServer } from './meta-server.js'
import { Pods, type PodsView } from './pods.js'
import { Inbox, Outbox } from './queues.js'
import { Registration } from './registration.js'
import { Requests, type Ask } from './requests.js'
import type { EdgeStore } from './store.js'

export interface EdgeOptions {
  readonly node: string
  /** @default '10.0.0.1' */
  readonly ip?: string
  /** @default as recorded */
  readonly times?: Partial<EdgeTimes>
}

export interface EdgeSeams {
  readonly clock: Clock
  readonly random: Random
  readonly dial: Dial
  /** Outlives the edge: one that is made with the same store is the same machine after a restart. */
  readonly store: EdgeStore
  readonly onEvent?: (event: EdgeEvent) => void
}

/** An edge as it is now. */
export interface EdgeView extends PodsView {
  readonly isConnected: boolean
  readonly isDead: boolean
  /** Messages that the full inbox lost. */
  readonly dropped: number
  /** Messages that wait for the rate at which it may send. */
  readonly waiting: number
  /** Acknowledgements so far, also those that wait to be sent. */
  readonly acks: number
  /** What it was told without having asked, by type. */
  readonly unasked: Readonly<Record<string, number>>
}

const KEEPALIVE: Route = {
  ...{ source: 'websocket', group: 'resource', operation: 'keepalive', resource: 'node' },
}
const MEMBERSHIP: Route = {
  ...{ source: 'twin', group: 'resource', operation: 'get', resource: 'membership/detail' },
}

/** Operations that the edge stores; all others from the cloud it drops without a word. */
const STORED: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'response'])

/** Answers to these are not acknowledged. */
const UNACKNOWLEDGED: ReadonlySet<string> = new Set(['nodepatch', 'podpatch'])

/** One life of an edge's process (edgecore with edged, KubeEdge 1.23), as recorded on the wire. */
export class Edge {
  readonly #seams: EdgeSeams
  readonly #times: EdgeTimes
  readonly #node: string
  readonly #life = new AbortController()
  readonly #outbox: Outbox
  readonly #inbox: Inbox<Frame>
  readonly #requests: Requests
  readonly #pods: Pods
  readonly #part: EdgePart
  /** Its own Kubernetes API. */
  readonly meta: MetaServer
  #link: Link | undefined
  /** Ends the present session. */
  #notice: (() => void) | undefined
  #membership: Frame | undefined
  #acks = 0
  readonly #unasked: Record<string, number> = {}
  #dialled: () => void = () => undefined
  readonly #hasDialled = new Promise<void>(resolve => (this.#dialled = resolve))

  constructor(options: EdgeOptions, seams: EdgeSeams) {
    const { clock, random, store, onEvent = () => undefined } = seams
    // Each of its pods listens to its end.
    setMaxListeners(0, this.#life.signal)
    this.#seams = seams
    this.#node = options.node
    this.#times = { ...EDGE_TIMES, ...options.times }
    const { sendsPerSecond: perSecond, sendBurst: burst, inbox: capacity, storeMs } = this.#times
    this.#outbox = new Outbox(clock, { perSecond, burst })
    this.#inbox = new Inbox(clock, { capacity, storeMs }, frame => this.#handle(frame))
    this.#requests = new Requests(clock, this.#times.requestMs, frame => {
      if (this.#notice === undefined) return false
      this.#outbox.push(encodeFrame(frame))
      return true
    })
    this.#part = {
      ...{ node: options.node, ip: options.ip ?? '10.0.0.1', times: this.#times },
      ...{ clock, random, store, ask: this.#requests.ask, signal: this.#life.signal },
      emit: event => onEvent(event),
    }
    this.#pods = new Pods(this.#part)
    this.meta = new MetaServer(options.node, this.#requests.askAs)
  }

  get view(): EdgeView {
    return {
      isConnected: this.#notice !== undefined,
      isDead: this.#isDead(),
      dropped: this.#inbox.dropped,
      waiting: this.#outbox.waiting,
      acks: this.#acks,
      unasked: { ...this.#unasked },
      ...this.#pods.view,
    }
  }

  /** Ask the cloud, as a part of the edge does. */
  get ask(): Ask {
    return this.#requests.ask
  }

  /** Begin; resolves when the process has ended. */
  async run(): Promise<void> {
    this.#pods.restore()
    const registration = new Registration(this.#part, reason => this.#panic(reason))
    const connecting = this.#connect()
    // The parts that ask begin when the first dial has an end, good or bad.
    await this.#hasDialled
    await Promise.all([
      connecting,
      registration.run(),
      new LeaseRenewer(this.#part).run(),
      this.#repeatMembership(),
    ])
  }

  /** The process is killed: nothing of it goes on, what it stored stays. */
  kill(): void {
    this.#life.abort()
    this.#notice?.()
    this.#link?.reset()
    this.#inbox.stop()
    this.#outbox.halt()
    this.#requests.stop()
  }

  #isDead(): boolean {
    return this.#life.signal.aborted
  }

  #panic(reason: string): void {
    this.#part.emit({ kind: 'panicked', reason })
    this.kill()
  }

  async #connect(): Promise<void> {
    const { clock } = this.#seams
    const { signal } = this.#life
    while (!signal.aborted) {
      const opened = await this.#dialAgain()
      if (opened !== undefined) await this.#session(opened)
      await sleep(clock, this.#times.reconnectMs, signal)
    }
  }

  async #dialAgain(): Promise<Link | undefined> {
    const { clock } = this.#seams
    const { signal } = this.#life
    for (let i = 0; i < this.#times.dials && !signal.aborted; i++) {
      const link = await this.#dial()
      if (link !== undefined) return link
      await sleep(clock, this.#times.redialMs, signal)
    }
    return undefined
  }

  async #dial(): Promise<Link | undefined> {
    const link = await this.#open()
    if (link === undefined) this.#dialled()
    return link
  }

  #open(): Promise<Link | undefined> {
    return new Promise(resolve => {
      const link = this.#seams.dial({
        opened: () => resolve(link),
        refused: reason => {
          this.#part.emit({ kind: 'refused', reason })
          resolve(undefined)
        },
        received: text => {
          if (this.#link === link) this.#received(text)
        },
        // Nothing: the edge notices at its next send.
        ended: () => undefined,
      })
    })
  }

  /** Resolves when the connection is found to be broken. */
  async #session(link: Link): Promise<void> {
    const { clock } = this.#seams
    if (this.#isDead()) {
      link.reset()
      this.#dialled()
      return
    }
    this.#link = link
    const isBroken = new Promise<void>(resolve => (this.#notice = resolve))
    this.#part.emit({ kind: 'connected' })
    const over = new AbortController()
    void this.#keepAlive(link, over.signal)
    this.#membership = makeFrame(MEMBERSHIP, {
      wall: clock.wall(),
      content: JSON.stringify({
        ...{ event_type: 'group_membership_event', event_id: '', group_id: this.#node },
        ...{ operation: 'detail', timestamp: Math.floor(clock.wall()) },
      }),
    })
    this.#outbox.push(encodeFrame(this.#membership))
    this.#outbox.open(text => this.#write(link, text))
    this.#pods.reconnected()
    if (this.meta.watches > 0) this.meta.connected()
    this.#dialled()
    await isBroken
    this.#notice = undefined
    over.abort()
    this.#outbox.halt()
    link.reset()
    if (!this.#isDead()) this.#part.emit({ kind: 'disconnected' })
  }

  #write(link: Link, text: string): boolean {
    const isSent = link.send(text)
    if (!isSent) this.#notice?.()
    return isSent
  }

  async #keepAlive(link: Link, signal: AbortSignal): Promise<void> {
    const { clock } = this.#seams
    do this.#write(link, encodeFrame(makeFrame(KEEPALIVE, { content: 'ping', wall: clock.wall() })))
    while (await sleep(clock, this.#times.keepaliveMs, signal))
  }

  async #repeatMembership(): Promise<void> {
    const { clock } = this.#seams
    while (await sleep(clock, this.#times.membershipMs, this.#life.signal))
      if (this.#membership !== undefined && this.#notice !== undefined)
        this.#outbox.push(encodeFrame(this.#membership))
  }

  #received(text: string): void {
    const frame = decodeFrame(text)
    if (frame === undefined || this.#life.signal.aborted) return
    const { operation } = frame.route
    // The transport answers these itself.
    if (operation === 'ping' || operation === 'config')
      this.#link?.send(encodeFrame(this.#responseTo(frame, 'ack')))
    else this.#inbox.push(frame)
  }

  #responseTo({ header, route }: Frame, content: string): Frame {
    const { source = '', group = '', resource = '' } = route
    return makeFrame(
      { source, group, operation: 'response', resource },
      { content, wall: this.#seams.clock.wall(), parent: header.msg_id },
    )
  }

  #handle(frame: Frame): void {
    const { group, operation = '', resource = '' } = frame.route
    const parent = frame.header.parent_msg_id
    if (resource.includes('membership')) {
      if (parent === this.#membership?.header.msg_id) this.#membership = undefined
      return
    }
    if (group === 'resource' && STORED.has(operation)) {
      this.#store(frame)
      if (parent === undefined) this.meta.received(frame)
    }
    if (parent !== undefined) this.#requests.answered(frame)
  }

  #keepsOld({ route: { operation, resource = '' } }: Frame): boolean {
    const [, type = ''] = resource.split('/')
    // Answers about these are not objects; other answers are stored as they came, errors too.
    if (operation === 'response') return type === 'lease' || type === 'node'
    // A row that is there is not inserted again, and no error is made of it.
    return operation === 'insert' && this.#seams.store.get(resource) !== undefined
  }

  #store(frame: Frame): void {
    const { operation, resource = '' } = frame.route
    const [namespace = '', type = '', name] = resource.split('/')
    const { store } = this.#seams
    if (UNACKNOWLEDGED.has(type)) return
    const isAnswer = operation === 'response'
    if (!isAnswer) this.#unasked[type] = (this.#unasked[type] ?? 0) + 1
    if (operation === 'delete') store.delete(resource)
    else if (!this.#keepsOld(frame)) store.set(resource, frame.content)
    if (type === 'pod' && name === undefined) this.#pods.keepOnly(namespace, frame.content)
    else if (type === 'pod' && !isAnswer) this.#pods.changed(resource, frame)
    this.#acks++
    this.#outbox.push(encodeFrame(this.#responseTo(frame, 'OK')))
  }
}
