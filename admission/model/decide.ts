// SPDX-License-Identifier: Apache-2.0
import { unchanged, type Decision } from './decision.js'
import { decideEndpoints } from './endpoints.js'
import type { Knowledge } from './nodes.js'
import { decidePod } from './pods.js'
import { newestStamp } from './read.js'
import type { Review } from './review.js'
import { decideSlice } from './slices.js'
import { decideTaint } from './taint.js'

/** What reviews of one path are about. */
interface Subject {
  readonly resource: string
  /** The controller, by its name among the controller manager's accounts. */
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

/** Where reviews are sent to; the first and the third have SuperEdge's names. */
export type ReviewPath = keyof typeof SUBJECTS

export const reviewPaths = Object.keys(SUBJECTS) as readonly ReviewPath[]

/** How the controller manager is called when its controllers have no accounts of their own. */
const MANAGER = 'system:kube-controller-manager'

/** What the program knows when a review arrives. */
export interface Known extends Omit<Knowledge, 'now'> {
  /** Namespaces whose objects pass as they are. */
  readonly untouched: ReadonlySet<string>
  /** The earliest that the apiserver's clock can show, epoch ms; undefined before it was asked anything. */
  readonly serverTime: number | undefined
}

const later = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)

/**
 * What becomes of a write. The controllers' own writes alone are looked at: those of kubelets, agents and people pass as they
 * are. The clock is the apiserver's: its stamp on this very write.
 */
export const decideReview = (path: ReviewPath, review: Review, known: Known): Decision => {
  const { resource, writer, decide }: Subject = SUBJECTS[path]
  const { operation, version, namespace, username, object } = review
  if (review.resource !== resource || version !== 'v1' || operation !== 'UPDATE')
    return unchanged('not-ours')
  if (known.untouched.has(namespace)) return unchanged('not-ours')
  if (username !== MANAGER && username !== `system:serviceaccount:kube-system:${writer}`)
    return unchanged('other-writer')
  const now = later(newestStamp(object), known.serverTime)
  return decide(review, { ...known, now })
}
