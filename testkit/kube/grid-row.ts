// SPDX-License-Identifier: Apache-2.0
import type { GridStage } from './grid-stage.js'
import type { Raw } from './raw-objects.js'

/** What was done to a controller of grids, and what came of it. */
export interface GridRow {
  readonly done: string
  readonly superedge: string
  readonly ours: string
  readonly play: (stage: GridStage) => Promise<void>
}

/** What others add to an object, and what must be left of it. */
export const FOREIGN = {
  metadata: {
    annotations: { 'example.com/note': 'kept' },
    labels: { team: 'shop' },
    finalizers: ['example.com/wait'],
  },
}
/** What is left of `FOREIGN`. */
export const isKept = ({ metadata }: Raw): unknown => [
  metadata.annotations?.['example.com/note'],
  metadata.labels?.['team'],
  metadata.finalizers,
]
/** As `isKept` gives it. */
export const KEPT = ['kept', 'shop', ['example.com/wait']]
/** Take the finalizer off, so that the object can go. */
export const letGo = (stage: GridStage, kind: 'Service' | 'Deployment', name: string) =>
  stage.change(kind, name, { metadata: { finalizers: null } })
