// SPDX-License-Identifier: Apache-2.0
import { readLocalEndpoint, type LocalEndpoint } from '../prune/local-endpoint.js'
import type { EndpointView } from '../wire/endpoint.js'
import { pruneEndpoints, readEndpoints } from '../wire/endpoints.js'
import { localRewrite, type LocalTarget } from '../wire/local-rewrite.js'
import { readMeta } from '../wire/meta.js'
import { cut, type Range } from '../wire/fields.js'
import { readSlice } from '../wire/slice.js'
import { AS_IS, type Rendering } from './stored.js'

/** What pruning needs to know of one EndpointSlice or Endpoints object. */
export interface EndpointObject {
  /** `namespace/name`; undefined when it names none. */
  readonly service: string | undefined
  /** Endpoints of one address family can replace each other. */
  readonly family: string
  readonly endpoints: readonly EndpointView[]
}

/** How objects of one of the two kinds are read and pruned. */
export interface EndpointKind {
  readonly kind: 'EndpointSlice' | 'Endpoints'
  /** @throws WireError */
  read(key: string, raw: Uint8Array): EndpointObject
  /** Returns a function that removes the endpoints at these places from the bytes that they were read from. */
  cutter(
    endpoints: readonly EndpointView[],
    places: readonly number[],
  ): (raw: Uint8Array) => Uint8Array
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'))

/** A separate function, so that its long-lived result references only the ranges and not all endpoints. */
const rangesOf = (
  endpoints: readonly EndpointView[],
  places: readonly number[],
): readonly Range[] =>
  places.map(place => {
    const { start, end } = endpoints[place]!
    return { start, end }
  })

export const SLICES: EndpointKind = {
  kind: 'EndpointSlice',
  read: (key, raw) => {
    const { service, addressType, endpoints } = readSlice(raw)
    return {
      service: service === undefined ? undefined : `${namespaceOf(key)}/${service}`,
      family: addressType,
      endpoints,
    }
  },
  // The ranges are known: decoding all endpoints again would cost more than all the rest.
  cutter: (endpoints, places) => {
    const ranges = rangesOf(endpoints, places)
    return raw => cut(raw, ranges)
  },
}

export const ENDPOINTS: EndpointKind = {
  kind: 'Endpoints',
  read: (key, raw) => ({ service: key, family: '', endpoints: readEndpoints(raw).endpoints }),
  cutter: (_endpoints, places) => raw =>
    pruneEndpoints(raw, (_endpoint, place) => !places.includes(place)),
}

/** The rendering of an object without some of its endpoints, for exactly the bytes that these were read from. */
export const renderingWithout = (
  of: EndpointKind,
  endpoints: readonly EndpointView[],
  places: readonly number[],
): Rendering => {
  if (places.length === 0) return AS_IS
  return { mark: `-${places.join()}`, apply: of.cutter(endpoints, places) }
}

const APISERVER = 'default/kubernetes'

const NO_LOCAL: LocalEndpoint = { kind: 'none' }

/** The address of the apiserver on this node, by the object's annotations. */
export const localEndpointOf = (service: string, raw: Uint8Array): LocalEndpoint =>
  service === APISERVER ? readLocalEndpoint(service, readMeta(raw).annotations) : NO_LOCAL

/** The rendering of an object as one address of this node. */
export const localRendering = ({ kind }: EndpointKind, local: LocalTarget): Rendering => ({
  mark: `@${local.address} ${local.port}`,
  apply: raw => localRewrite(kind, raw, local),
})
