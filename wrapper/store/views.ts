// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
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
  /** Removes the endpoints at these places from the bytes that they were read from. */
  cutter(
    endpoints: readonly EndpointView[],
    places: readonly number[],
  ): Pick<Rendering, 'apply' | 'bytes'>
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'))

/**
 * Where each range begins and ends, in turn; endpoints side by side make one. A history of many changes has one for each, so
 * it is small, and made by a separate function to reference nothing else.
 */
const rangesOf = (endpoints: readonly EndpointView[], places: readonly number[]): Uint32Array => {
  const bounds: number[] = []
  for (const place of places) {
    const { start, end } = endpoints[place]!
    if (bounds.at(-1) === start) bounds[bounds.length - 1] = end
    else bounds.push(start, end)
  }
  return Uint32Array.from(bounds)
}

const unpacked = (bounds: Uint32Array): readonly Range[] =>
  Array.from({ length: bounds.length / 2 }, (_, i) => ({
    start: bounds[2 * i]!,
    end: bounds[2 * i + 1]!,
  }))

const cutterOf = (bounds: Uint32Array): Pick<Rendering, 'apply' | 'bytes'> => ({
  bytes: bounds.byteLength,
  apply: raw => cut(raw, unpacked(bounds)),
})

const withoutPlaces = (gone: Uint32Array): Pick<Rendering, 'apply' | 'bytes'> => ({
  bytes: gone.byteLength,
  apply: raw => pruneEndpoints(raw, (_endpoint, place) => !gone.includes(place)),
})

/** The same for the same places, and as short for many as for few. */
const markOf = (places: readonly number[]): string =>
  createHash('sha256').update(places.join()).digest('base64')

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
  cutter: (endpoints, places) => cutterOf(rangesOf(endpoints, places)),
}

export const ENDPOINTS: EndpointKind = {
  kind: 'Endpoints',
  read: (key, raw) => ({ service: key, family: '', endpoints: readEndpoints(raw).endpoints }),
  cutter: (_endpoints, places) => withoutPlaces(Uint32Array.from(places)),
}

/** The rendering of an object without some of its endpoints, for exactly the bytes that these were read from. */
export const renderingWithout = (
  of: EndpointKind,
  endpoints: readonly EndpointView[],
  places: readonly number[],
): Rendering => {
  if (places.length === 0) return AS_IS
  const mark = markOf(places)
  const { bytes, apply } = of.cutter(endpoints, places)
  return { mark, bytes: mark.length + bytes, apply }
}

const APISERVER = 'default/kubernetes'

const NO_LOCAL: LocalEndpoint = { kind: 'none' }

/** The address of the apiserver on this node, by the object's annotations. */
export const localEndpointOf = (service: string, raw: Uint8Array): LocalEndpoint =>
  service === APISERVER ? readLocalEndpoint(service, readMeta(raw).annotations) : NO_LOCAL

/** The rendering of an object as one address of this node. */
export const localRendering = ({ kind }: EndpointKind, local: LocalTarget): Rendering => {
  const mark = `@${local.address} ${local.port}`
  return { mark, bytes: mark.length, apply: raw => localRewrite(kind, raw, local) }
}
