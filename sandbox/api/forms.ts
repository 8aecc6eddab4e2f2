// SPDX-License-Identifier: Apache-2.0
import { isMap, mapAt, mapsAt, type JsonMap } from './object.js'

/** How a served version of a kind differs from the form that is stored. Neither changes its argument. */
export interface Form {
  toStored(object: JsonMap): JsonMap
  toServed(object: JsonMap): JsonMap
}

/** events.k8s.io/v1 is the core Event under new field names. */
const EVENT_FIELDS: readonly (readonly [served: string, stored: string])[] = [
  ['regarding', 'involvedObject'],
  ['note', 'message'],
  ['reportingController', 'reportingComponent'],
  ['deprecatedSource', 'source'],
  ['deprecatedFirstTimestamp', 'firstTimestamp'],
  ['deprecatedLastTimestamp', 'lastTimestamp'],
  ['deprecatedCount', 'count'],
]

const renamed = (object: JsonMap, names: ReadonlyMap<string, string>): JsonMap =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [names.get(key) ?? key, value]))

const eventToStored = new Map(EVENT_FIELDS)
const eventToServed = new Map(EVENT_FIELDS.map(([served, stored]) => [stored, served]))

export const eventForm: Form = {
  toStored: object => renamed(object, eventToStored),
  toServed: object => renamed(object, eventToServed),
}

const HOSTNAME = 'kubernetes.io/hostname'
const ZONE = 'topology.kubernetes.io/zone'

const orNothing = (map: JsonMap): JsonMap | undefined =>
  Object.keys(map).length === 0 ? undefined : map

const endpointToStored = ({ topology, ...endpoint }: JsonMap): JsonMap => {
  if (!isMap(topology)) return endpoint
  const { [HOSTNAME]: nodeName, [ZONE]: zone, ...others } = topology
  const rest = orNothing(others)
  return {
    ...(nodeName === undefined ? {} : { nodeName }),
    ...(zone === undefined ? {} : { zone }),
    ...(rest === undefined ? {} : { deprecatedTopology: rest }),
    ...endpoint,
  }
}

const endpointToServed = ({ zone, deprecatedTopology, ...endpoint }: JsonMap): JsonMap => {
  const { nodeName } = endpoint
  const topology = orNothing({
    ...mapAt({ deprecatedTopology }, 'deprecatedTopology'),
    ...(nodeName === undefined ? {} : { [HOSTNAME]: nodeName }),
    ...(zone === undefined ? {} : { [ZONE]: zone }),
  })
  return topology === undefined ? endpoint : { ...endpoint, topology }
}

const mapEndpoints = (object: JsonMap, change: (endpoint: JsonMap) => JsonMap): JsonMap =>
  'endpoints' in object ? { ...object, endpoints: mapsAt(object, 'endpoints').map(change) } : object

/** discovery.k8s.io/v1beta1 has a map of topology labels where v1 has nodeName and zone. */
export const sliceForm: Form = {
  toStored: object => mapEndpoints(object, endpointToStored),
  toServed: object => mapEndpoints(object, endpointToServed),
}
