// SPDX-License-Identifier: Apache-2.0
import type { IncomingMessage } from 'node:http'
import { parseToken } from '../../kube/server/continue-token.js'
import { parseFlag } from '../../kube/server/list-options.js'
import { isOurs } from '../store/versions.js'
import { parseSelection } from './selection.js'
import { parseTarget, type Target } from './target.js'

/** A request to read resources that the store has. */
export interface ReadRequest {
  readonly target: Target
  readonly query: URLSearchParams
  readonly isWatch: boolean
}

const splitUrl = (url: string): readonly [path: string, query: string] => {
  const at = url.indexOf('?')
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

/** Requests with impersonation must be authorized by the apiserver. */
const isPlainGet = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && !Object.keys(headers).some(name => name.startsWith('impersonate-'))

/** Undefined for a request that only the apiserver can answer. */
export const parseReadRequest = (request: IncomingMessage): ReadRequest | undefined => {
  const [path, text] = splitUrl(request.url ?? '')
  const target = isPlainGet(request) ? parseTarget(path) : undefined
  if (target === undefined) return undefined
  const query = new URLSearchParams(text)
  const isWatch = target.name === undefined && query.has('watch') && parseFlag(query.get('watch')!)
  return { target, query, isWatch }
}

/** Each object of a list or a watch is held against each requirement; kube-proxy's selector has three. */
const MOST_REQUIREMENTS = 32

const requirementsIn = (selector: string): number => {
  let requirements = 1
  let isInside = false
  for (const char of selector) {
    if (char === '(' || char === ')') isInside = char === '('
    else if (char === ',' && !isInside) requirements++
  }
  return requirements
}

const isTooSelective = ({ target, query }: ReadRequest): boolean =>
  target.name === undefined && requirementsIn(query.get('labelSelector') ?? '') > MOST_REQUIREMENTS

/** Whether the apiserver began this list: its continue token is not ours. */
const isContinuedUpstream = ({ target, query }: ReadRequest): boolean => {
  const text = query.get('continue') ?? ''
  if (text === '' || target.name !== undefined) return false
  const token = parseToken(text)
  return token === undefined || (token.version !== 0 && !isOurs(token.version))
}

/**
 * Whether the store has everything that the request asks for, and it costs us little to answer.
 * @param ownNode the only Node in the store; undefined: all Nodes are
 * @throws Refusal 400
 */
export const isInStore = (read: ReadRequest, ownNode: string | undefined): boolean => {
  if (isContinuedUpstream(read) || isTooSelective(read)) return false
  const { target, query } = read
  if (target.row.resource !== 'nodes' || ownNode === undefined) return true
  return (target.name ?? parseSelection(target, query).key) === ownNode
}
