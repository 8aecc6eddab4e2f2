// SPDX-License-Identifier: Apache-2.0
// What a client behind the wrapper should hold, worked out from what one beside it holds.
import type { Json } from '../../../sandbox/api-client.js'
import { decide, type JudgedService, type Surroundings } from '../../../wrapper/prune/decide.js'
import { parseTopologyKeys } from '../../../wrapper/prune/topology-keys.js'
import type { EndpointView } from '../../../wrapper/wire/endpoint.js'
import type { Dump } from './informer.js'

interface Meta {
  readonly name: string
  readonly namespace?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface Endpoint extends Json {
  readonly addresses: readonly string[]
  readonly nodeName?: string
  readonly conditions?: {
    readonly ready?: boolean
    readonly serving?: boolean
    readonly terminating?: boolean
  }
}

interface Address extends Json {
  readonly ip: string
  readonly nodeName?: string
}

interface Subset extends Json {
  readonly addresses?: readonly Address[]
  readonly notReadyAddresses?: readonly Address[]
}

const metaOf = (object: Json): Meta => object['metadata'] as Meta
const keyOf = (object: Json): string => `${metaOf(object).namespace ?? ''}/${metaOf(object).name}`

/** Who is where, and who is dead, as the agent says. */
export interface Truth {
  readonly self: string
  readonly dead: ReadonlySet<string>
  /** Those of whom the agent speaks at all. */
  readonly known: ReadonlySet<string>
}

const surroundingsOf = (nodes: readonly Json[], { self, dead, known }: Truth): Surroundings => {
  const labels = new Map(
    nodes.map(node => [metaOf(node).name, new Map(Object.entries(metaOf(node).labels ?? {}))]),
  )
  return {
    self,
    isSelfKnown: labels.has(self),
    sharesValue: (label, node) => {
      const value = labels.get(self)?.get(label)
      return value !== undefined && labels.get(node)?.get(label) === value
    },
    health: name => (dead.has(name) ? 'dead' : known.has(name) ? 'normal' : 'unknown'),
    healthIsFresh: true,
    keysMode: 'any',
  }
}

const servicesOf = (services: readonly Json[]): ((key: string) => JudgedService) => {
  const rules = new Map(
    services.map(service => {
      const text = metaOf(service).annotations?.['topologyKeys']
      return [keyOf(service), parseTopologyKeys(text, undefined)]
    }),
  )
  return name => ({ name, rule: rules.get(name) })
}

const viewOf = (endpoint: {
  readonly node: string | undefined
  readonly address: string
  readonly isUsable: boolean
  readonly ports: readonly string[]
}): EndpointView => ({ ...endpoint, start: 0, end: 0 })

type Ports = readonly { readonly name?: string; readonly protocol?: string }[] | null | undefined

/** By name and protocol; an empty text stands for what lists none. */
const portsOf = (ports: Ports): readonly string[] =>
  (ports ?? []).length === 0
    ? ['']
    : ports!.map(({ name = '', protocol = 'TCP' }) => `${name} ${protocol}`)

/** As kube-proxy reads it: unset is ready, and serving; its last resort is what serves while it terminates. */
const isUsable = ({ conditions }: Endpoint): boolean =>
  conditions?.ready !== false || (conditions.serving !== false && conditions.terminating === true)

/** Slices of one service and one family are judged together. */
const pruneSlices = (
  slices: readonly Json[],
  serviceOf: (key: string) => JudgedService,
  around: Surroundings,
): readonly Json[] => {
  const groups = new Map<string, Json[]>()
  for (const slice of slices) {
    const { namespace, labels } = metaOf(slice)
    const service = labels?.['kubernetes.io/service-name']
    const owner = service === undefined ? `slice ${keyOf(slice)}` : `${namespace ?? ''}/${service}`
    const group = `${owner} ${String(slice['addressType'])}`
    groups.set(group, [...(groups.get(group) ?? []), slice])
  }
  const kept = new Map<Json, Json>()
  for (const [group, members] of groups) {
    const listed = members.flatMap(slice =>
      ((slice['endpoints'] ?? []) as readonly Endpoint[]).map(endpoint => ({ endpoint, slice })),
    )
    const all = listed.map(({ endpoint }) => endpoint)
    const views = listed.map(({ endpoint, slice }) =>
      viewOf({
        ports: portsOf(slice['ports'] as Ports),
        node: endpoint.nodeName,
        address: endpoint.addresses[0] ?? '',
        isUsable: isUsable(endpoint),
      }),
    )
    const isOwned = !group.startsWith('slice ')
    const decisions = decide(serviceOf(isOwned ? group.split(' ')[0]! : ''), views, around)
    const isKept = new Map(all.map((endpoint, i) => [endpoint, decisions[i]?.keep === true]))
    for (const slice of members) {
      const endpoints = (slice['endpoints'] ?? []) as readonly Endpoint[]
      const left = endpoints.filter(endpoint => isKept.get(endpoint))
      kept.set(slice, { ...slice, endpoints: left.length === 0 ? null : left })
    }
  }
  return slices.map(slice => kept.get(slice)!)
}

const pruneEndpoints = (
  object: Json,
  serviceOf: (key: string) => JudgedService,
  around: Surroundings,
): Json => {
  const subsets = (object['subsets'] ?? []) as readonly Subset[]
  if (subsets.length === 0) return object
  const all = subsets.flatMap(subset => [
    ...(subset.addresses ?? []).map(address => ({ address, isUsable: true, subset })),
    ...(subset.notReadyAddresses ?? []).map(address => ({ address, isUsable: false, subset })),
  ])
  const views = all.map(({ address, isUsable, subset }) =>
    viewOf({
      ...{ node: address.nodeName, address: address.ip, isUsable },
      ports: portsOf(subset['ports'] as Ports),
    }),
  )
  const decisions = decide(serviceOf(keyOf(object)), views, around)
  const isKept = new Map(all.map(({ address }, i) => [address, decisions[i]?.keep === true]))
  const left = (list: readonly Address[] | undefined): readonly Address[] =>
    (list ?? []).filter(address => isKept.get(address))
  const some = (name: string, list: readonly Address[]): Json =>
    list.length === 0 ? {} : { [name]: list }
  return {
    ...object,
    subsets: subsets.map(({ addresses, notReadyAddresses, ...rest }) => ({
      ...some('addresses', left(addresses)),
      ...some('notReadyAddresses', left(notReadyAddresses)),
      ...rest,
    })),
  }
}

/** The same cluster through the wrapper of one node. */
export const expectedOf = (direct: Dump, truth: Truth): Dump => {
  const around = surroundingsOf(direct.nodes, truth)
  const serviceOf = servicesOf(direct.services)
  return {
    nodes: direct.nodes,
    services: direct.services,
    endpoints: direct.endpoints.map(object => pruneEndpoints(object, serviceOf, around)),
    endpointslices: pruneSlices(direct.endpointslices, serviceOf, around),
  }
}

/** Objects that differ, by name; nothing when both hold the same. */
export const differences = (expected: Dump, found: Dump): readonly string[] =>
  (Object.keys(expected) as (keyof Dump)[]).flatMap(resource => {
    const wanted = new Map(
      expected[resource].map(object => [keyOf(object), JSON.stringify(object)]),
    )
    const had = new Map(found[resource].map(object => [keyOf(object), JSON.stringify(object)]))
    const names = [...new Set([...wanted.keys(), ...had.keys()])].toSorted()
    return names
      .filter(name => wanted.get(name) !== had.get(name))
      .map(
        name =>
          `${resource} ${name}:\n  expected ${wanted.get(name) ?? 'nothing'}\n  found    ${had.get(name) ?? 'nothing'}`,
      )
  })
