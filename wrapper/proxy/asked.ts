// SPDX-License-Identifier: Apache-2.0
import { badRequest } from '../../kube/server/status.js'
import { parsePath, targetOf, type ApiPath, type Target } from '../serve/target.js'
import { hasBody as carriesBody, refuseUnframed, type RawHeaders } from './headers.js'

/** Subresources whose answer may begin late or never end: no limit of time holds for them. */
const LONG = ['log', 'exec', 'attach', 'portforward', 'proxy']
const EVENTS = ['v1', 'events.k8s.io/v1', 'events.k8s.io/v1beta1']
const SAFE = ['GET', 'HEAD', 'OPTIONS']

const isTrue = (value: string | null): boolean =>
  value !== null && value !== '0' && value !== 'false'

/** What a request that passes through asks for, as far as it matters on the way. */
export interface PassedRequest {
  readonly query: URLSearchParams
  readonly hasBody: boolean
  readonly isLong: boolean
  /** It tells an Event, which may wait until the apiserver is back. */
  readonly isEvent: boolean
  /** It asks what would be written. */
  readonly isDryRun: boolean
  /** It changes nothing, and there is nothing to send again: it may be asked twice. */
  readonly isRepeatable: boolean
  /** What of ours a read names. */
  readonly read: Target | undefined
  /** The one object of ours that a write names, itself or its status. */
  readonly written: Target | undefined
}

/** What no path of the API's resources is. */
const NOTHING: ApiPath = {
  ...{ apiVersion: '', resource: '', isWatch: false },
  ...{ namespace: undefined, name: undefined, subresource: undefined },
}

const isForEvents = ({ apiVersion, namespace = '', resource, name }: ApiPath): boolean =>
  EVENTS.includes(apiVersion) && namespace !== '' && resource === 'events' && name === undefined

const objectOf = (api: ApiPath): Target | undefined => {
  const { name, subresource = 'status' } = api
  return name !== undefined && subresource === 'status' ? targetOf(api) : undefined
}

const isLong = (query: URLSearchParams, { isWatch, subresource = '' }: ApiPath): boolean =>
  isTrue(query.get('watch')) || isTrue(query.get('follow')) || isWatch || LONG.includes(subresource)

/** What Node.js tells of a request of its server. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly rawHeaders: RawHeaders
}

/**
 * Read the head of a request that passes through.
 * @throws Refusal 400 when it cannot be told where it ends, or whom it asks
 */
export const readRequest = ({ method, url, rawHeaders }: RequestHead): PassedRequest => {
  refuseUnframed(rawHeaders)
  if (!url.startsWith('/') && url !== '*')
    throw badRequest('the request target must be a path of the apiserver')
  const [path = '', text = ''] = url.split(/\?(.*)/s, 2)
  const query = new URLSearchParams(text)
  const api = parsePath(path) ?? NOTHING
  const isSafe = SAFE.includes(method)
  const hasBody = carriesBody(rawHeaders)
  const written = isSafe ? undefined : objectOf(api)
  const isDryRun = query.has('dryRun')
  return {
    ...{ written, isDryRun },
    ...{ query, hasBody, isLong: isLong(query, api), isRepeatable: isSafe && !hasBody },
    isEvent: method === 'POST' && !isDryRun && hasBody && isForEvents(api),
    read: isSafe ? targetOf(api) : undefined,
  }
}
