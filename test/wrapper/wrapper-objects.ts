// SPDX-License-Identifier: Apache-2.0
// Objects as the wrapper keeps them: bytes, made from the JSON that a person reads.
import type { NodeHealth, Surroundings } from '../../wrapper/prune/decide.js'
import { fromJson } from '../../wrapper/wire/from-json.js'
import type { JsonMap } from '../../wrapper/wire/kinds.js'

/** Where an endpoint is, in one line: `10.0.0.1@node`; without a node, `10.0.0.1`; not ready, `10.0.0.1@node!`. */
export type Place = string

interface Placed {
  readonly address: string
  readonly node: string | undefined
  readonly isReady: boolean
}

const readPlace = (place: Place): Placed => {
  const isReady = !place.endsWith('!')
  const [address = '', node] = (isReady ? place : place.slice(0, -1)).split('@')
  return { address, node, isReady }
}

const withNode = (node: string | undefined): JsonMap =>
  node === undefined ? {} : { nodeName: node }

/** A slice of `service`, called `name`. */
export const makeSlice = (
  name: string,
  service: string,
  places: readonly Place[],
  ports: readonly string[] = ['http'],
): Uint8Array =>
  fromJson('EndpointSlice', {
    metadata: { name, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: places.map(readPlace).map(({ address, node, isReady }) => ({
      addresses: [address],
      conditions: { ready: isReady },
      ...withNode(node),
    })),
    ports: ports.map(port => ({ name: port, port: 80, protocol: 'TCP' })),
  })

/** An Endpoints object with one subset. */
export const makeEndpoints = (name: string, places: readonly Place[]): Uint8Array => {
  const all = places.map(readPlace)
  const entries = (isWanted: boolean): JsonMap[] =>
    all
      .filter(({ isReady }) => isReady === isWanted)
      .map(({ address, node }) => ({ ip: address, ...withNode(node) }))
  return fromJson('Endpoints', {
    metadata: { name, namespace: 'default' },
    subsets: [
      { addresses: entries(true), notReadyAddresses: entries(false), ports: [{ port: 80 }] },
    ],
  })
}

export interface World {
  readonly self?: string
  /** Node → labels; these are the listed ones. */
  readonly nodes?: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly health?: Readonly<Record<string, NodeHealth>>
  readonly healthIsFresh?: boolean
  readonly keysMode?: Surroundings['keysMode']
}

/** What is known around; health is unknown where nothing else is said. */
export const makeSurroundings = (world: World): Surroundings => {
  const { self = 'here', nodes = {}, health = {}, healthIsFresh = true, keysMode = 'any' } = world
  const labels = new Map(
    Object.entries(nodes).map(([name, own]) => [name, new Map(Object.entries(own))] as const),
  )
  const known = new Map(Object.entries(health))
  return {
    self,
    healthIsFresh,
    keysMode,
    isSelfKnown: labels.has(self),
    sharesValue: (label, node) => {
      const value = labels.get(self)?.get(label)
      return value !== undefined && labels.get(node)?.get(label) === value
    },
    health: name => known.get(name) ?? 'unknown',
  }
}
