// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { isMap, type JsonMap } from '../../core/json.js'
import { textAt, valueAt } from '../../core/json-at.js'
import { makeFrame, type Frame, type Route } from './frame.js'

/** What came of a request to the cloud. */
export type Answer =
  | { readonly kind: 'answered'; readonly frame: Frame }
  | { readonly kind: 'failed'; readonly reason: 'not connected' | 'no answer' }

/** What a part of an edge asks the cloud. */
export type Ask = (
  route: Required<Pick<Route, 'operation' | 'resource'>>,
  content: unknown,
) => Promise<Answer>

/** Requests that wait for their answers; one that comes too late is nobody's. */
export class Requests {
  readonly #clock: Clock
  readonly #timeoutMs: number
  readonly #waiting = new Map<string, (answer: Answer) => void>()
  /** Returns false when there is no connection. */
  readonly #send: (frame: Frame) => boolean

  constructor(clock: Clock, timeoutMs: number, send: (frame: Frame) => boolean) {
    this.#clock = clock
    this.#timeoutMs = timeoutMs
    this.#send = send
  }

  readonly ask: Ask = (route, content) =>
    this.askAs({ source: 'edged', group: 'meta', ...route }, content)

  /** In the name of another part of the edge. */
  readonly askAs = (route: Required<Route>, content: unknown): Promise<Answer> =>
    new Promise(resolve => {
      const frame = makeFrame(route, { content, wall: this.#clock.wall() })
      const id = frame.header.msg_id
      const cancel = this.#clock.after(this.#timeoutMs, () =>
        this.#waiting.get(id)?.({ kind: 'failed', reason: 'no answer' }),
      )
      this.#waiting.set(id, answer => {
        this.#waiting.delete(id)
        cancel()
        resolve(answer)
      })
      if (!this.#send(frame)) this.#waiting.get(id)!({ kind: 'failed', reason: 'not connected' })
    })

  answered(frame: Frame): void {
    const { parent_msg_id: parent = '' } = frame.header
    this.#waiting.get(parent)?.({ kind: 'answered', frame })
  }

  /** The process is gone: nobody waits any more. */
  stop(): void {
    for (const end of [...this.#waiting.values()]) end({ kind: 'failed', reason: 'not connected' })
  }
}

/** An answer as the edge's client of the Kubernetes API understands it. */
export type Outcome =
  /** Null where the cloud named neither an object nor an error. */
  | { readonly ok: true; readonly object: JsonMap | null }
  /** 0: not an answer of the API at all. */
  | { readonly ok: false; readonly code: number }

/** Understand `{Object, Err}`: an `Err` without `ErrStatus` counts as none. */
export const outcomeOf = (answer: Answer): Outcome => {
  if (answer.kind === 'failed') return { ok: false, code: 0 }
  const { content } = answer.frame
  if (!isMap(content)) return { ok: false, code: 0 }
  const status = valueAt(content, 'Err', 'ErrStatus')
  if (isMap(status)) {
    const code = status['code']
    return { ok: false, code: typeof code === 'number' ? code : 0 }
  }
  // A Go error that is no status of the API has no fields: it reads as success.
  if (textAt(content, 'Err') !== '') return { ok: false, code: 0 }
  const { Object: object } = content
  return { ok: true, object: isMap(object) ? object : null }
}
