// SPDX-License-Identifier: Apache-2.0
// A cluster of Services with 30 endpoints each, ten nodes' share each.
import * as proto from './proto.js'
import type { Upstream } from './upstream.js'

export interface Size {
  readonly services: number
  readonly nodes: number
}

/** Ten nodes' share of each service: a node carries every `nodes / 10`th service. */
const SHARE = 10
const ENDPOINTS = 30

export const LARGE: Size = { services: 5_000, nodes: 100 }
export const SMALL: Size = { services: 100, nodes: 10 }

export const nodeName = (nth: number): string => `edge-${nth}`
const serviceName = (nth: number): string => `shop-${nth}`
const sliceName = (nth: number): string => `shop-${nth}-abcde`

export const touchedBy = ({ services, nodes }: Size): number => (services * SHARE) / nodes

const identity = (
  name: string,
  version: number,
  n: number,
  labels: Readonly<Record<string, string>> = {},
): proto.Identity => ({
  ...{ name, version, labels },
  namespace: 'default',
  annotations: n === 0 ? {} : { n: String(n) },
})

/** The endpoints of a service: ten nodes, three on each. */
const endpointsOf = (nth: number, { nodes }: Size): readonly proto.Endpoint[] => {
  const step = nodes / SHARE
  return Array.from({ length: ENDPOINTS }, (_, i) => {
    const node = (nth + Math.floor(i / 3) * step) % nodes
    return {
      address: `10.${64 + (node >> 3)}.${nth % 250}.${i + 1}`,
      node: nodeName(node),
      pod: `shop-${nth}-${String(i).padStart(10, 'a')}-x${i}`,
    }
  })
}

const ipOf = (nth: number): string => `10.96.${Math.floor(nth / 250) + 1}.${(nth % 250) + 1}`

/** One Service and its slice, as bytes. */
export const makeService = (nth: number, version = 0, n = 0): Buffer =>
  proto.service(identity(serviceName(nth), version, n), ipOf(nth))

export const makeSlice = (nth: number, size: Size, version = 0, n = 0): Buffer => {
  const labels = {
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    'kubernetes.io/service-name': serviceName(nth),
  }
  return proto.slice(identity(sliceName(nth), version, n, labels), endpointsOf(nth, size))
}

export const makeNode = (nth: number, version = 0, n = 0): Buffer =>
  proto.node(
    {
      ...identity(nodeName(nth), version, n, { 'kubernetes.io/hostname': nodeName(nth) }),
      namespace: '',
    },
    `10.202.${nth >> 8}.${nth & 255}`,
  )

export const fill = (upstream: Upstream, size: Size): void => {
  for (let i = 0; i < size.nodes; i++)
    upstream.put('nodes', nodeName(i), (version, n) => makeNode(i, version, n))
  for (let i = 0; i < size.services; i++) {
    upstream.put('services', serviceName(i), (version, n) => makeService(i, version, n))
    upstream.put('endpointslices', sliceName(i), (version, n) => makeSlice(i, size, version, n))
  }
}

export const ALL_ENDPOINTS = ({ services }: Size): number => services * ENDPOINTS
