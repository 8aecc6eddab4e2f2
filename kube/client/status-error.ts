// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, type StatusCause, type StatusDetails } from '../../core/errors.js'
import { retryAfterOf } from './retry-after.js'

/** A server's error message goes into logs, conditions and Events: it must not fill them. */
const MAX_MESSAGE = 4_096
const MAX_CAUSES = 100

/** True for lists too. */
export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : ''

const causeOf = (raw: unknown): StatusCause => {
  const { reason, message, field } = isRecord(raw) ? raw : {}
  return {
    reason: text(reason),
    message: text(message),
    ...(typeof field === 'string' ? { field: text(field) } : {}),
  }
}

const detailsOf = (raw: unknown): StatusDetails | undefined => {
  if (!isRecord(raw)) return undefined
  const { causes } = raw
  const words = ['name', 'group', 'kind', 'uid'].filter(key => typeof raw[key] === 'string')
  return Object.freeze({
    ...Object.fromEntries(words.map(key => [key, text(raw[key])])),
    ...(Array.isArray(causes)
      ? { causes: Object.freeze(causes.slice(0, MAX_CAUSES).map(causeOf)) }
      : {}),
  })
}

/** A `Status` as it arrived; fields that are not what the API promises are left out. */
interface ReadStatus {
  readonly code: number | undefined
  readonly reason: string
  readonly message: string
  readonly details: StatusDetails | undefined
  readonly retryAfterMs: number | undefined
  readonly isFromApi: boolean
}

const readStatus = (raw: Readonly<Record<string, unknown>>): ReadStatus => {
  const { code, details } = raw
  return {
    code: typeof code === 'number' ? code : undefined,
    reason: text(raw['reason']),
    message: text(raw['message']),
    details: detailsOf(details),
    retryAfterMs: isRecord(details) ? retryAfterOf(details['retryAfterSeconds']) : undefined,
    isFromApi: raw['kind'] === 'Status',
  }
}

const parseStatus = (body: string): ReadStatus => {
  let raw: unknown
  try {
    raw = JSON.parse(body)
  } catch {
    // Not a Status: a proxy in between, or an apiserver that is not up yet. Its first words are better than nothing.
  }
  if (isRecord(raw)) return readStatus(raw)
  return readStatus({ message: body.trim().slice(0, 200) })
}

/** The error in an ERROR event of a watch. */
export const watchError = (
  what: string,
  object: Readonly<Record<string, unknown>>,
): KubeStatusError => {
  const { code: status = 500, ...rest } = readStatus(object)
  return new KubeStatusError(`watch of ${what}`, { ...rest, status })
}

/**
 * What a kube-apiserver says with 429 before it looks at a request: its only refusal of a resource that is not a `Status`. A rate
 * limiter on the way may use the same words.
 */
const TOO_MANY = 'Too many requests, please try again later.'

/**
 * The error of a response without a 2xx status.
 * @param answer `phrase` is the HTTP status text, for a body without a reason; `retryAfterMs` is of the header and
 * wins over the body's; `body` is text, or a `Status` that was not JSON.
 */
export const answerError = (
  request: string,
  answer: {
    readonly status: number
    readonly phrase: string
    readonly retryAfterMs: number | undefined
    readonly body: string | Readonly<Record<string, unknown>>
  },
): KubeStatusError => {
  const { body } = answer
  const isText = typeof body === 'string'
  const read = isText ? parseStatus(body) : readStatus(body)
  return new KubeStatusError(request, {
    ...read,
    status: answer.status,
    isFromApi: read.isFromApi || (answer.status === 429 && isText && body.trim() === TOO_MANY),
    reason: read.reason === '' ? answer.phrase : read.reason,
    retryAfterMs: answer.retryAfterMs ?? read.retryAfterMs,
  })
}
