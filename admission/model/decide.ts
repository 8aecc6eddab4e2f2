// SPDX-License-Identifier: Apache-2.0
import { unchanged, type Decision } from './decision.js'
import { decideEndpoints } from './endpoints.js'
import type { Knowledge } from './nodes.js'
import { decidePod } from './pods.js'
import { stampOfWrite } from './read.js'
import type { Review } from './review.js'
import { decideSlice } from './slices.js'
import { decideTaint } from './taint.js'

/** What the reviews of one path are about. */
interface Subject {
  readonly resource: string
  /** The controller's name in its ServiceAccount of the controller manager. */
  readonly writer: string
  readonly decide: (review: Review, knowledge: Knowledge) => Decision
}

const SUBJECTS = {
  '/node-taint': { resource: 'nodes', writer: 'node-controller', decide: decideTaint },
  '/pod-status': { resource: 'pods/status', writer: 'node-controller', decide: decidePod },
  '/endpoint': { resource: 'endpoints', writer: 'endpoint-controller', decide: decideEndpoints },
  '/endpointslice': {
    resource: 'endpointslices.discovery.k8s.io',
    writer: 'endpointslice-controller',
    decide: decideSlice,
  },
} as const satisfies Readonly<Record<string, Subject>>

/** Paths of reviews; the first and the third have SuperEdge's names. */
export type ReviewPath = keyof typeof SUBJECTS

export const reviewPaths = Object.keys(SUBJECTS) as readonly ReviewPath[]

/** The user of the controller manager when its controllers have no accounts of their own. */
const MANAGER = 'system:kube-controller-manager'

/** What is known when a review arrives. */
export interface Known extends Omit<Knowledge, 'now'> {
  /** Namespaces whose objects are never changed. */
  readonly untouched: ReadonlySet<string>
  /** The earliest time that the apiserver's clock can show, epoch ms; undefined before its first response. */
  readonly serverTime: number | undefined
}

const later = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)

/**
 * The decision about a write. Only writes of the controllers are judged; those of kubelets, agents and people pass
 * unchanged. The time is the apiserver's: its timestamp on this very write.
 */
export const decideReview = (path: ReviewPath, review: Review, known: Known): Decision => {
  const { resource, writer, decide }: Subject = SUBJECTS[path]
  const { operation, version, namespace, username, object, oldObject } = review
  if (review.resource !== resource || version !== 'v1' || operation !== 'UPDATE')
    return unchanged('not-ours')
  if (known.untouched.has(namespace)) return unchanged('not-ours')
  if (username !== MANAGER && username !== `system:serviceaccount:kube-system:${writer}`)
    return unchanged('other-writer')
  const now = later(stampOfWrite(object, oldObject), known.serverTime)
  return decide(review, { ...known, now })
}
