// SPDX-License-Identifier: Apache-2.0
// The words that conformance rows are written in.
import type { Step } from '../../testkit/kube/conformance.js'

export const NODES = '/api/v1/nodes'
export const MAPS = '/api/v1/namespaces/default/configmaps'
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases'
export const SLICES = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
export const EVENTS = '/api/v1/namespaces/default/events'
export const NEW_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events'
export const SECRETS = '/api/v1/namespaces/default/secrets'
export const SERVICES = '/api/v1/namespaces/default/services'
export const PODS = '/api/v1/namespaces/default/pods'

export const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }
export const taint = (key: string): object => ({ key, effect: 'NoExecute' })
export const ready = (status: string): object => ({ type: 'Ready', status })

/** A JSON object. */
export type Body = Record<string, unknown>

export const node = (name: string, more: Body = {}, labels: Body = {}): Body => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `{id}-${name}`, labels: { run: `{id}-${name}`, ...labels } },
  ...more,
})
export const map = (name: string, more: Body = {}, metadata: Body = {}): Body => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: `{id}-${name}`, ...metadata },
  ...more,
})
export const lease = (name: string, more: Body = {}, metadata: Body = {}): Body => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: `{id}-${name}`, ...metadata },
  ...more,
})

/** Post an object, keep its version as {rv} and its uid as {uid}. */
export const post = (path: string, body: unknown, want: Body = {}): Step => ({
  do: `POST ${path}`,
  body,
  save: { rv: 'metadata.resourceVersion', uid: 'metadata.uid' },
  want: { status: 201, ...want },
})
export const get = (path: string, want: Body, save: Record<string, string> = {}): Step => ({
  do: `GET ${path}`,
  save,
  want: { status: 200, ...want },
})
export const patch = (type: string, path: string, body: unknown, want: Body = {}): Step => ({
  do: `PATCH ${path}`,
  type,
  body,
  save: { after: 'metadata.resourceVersion' },
  want: { status: 200, ...want },
})
export const put = (path: string, body: unknown, want: Body = {}): Step => ({
  do: `PUT ${path}`,
  body,
  want: { status: 200, ...want },
})
export const del = (path: string, want: Body = {}, body?: unknown): Step => ({
  do: `DELETE ${path}`,
  body,
  want: { status: 200, ...want },
})
export const refused = (status: number, reason: string, more: Body = {}): Body => ({
  status,
  kind: 'Status',
  reason,
  code: status,
  ...more,
})

/** Three nodes a, b and c under a label. */
export const three = (l: string): Step[] =>
  ['a', 'b', 'c'].map(name => post(NODES, node(`${l}${name}`, {}, { l: `{id}${l}`, n: name })))
