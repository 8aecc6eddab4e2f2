// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { reasonOf } from '../../core/errors.js'
import {
  brokenVersion,
  parseListOptions,
  parseVersion,
  parseWatchOptions,
} from '../../kube/server/list-options.js'
import { notFound, Refusal, type Subject } from '../../kube/server/status.js'
import { servedBytes } from '../store/stored.js'
import type { Store } from '../store/store.js'
import { isOurs } from '../store/versions.js'
import { takesGzip } from './accept.js'
import type { Format } from './formats.js'
import { exactVersion, pageOf, select, stateOf } from './lists.js'
import type { ReadRequest } from './read-request.js'
import { parseSelection } from './selection.js'
import { sendChunks, sendWhole } from './send.js'
import { endAtStandstill } from './standstill.js'
import type { StoreWaits } from './store-waits.js'
import { keyOf, type Target } from './target.js'
import type { Watches } from './watches.js'

/** A read that is answered from the store, in an encoding that was negotiated. */
export interface Asked extends ReadRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly format: Format
  readonly signal: AbortSignal
}

/** Numbers of answers, since the start. */
export interface AnswerCounts {
  gets: number
  lists: number
  watches: number
}

interface AnswersSeams {
  readonly clock: Clock
  readonly store: Store
  readonly waits: StoreWaits
  readonly watches: Watches
  readonly counts: AnswerCounts
}

const subjectOf = ({ row: { group, resource, kind } }: Target): Subject => ({
  group,
  resource,
  kind,
})

/** The reason in the Status of a failure that is ours. */
export const INTERNAL = 'InternalError'
export const internal = (why = 'internal error'): Refusal => new Refusal(500, INTERNAL, why)

/**
 * Encode objects; an object that cannot be encoded is named.
 * @throws Refusal 500
 */
const encoded = <T>({ row }: Target, key: string, work: () => T): T => {
  try {
    return work()
  } catch (error) {
    throw internal(`${row.resource} ${key} cannot be encoded: ${reasonOf(error)}`)
  }
}

/** Answers gets, lists and watches from the store. */
export class Answers {
  readonly #seams: AnswersSeams

  constructor(seams: AnswersSeams) {
    this.#seams = seams
  }

  /**
   * Read a request's options.
   * @returns the answer, to be sent once the resource was listed. It rejects with a Refusal; a watch reports that as an event.
   * @throws Refusal 400
   */
  prepare(asked: Asked): () => Promise<void> {
    if (asked.isWatch) return this.#watch(asked)
    return asked.target.name === undefined ? this.#list(asked) : this.#get(asked)
  }

  #get(asked: Asked): () => Promise<void> {
    const { target, query, response, format, signal } = asked
    const version = parseVersion(query, brokenVersion) ?? 0
    return async () => {
      await this.#seams.waits.reached(version, target.row.resource, signal)
      const record = this.#seams.store.table(target.row.resource).get(keyOf(target))
      if (record === undefined) throw notFound(subjectOf(target), target.name!)
      this.#seams.counts.gets++
      const body = encoded(target, record.key, () => format.object(servedBytes(record)))
      sendWhole(response, { code: 200, type: format.type }, body)
    }
  }

  #list(asked: Asked): () => Promise<void> {
    const { target, query, request, response, format, signal } = asked
    const chosen = parseSelection(target, query)
    const options = parseListOptions(query)
    return async () => {
      const { version = 0 } = options
      // Whether the store is exactly at one of the apiserver's versions is never known, so do not wait for one.
      if (exactVersion(options) === undefined || isOurs(version))
        await this.#seams.waits.reached(version, target.row.resource, signal)
      if (response.destroyed) return
      const table = this.#seams.store.table(target.row.resource)
      const state = await select(stateOf(table, target, chosen, options), chosen, signal)
      if (signal.aborted) return
      const page = pageOf(state, chosen, options)
      this.#seams.counts.lists++
      let key = ''
      const items = {
        *[Symbol.iterator]() {
          for (const record of page.records) {
            key = record.key
            yield servedBytes(record)
          }
        },
      }
      const chunks = format.list(page, items)[Symbol.iterator]()
      const next = () => encoded(target, key, () => chunks.next())
      const gzip = takesGzip(request.headers['accept-encoding']?.toString())
      const head = { code: 200, type: format.type }
      endAtStandstill(response, request.socket, this.#seams.clock)
      await sendChunks(response, head, { [Symbol.iterator]: () => ({ next }) }, gzip)
    }
  }

  #watch(asked: Asked): () => Promise<void> {
    const { target, query, response, format, signal } = asked
    const chosen = parseSelection(target, query)
    const options = parseWatchOptions(query, true)
    return async () => {
      try {
        if (options.sendsInitial === true)
          await this.#seams.waits.reached(options.version ?? 0, target.row.resource, signal)
        if (response.destroyed) return
        this.#seams.counts.watches++
        this.#seams.watches.open({ target, chosen, options, format }, response)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        // From here on kube-apiserver reports errors as events of the watch.
        sendWhole(response, { code: 200, type: format.streamType }, format.error(error))
      }
    }
  }
}
