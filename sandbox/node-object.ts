// SPDX-License-Identifier: Apache-2.0
import type { NodeCondition, Taint } from '../core/node.js'
import type { Json } from './api-client.js'

/** A condition with the heartbeat that kubelets put into it. */
export interface Condition extends NodeCondition {
  readonly lastHeartbeatTime?: string | undefined
}

/** A Node as the API sends it, as far as the cluster's own parts look into it; unknown fields are carried along. */
export interface NodeObject extends Json {
  readonly metadata: Json & {
    readonly name: string
    readonly resourceVersion: string
    readonly creationTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly spec?: Json & {
    readonly taints?: readonly Taint[] | null
    readonly unschedulable?: boolean
  }
  readonly status?: Json & { readonly conditions?: readonly Condition[] | null }
}

/** A Lease of kube-node-lease. */
export interface LeaseObject extends Json {
  readonly metadata: Json & { readonly name: string; readonly resourceVersion: string }
  readonly spec?: Json & { readonly renewTime?: string; readonly holderIdentity?: string }
}

export const NODES = '/api/v1/nodes'
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

export const taintsOf = (node: NodeObject): readonly Taint[] => node.spec?.taints ?? []

export const conditionsOf = (node: NodeObject): readonly Condition[] =>
  node.status?.conditions ?? []

export const readyOf = (node: NodeObject): Condition | undefined =>
  conditionsOf(node).find(condition => condition.type === 'Ready')

/** The API's time with whole seconds, as `metav1.Time` is written. */
export const apiTime = (wall: number): string =>
  new Date(wall).toISOString().replace(/\.\d+Z$/, 'Z')

/** The API's time with microseconds, as Leases have it. */
export const apiMicroTime = (wall: number): string =>
  new Date(wall).toISOString().replace('Z', '000Z')
