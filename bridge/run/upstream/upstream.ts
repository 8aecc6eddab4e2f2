// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import type { Logger } from '../../../core/log.js'
import { RareLog } from '../../../core/rare-log.js'
import type { NodeLink } from '../../hub/node-link.js'
import type { Task } from '../../model/lane/upstream-lanes.js'
import { UpstreamTurns, type Turn } from '../../model/lane/upstream-turns.js'
import type { Message, Stamp } from '../../model/message/message.js'
import { parseMessage } from '../../model/message/parse.js'
import { errorReply } from '../../model/message/reply.js'
import { objectKey } from '../../model/resource/resource.js'
import type { Upstream as What, UpstreamRoute } from '../../model/route/upstream.js'
import type { Request } from './call.js'
import type { UpstreamCounters } from './counters.js'
import type { Executor } from './executor.js'

export interface UpstreamSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly executor: Pick<Executor, 'execute' | 'serverTime'>
  readonly counters: UpstreamCounters
}

/** Memory of a queued request besides its frame. */
const REQUEST_BYTES = 512
/** Longer keys belong to no valid object. */
const MAX_KEY = 1_024

/**
 * All queued requests together. Beyond it each node that has some is not read until half of its own are done, so only those
 * whose requests do not come to an end are held for longer.
 */
const MAX_BYTES = 96 << 20

/** A queued request. Its frame is kept as text: a parsed one may take thirty times the memory. */
type Queued = Omit<Request, 'message'> & { readonly frame: string }

type Asked = Extract<What, { readonly kind: 'request' | 'special' }>

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
 * not read until half of them are done, and of one that does not read its answers only Leases run; other nodes are not
 * affected.
 */
export class Upstream {
  readonly #seams: UpstreamSeams
  readonly #rareLog: RareLog
  readonly #turns = new UpstreamTurns<Queued>()
  readonly #links = new Map<NodeName, NodeLink>()
  #running = 0

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
      ...{ lane, key: keyOf(what, message), bytes: REQUEST_BYTES + frame.length },
      isAgents: isAgents(what),
      value: {
        ...{ node, frame, route: what.route, arrivedAt: clock.now() },
        servedAt: executor.serverTime(),
        resource: what.kind === 'request' ? what.resource : undefined,
      },
    }
    const dropped = this.#turns.push(node, task)
    if (dropped.length > 0) counters.dropped.add('event', dropped.length)
    if (this.#isFull(node)) link.hold('lane')
    this.#pump()
  }

  #isFull(node: NodeName): boolean {
    const lanes = this.#turns.lanesOf(node)
    return lanes?.isFull === true || (lanes?.isIdle === false && this.#turns.bytes > MAX_BYTES)
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
    if (link?.isBehind === true) this.#turns.pause(node)
  }

  #ended(turn: Turn<Queued>): void {
    this.#turns.done(turn)
    this.#running--
    if (this.#turns.lanesOf(turn.node)?.mayResume !== false)
      this.#links.get(turn.node)?.release('lane')
    this.#pump()
  }

  #stamp(): Stamp {
    return { id: randomUUID(), at: this.#seams.clock.wall() }
  }
}
