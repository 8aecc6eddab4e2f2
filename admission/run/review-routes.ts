// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { EdgeHealthError, InvalidInputError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { parseJson } from '../../core/parse.js'
import { ByteBudget, OverBudgetError } from '../../net/byte-budget.js'
import { readWhole } from '../../net/read-whole.js'
import { endOf, type AddressSources } from '../../net/sources.js'
import { reviewPaths, type ReviewPath } from '../model/decide.js'
import { unchanged } from '../model/decision.js'
import { answerReview, parseReview, type Review } from '../model/review.js'
import type { RefusalStatus, ReviewCounters } from './review-counters.js'
import type { Reviewer } from './reviewer.js'

export interface ReviewRoutesSeams {
  readonly reviewer: Pick<Reviewer, 'decide'>
  readonly counters: ReviewCounters
  readonly sources: AddressSources
  readonly log: Logger
  readonly clock: Clock
}

/** The apiserver's own limit for requests. */
const MAX_BODY_BYTES = 3 << 20
/** Values, each of which may take many times its bytes once parsed. A review of 10 000 addresses has some 90 000. */
const MAX_VALUES = 500_000
/** A value follows each of these, also in texts, which counts some too many. */
const BEFORE_VALUE: ReadonlySet<number> = new Set(Buffer.from(',[{'))
const BUDGET = { total: 24 << 20, perSource: 12 << 20 }

/** Ends a request with a status and a reason. */
class Refused extends EdgeHealthError {
  readonly status: RefusalStatus
  constructor(status: RefusalStatus, reason: string) {
    super('INVALID_INPUT', reason)
    this.status = status
  }
}

const tooLarge = (): Refused =>
  new Refused(413, `a review must have at most ${MAX_BODY_BYTES} bytes`)

/** @throws Refused 413 */
const checkSize = (body: Buffer): void => {
  let values = 0
  for (const byte of body) if (BEFORE_VALUE.has(byte)) values++
  if (values > MAX_VALUES) throw new Refused(413, `a review must have at most ${MAX_VALUES} values`)
}

const pathOf = ({ method, url = '/' }: IncomingMessage): ReviewPath => {
  const asked = url.split('?', 1)[0]
  const path = reviewPaths.find(each => each === asked)
  if (path === undefined) throw new Refused(404, `reviews go to one of ${reviewPaths.join(', ')}`)
  if (method !== 'POST') throw new Refused(405, 'a review must be a POST')
  return path
}

/** Parameters such as `charset=utf-8` may follow; JSON is always UTF-8. */
const checkType = ({ headers }: IncomingMessage): void => {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  if (type.trim().toLowerCase() !== 'application/json')
    throw new Refused(415, 'a review must be application/json')
}

const statusOf = (error: unknown): RefusalStatus => {
  if (error instanceof Refused) return error.status
  if (error instanceof InvalidInputError) return 400
  return error instanceof OverBudgetError ? 503 : 500
}

const send = (response: ServerResponse, status: number, type: string, text: string): void => {
  const body = Buffer.from(text)
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length })
  response.end(body)
}

const readReview = async (
  request: IncomingMessage,
  key: string,
  budget: ByteBudget,
): Promise<Review> => {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge()
  const hold = budget.open({ key, isMember: false }, () => request.destroy())
  try {
    const body = await readWhole(request, MAX_BODY_BYTES, tooLarge, hold)
    checkSize(body)
    return parseReview(parseJson('the body', body.toString('utf8')))
  } finally {
    hold.free()
  }
}

/** The response as text. After a bug of ours the write passes. */
const decide = async (
  { path, review, source }: { path: ReviewPath; review: Review; source: string },
  { reviewer, counters, log }: ReviewRoutesSeams,
): Promise<string> => {
  try {
    const decision = await reviewer.decide(path, review, source)
    const text = JSON.stringify(answerReview(review, decision))
    counters.decided(path, decision)
    return text
  } catch (error) {
    log.error('bug: a review failed', { path, error: reasonOf(error) })
    counters.failed(path)
    return JSON.stringify(answerReview(review, unchanged('not-ours')))
  }
}

const refuse = (
  request: IncomingMessage,
  response: ServerResponse,
  error: unknown,
  { counters, log }: ReviewRoutesSeams,
): void => {
  const status = statusOf(error)
  counters.refused(status)
  // The client was disconnected or has left.
  if (response.headersSent || response.socket === null || response.socket.destroyed) return
  // The rest of the body is not read.
  if (!request.complete) response.setHeader('Connection', 'close')
  const reason = status === 500 ? 'internal error' : reasonOf(error)
  if (status === 500) log.error('bug: a request failed', { error: reasonOf(error) })
  send(response, status, 'text/plain; charset=utf-8', `${reason}\n`)
}

/**
 * Answers the apiserver's reviews. A request that is not a review gets a status and one line. Every review is answered: the
 * write passes, or its writer is told why not.
 */
export const reviewRoutes = (seams: ReviewRoutesSeams): RequestListener => {
  const { sources, counters, clock, log } = seams
  const budget = new ByteBudget(BUDGET)

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const beganAt = clock.now()
    try {
      const path = pathOf(request)
      checkType(request)
      const source = sources.keyOf(endOf(request.socket))
      const review = await readReview(request, source, budget)
      send(response, 200, 'application/json', await decide({ path, review, source }, seams))
      counters.durations.add((clock.now() - beganAt) / 1_000)
    } catch (error) {
      refuse(request, response, error, seams)
    }
  }

  return (request, response) =>
    void answer(request, response).catch((error: unknown) => {
      log.error('bug: an answer failed', { error: reasonOf(error) })
      response.destroy()
    })
}
