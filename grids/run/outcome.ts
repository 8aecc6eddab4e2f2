// SPDX-License-Identifier: Apache-2.0
import {
  CredentialsError,
  KubeStatusError,
  KubeUnreachableError,
  reasonOf,
  WithheldError,
} from '../../core/errors.js'

/** The outcome of one operation. */
export type Outcome =
  | {
      readonly kind: 'done'
      /** The object's version after the write; undefined when the server does not say, or nothing was stored. */
      readonly version: string | undefined
    }
  /** The server refuses it for good; this concerns only this child. */
  | {
      readonly kind: 'refused'
      readonly reason: 'Refused' | 'NameTaken'
      readonly message: string
      /** HTTP status; undefined when the object was created and removed again. */
      readonly status?: number
    }
  /** The object has changed since the decision: decide again. */
  | { readonly kind: 'stale'; readonly message: string }
  /** What the decision was based on no longer holds: nothing was sent. */
  | { readonly kind: 'withheld'; readonly message: string }
  /** The server cannot be written to now. */
  | {
      readonly kind: 'unavailable'
      readonly message: string
      readonly retryAfterMs: number | undefined
      /** The failure may concern only this object, such as that of a webhook. */
      readonly isPerhapsItsOwn?: boolean
    }

export const done = (version?: string): Outcome => ({ kind: 'done', version })

/** A conflict about managed fields, not about the version: somebody else owns them. */
const isFieldConflict = ({ details }: KubeStatusError): boolean =>
  details?.causes?.some(({ reason }) => reason === 'FieldManagerConflict') ?? false

/**
 * How the apiserver's answer to an apply begins when a field of the template has a wrong type, does not exist, or is there
 * twice. It says 500, though a repetition gets the same answer.
 */
const WRONG_FIELD =
  /^failed to (create typed patch object|convert new object) \([^)]*\)( to proper version: unable to convert [^:]*)?: /

const statusOutcome = (error: KubeStatusError): Outcome => {
  const { status, said, reason, retryAfterMs } = error
  const message = said === '' ? `${status} ${reason}` : said
  if (status === 409 && isFieldConflict(error))
    return {
      kind: 'refused',
      reason: 'NameTaken',
      message: `somebody else has created it: ${message}`,
      status,
    }
  if (status === 409) return { kind: 'stale', message }
  if (status === 500 && WRONG_FIELD.test(message)) {
    const why = message.replace(WRONG_FIELD, '')
    return {
      kind: 'refused',
      reason: 'Refused',
      message: `the template is invalid: ${why}`,
      status,
    }
  }
  if (status === 401 || status === 408 || status === 429 || status >= 500)
    return {
      ...{ kind: 'unavailable', message: reasonOf(error), retryAfterMs },
      isPerhapsItsOwn: status === 500 && retryAfterMs === undefined,
    }
  return { kind: 'refused', reason: 'Refused', message, status }
}

/** @throws what is neither the server's answer nor a request that failed: a bug. */
export const outcomeOf = (error: unknown, signal: AbortSignal): Outcome => {
  if (signal.aborted || error instanceof WithheldError)
    return { kind: 'withheld', message: reasonOf(error) }
  if (error instanceof KubeStatusError) return statusOutcome(error)
  if (error instanceof KubeUnreachableError || error instanceof CredentialsError)
    return { kind: 'unavailable', message: reasonOf(error), retryAfterMs: undefined }
  throw error
}
