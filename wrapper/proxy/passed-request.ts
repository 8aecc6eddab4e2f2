// SPDX-License-Identifier: Apache-2.0
import { badRequest, expired } from '../../kube/server/status.js'
import { isOurs } from '../store/versions.js'
import { parsePath, targetOf, type ApiPath, type Target } from '../serve/target.js'
import { hasBody as carriesBody, refuseRound, refuseUnframed, type RawHeaders } from './headers.js'

/** Subresources whose response may begin late or never end: they have no time limit. */
const LONG = ['log', 'exec', 'attach', 'portforward', 'proxy']
const EVENTS = ['v1', 'events.k8s.io/v1', 'events.k8s.io/v1beta1']
const SAFE = ['GET', 'HEAD', 'OPTIONS']

const isTrue = (value: string | null): boolean =>
  value !== null && value !== '0' && value !== 'false'

/** The parts of a passed-on request that matter to the proxy. */
export interface PassedRequest {
  readonly query: URLSearchParams
  readonly hasBody: boolean
  readonly isLong: boolean
  /** It creates an Event, which may wait until the apiserver is reachable. */
  readonly isEvent: boolean
  /** It is a dry run. */
  readonly isDryRun: boolean
  /** It changes nothing and has no body: it may be sent twice. */
  readonly isRepeatable: boolean
  /** The target in the store that a read or a watch names, at any of its paths. */
  readonly read: Target | undefined
  /** The object in the store that a write names, itself or its status. */
  readonly written: Target | undefined
}

/** For paths outside the API's resources. */
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

/** The head of a request, as Node.js gives it. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly rawHeaders: RawHeaders
}

/**
 * Parse the head of a request that is passed on.
 * @throws Refusal 400 when its end or its target is ambiguous; 508 when it goes round
 */
export const readRequest = ({ method, url, rawHeaders }: RequestHead): PassedRequest => {
  refuseRound(rawHeaders)
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
    read: isSafe ? targetOf({ ...api, isWatch: false }) : undefined,
  }
}

/**
 * The apiserver would wait in vain for one of our versions, which it never reaches.
 * @throws Refusal 410
 */
export const refuseOurVersion = ({ query, read }: PassedRequest): void => {
  const version = query.get('resourceVersion') ?? ''
  if (read !== undefined && isOurs(Number(version)))
    throw expired(`resource version ${version} is not one of the apiserver's`)
}
