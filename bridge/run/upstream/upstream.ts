// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import { reasonOf, type KubeStatus } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import { RareLog } from '../../../core/rare-log.js'
import type { NodeLink } from '../../hub/node-link.js'
import type { Task } from '../../model/lane/upstream-lanes.js'
import { UpstreamTurns, type Turn } from '../../model/lane/upstream-turns.js'
import type { Message, Stamp } from '../../model/message/message.js'
import { parseMessage } from '../../model/message/parse.js'
import { errorReply, refusalReply } from '../../model/message/reply.js'
import { objectKey } from '../../model/resource/resource.js'
import type { Upstream as What, UpstreamRoute } from '../../model/route/upstream.js'
import type { Request } from './call.js'
import type { UpstreamCounters } from './counters.js'
import type { Executor } from './executor.js'

export interface UpstreamSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly executor: Pick<Executor, 'execute' | 'lateness' | 'serverTime'>
  readonly counters: UpstreamCounters
}

/** Memory of a queued request besides its frame. */
const REQUEST_BYTES = 512
/** Longer keys belong to no valid object. */
const MAX_KEY = 1_024

/** All queued requests together. Beyond it a node with more than its share is not read, and a larger request is not queued. */
const MAX_BYTES = 96 << 20
/** More than nodes ask for at a time, so that only those who fill the room are held when it is full. */
const SHARE_BYTES = 64 << 10
const NO_ROOM: KubeStatus = {
  ...{ status: 503, reason: 'ServiceUnavailable', message: 'too many requests wait' },
}

/** How often it is checked what has waited too long behind answers that are not read. */
const CHECK_MS = 5_000

/** A queued request. Its frame is kept as text: a parsed one may take thirty times the memory. */
type Queued = Omit<Request, 'message'> & { readonly frame: string }

type Asked = Extract<What, { readonly kind: 'request' | 'special' }>

/** Memory of a frame's text: one character that is not Latin-1 makes each take two bytes. */
const memoryOf = (frame: string): number => frame.length * (/[\u0100-\uffff]/.test(frame) ? 2 : 1)

/** Messages that start or end watches must stay in order. */
const WATCHES = 'sync-watches'

/** Agents' requests are in order per object, or per kind; those that cannot be parsed are refused later. */
const applicationKey = ({ content }: Message): string => {
  const { Verb, Key }: JsonMap = isMap(content) ? content : {}
  if (Verb === 'watch') return WATCHES
  return `application ${typeof Key === 'string' ? Key.slice(0, MAX_KEY) : ''}`
}

/** Requests that name no object are in one queue. */
const keyOf = (what: Asked, message: Message): string => {
  if (what.kind === 'request') return objectKey(what.resource)
  const { handler } = what.route
  return handler === 'application' ? applicationKey(message) : handler
}

const isAgents = ({ route: { handler } }: Asked): boolean =>
  handler === 'application' || handler === WATCHES

/**
 * Edges' requests: queued per node and object, Leases first, nodes in round-robin. A node with too many queued requests is
 * not read until half of them are done, and of one that does not read its answers only Leases run, and what waits too long
 * is refused; other nodes are not affected.
 */
export class Upstream {
  readonly #seams: UpstreamSeams
  readonly #rareLog: RareLog
  readonly #turns = new UpstreamTurns<Queued>()
  readonly #links = new Map<NodeName, NodeLink>()
  #running = 0
  #cancelCheck: (() => void) | undefined

  constructor(seams: UpstreamSeams) {
    this.#seams = seams
    this.#rareLog = new RareLog(seams.clock, seams.log)
  }

  /** Requests that run now. */
  get running(): number {
    return this.#running
  }

  /** Queued requests. */
  get waiting(): number {
    return this.#turns.waiting
  }

  connected(link: NodeLink): void {
    this.#links.set(link.node, link)
    // Requests of an earlier connection are still queued.
    if (this.#isFull(link.node)) link.hold('lane')
  }

  /** The node reads its answers again. */
  caughtUp({ node }: NodeLink): void {
    this.#turns.resume(node)
    this.#pump()
    if (this.#turns.paused.size > 0) return
    this.#cancelCheck?.()
    this.#cancelCheck = undefined
  }

  ended(link: NodeLink): void {
    if (this.#links.get(link.node) !== link) return
    this.#links.delete(link.node)
    this.caughtUp(link)
  }

  received(link: NodeLink, message: Message, what: What, frame: string): void {
    const { counters, log } = this.#seams
    const { node } = link
    switch (what.kind) {
      case 'request':
      case 'special':
        this.#push(link, { message, what, frame })
        return
      case 'unknown':
        counters.unknown.add('unknown')
        this.#rareLog.warn('unknown', 'an edge sent a request that is not served', {
          node,
          ...what,
        })
        link.send(errorReply(message, this.#stamp(), what.reason))
        return
      case 'ignored':
        counters.unknown.add('ignored')
        log.debug('a message is ignored', { node, reason: what.reason })
        return
      case 'ack':
      case 'control':
      case 'failed':
      case 'keepalive':
    }
  }

  #push(
    link: NodeLink,
    {
      message,
      what,
      frame,
    }: { readonly message: Message; readonly what: Asked; readonly frame: string },
  ): void {
    const { clock, counters, executor } = this.#seams
    const { node } = link
    const { lane } = what.route
    const task: Task<Queued> = {
      ...{ lane, key: keyOf(what, message), bytes: REQUEST_BYTES + memoryOf(frame) },
      isAgents: isAgents(what),
      value: {
        ...{ node, frame, route: what.route, arrivedAt: clock.now() },
        servedAt: executor.serverTime(),
        resource: what.kind === 'request' ? what.resource : undefined,
      },
    }
    const dropped = this.#turns.push(node, task)
    if (dropped.length > 0) counters.dropped.add('event', dropped.length)
    this.#pump()
    if (this.#hasNoRoom(node, task)) this.#refuse({ ...task.value, message }, NO_ROOM)
    if (this.#isFull(node)) link.hold('lane')
  }

  /** @returns whether the request could not run at once, and is not queued either */
  #hasNoRoom(node: NodeName, task: Task<Queued>): boolean {
    if (task.bytes <= SHARE_BYTES || this.#turns.bytes <= MAX_BYTES) return false
    return this.#turns.remove(node, other => other === task) !== undefined
  }

  #isFull(node: NodeName): boolean {
    const lanes = this.#turns.lanesOf(node)
    if (lanes === undefined) return false
    return lanes.isFull || (lanes.bytes > SHARE_BYTES && this.#turns.bytes > MAX_BYTES)
  }

  /** Read the node again if there is room. */
  #readOn(node: NodeName): void {
    if (this.#turns.lanesOf(node)?.mayResume !== false && !this.#isFull(node))
      this.#links.get(node)?.release('lane')
  }

  #pump(): void {
    for (let turn = this.#turns.take(); turn !== undefined; turn = this.#turns.take()) {
      this.#running++
      void this.#run(turn)
    }
  }

  async #run(turn: Turn<Queued>): Promise<void> {
    const { executor, counters, clock, log } = this.#seams
    const { frame, ...value } = turn.task.value
    const { route, arrivedAt } = value
    const message = parseMessage(frame)
    try {
      const { reply, outcome } = await executor.execute({ ...value, message }, () => this.#stamp())
      counters.requests.add(`${route.handler} ${outcome}`)
      if (route.lane === 'lease') counters.leaseSeconds.add((clock.now() - arrivedAt) / 1_000)
      // On the node's present connection, which may be another one: edges match answers by id.
      if (reply !== undefined) this.#answer(turn.node, reply)
    } catch (error) {
      const fields = { node: turn.node, error: reasonOf(error) }
      log.error('bug: a request was not answered', fields)
      this.#bug(turn.node, message, route)
    } finally {
      this.#ended(turn)
    }
  }

  #bug(node: NodeName, message: Message, { reply }: UpstreamRoute): void {
    if (reply !== 'none')
      this.#answer(node, errorReply(message, this.#stamp(), 'the bridge failed'))
  }

  #answer(node: NodeName, reply: Message): void {
    const link = this.#links.get(node)
    link?.send(reply)
    if (link?.isBehind !== true) return
    this.#turns.pause(node)
    if (this.#cancelCheck === undefined) this.#checkAfter(CHECK_MS)
  }

  /** Refuse what has waited too long behind unread answers, one after another, so that others are served meanwhile. */
  #check(): void {
    const isMore = this.#refuseLate()
    this.#cancelCheck = undefined
    if (this.#turns.paused.size > 0) this.#checkAfter(isMore ? 0 : CHECK_MS)
  }

  #checkAfter(ms: number): void {
    this.#cancelCheck = this.#seams.clock.after(ms, () => this.#check())
  }

  /** @returns whether there was such a request */
  #refuseLate(): boolean {
    const { executor } = this.#seams
    for (const node of this.#turns.paused) {
      const late = this.#turns.remove(node, ({ value }) => executor.lateness(value) !== undefined)
      if (late === undefined) continue
      const { frame, ...value } = late.value
      const message = executor.lateness(value) ?? ''
      this.#refuse({ ...value, message: parseMessage(frame) }, { status: 504, reason: 'Timeout', message }) // prettier-ignore
      this.#readOn(node)
      return true
    }
    return false
  }

  /** Answer a request that is not carried out. */
  #refuse({ node, message, route }: Request, refusal: KubeStatus): void {
    this.#seams.counters.requests.add(`${route.handler} failed`)
    const reply = refusalReply(route.reply, message, this.#stamp(), refusal)
    if (reply !== undefined) this.#answer(node, reply)
  }

  #ended(turn: Turn<Queued>): void {
    this.#turns.done(turn)
    this.#running--
    this.#readOn(turn.node)
    this.#pump()
  }

  #stamp(): Stamp {
    return { id: randomUUID(), at: this.#seams.clock.wall() }
  }
}
