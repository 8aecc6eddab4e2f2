// SPDX-License-Identifier: Apache-2.0
import { badRequest, expired, type Refusal } from './status.js'

/** Where a list in pages goes on. */
export interface ContinueToken {
  /** Of the list's first page; 0: from the present state, without promise of consistency. */
  readonly version: number
  /** Key of the last object of the page before. */
  readonly after: string
}

/** Opaque to clients. */
export const encodeToken = (token: ContinueToken): string =>
  Buffer.from(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.version, start: token.after }),
  ).toString('base64url')

/** Undefined for a token that is not of this form. */
export const parseToken = (text: string): ContinueToken | undefined => {
  try {
    const token = JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>
    const { rv, start } = token
    if (typeof rv === 'number' && Number.isSafeInteger(rv) && rv >= 0 && typeof start === 'string')
      return { version: rv, after: start }
  } catch {
    // Not even JSON.
  }
  return undefined
}

/** @throws Refusal 400 for a token that is not of this form. */
export const decodeToken = (text: string): ContinueToken => {
  const token = parseToken(text)
  if (token !== undefined) return token
  throw badRequest('invalid continue token: continue key is not valid: continue token is malformed')
}

/** 410: the version of a token is forgotten; the response holds a token for the rest of the present state. */
export const tokenExpired = ({ after }: ContinueToken): Refusal =>
  expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.',
    { continue: encodeToken({ version: 0, after }) },
  )
