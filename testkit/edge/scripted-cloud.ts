// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { isMap, type JsonMap } from '../../core/json.js'
import { decodeFrame, encodeFrame, makeFrame, type Frame } from './frame.js'
import type { CloudEnd, MemoryCloud } from './memory-link.js'

/** The content of an answer; undefined: no answer. */
type Script = (frame: Frame) => { operation?: string; content: unknown } | undefined

/** A frame that came, as text too, and when (ms of the clock). */
interface Came {
  readonly at: number
  readonly text: string
  readonly frame: Frame
}

const status = (code: number, reason: string): JsonMap => ({
  Object: null,
  Err: { ErrStatus: { metadata: {}, status: 'Failure', code, reason, message: reason } },
})

const NOT_FOUND = status(404, 'NotFound')
const CONFLICT = status(409, 'Conflict')
const EXISTS = status(409, 'AlreadyExists')

/**
 * A cloud for one edge in memory: knows one Node and one Lease, answers what a script does not, and notes what came.
 */
export class ScriptedCloud implements MemoryCloud {
  readonly came: Came[] = []
  readonly #clock: Clock
  readonly #objects = new Map<string, JsonMap>()
  /** Asked first; what it leaves open is answered as a good cloud does. */
  script: (frame: Frame) => ReturnType<Script> | 'default' = () => 'default'
  /** A reason refuses connections. */
  refuses: string | undefined
  dials = 0
  #end: CloudEnd | undefined
  #version = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  accept(end: CloudEnd): string | undefined {
    this.dials++
    if (this.refuses === undefined) this.#end = end
    return this.refuses
  }

  received(end: CloudEnd, text: string): void {
    const frame = decodeFrame(text)!
    this.came.push({ at: this.#clock.now(), text, frame })
    const scripted = this.script(frame)
    const reply = scripted === 'default' ? this.#answer(frame) : scripted
    if (reply === undefined) return
    const { operation = 'response', content } = reply
    const route = { source: 'edgecontroller', group: 'resource', operation }
    const parts = { content, wall: this.#clock.wall(), parent: frame.header.msg_id }
    end.send(encodeFrame(makeFrame({ ...route, resource: frame.route.resource ?? '' }, parts)))
  }

  /** Send a message that answers nothing. @returns its id */
  push(operation: string, resource: string, content: unknown, group = 'resource'): string {
    const route = { source: 'edgecontroller', group, operation, resource }
    const frame = makeFrame(route, { content, wall: this.#clock.wall() })
    this.#end?.send(encodeFrame(frame))
    return frame.header.msg_id
  }

  /** End the connection. */
  cut(reason = 'reset'): void {
    this.#end?.end(reason)
  }

  /** Write an object as somebody else would. */
  put(resource: string, object: JsonMap): void {
    this.#objects.set(resource, object)
  }

  /** Frames of one operation on one resource. */
  of(operation: string, resource?: string): readonly Came[] {
    return this.came.filter(
      ({ frame: { route } }) =>
        route.operation === operation && (resource === undefined || route.resource === resource),
    )
  }

  #answer({ route, content }: Frame): ReturnType<Script> {
    const { operation = '', resource = '' } = route
    const [, type = ''] = resource.split('/')
    if (type === 'nodepatch' || type === 'podpatch') return { content: { Object: {}, Err: null } }
    if (operation === 'delete') return { content: 'OK' }
    if (type !== 'lease' && type !== 'node') return undefined
    const present = this.#objects.get(resource)
    if (operation === 'query')
      return { content: present === undefined ? NOT_FOUND : { Object: present, Err: null } }
    if (operation === 'insert' && present !== undefined) return { content: EXISTS }
    if (operation !== 'insert' && operation !== 'update') return undefined
    return { content: this.#write(resource, present, isMap(content) ? content : {}) }
  }

  #write(resource: string, present: JsonMap | undefined, body: JsonMap): JsonMap {
    const metadata = isMap(body['metadata']) ? body['metadata'] : {}
    const { metadata: old } = present ?? {}
    const isStale = isMap(old) && old['resourceVersion'] !== metadata['resourceVersion']
    if (isStale) return CONFLICT
    const resourceVersion = `${++this.#version}`
    const stored = { ...body, metadata: { ...metadata, uid: `uid-${resource}`, resourceVersion } }
    this.#objects.set(resource, stored)
    return { Object: stored, Err: null }
  }
}
