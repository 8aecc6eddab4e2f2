// SPDX-License-Identifier: Apache-2.0

/** Requests whose answer may begin late or never end: no limit of time holds for them. */
const LONG = /\/(log|exec|attach|portforward|proxy)(\/|$)|\/watch\//
const EVENTS = /^\/(?:api\/v1|apis\/events\.k8s\.io\/v1(?:beta1)?)\/namespaces\/[^/]+\/events\/?$/

const splitUrl = (url: string): readonly [path: string, query: URLSearchParams] => {
  const at = url.indexOf('?')
  return at < 0
    ? [url, new URLSearchParams()]
    : [url.slice(0, at), new URLSearchParams(url.slice(at + 1))]
}

const isTrue = (value: string | null): boolean =>
  value !== null && value !== '0' && value !== 'false'

/** What a request that passes through asks for, as far as it matters on the way. */
export interface PassedRequest {
  readonly path: string
  readonly query: URLSearchParams
  readonly isLong: boolean
  /** It tells an Event, which may wait until the apiserver is back. */
  readonly isEvent: boolean
  readonly isWrite: boolean
}

export const readRequest = (method: string, url: string): PassedRequest => {
  const [path, query] = splitUrl(url)
  return {
    path,
    query,
    isLong: LONG.test(path) || isTrue(query.get('watch')) || isTrue(query.get('follow')),
    isEvent: method === 'POST' && EVENTS.test(path) && !query.has('dryRun'),
    isWrite: !['GET', 'HEAD', 'OPTIONS'].includes(method),
  }
}
