// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'
import type { PatchOperation } from '../../core/json-patch.js'
import type { ChildKind, Json } from '../model/grid.js'
import { parseLiveChild, type LiveChild, type ManagedFields } from '../model/live.js'
import { rolloutOf, type Rollout } from '../model/rollout.js'
import { takeoverPatch } from '../model/takeover.js'
import { GRID_LABEL, GONE_ANNOTATION, MANAGER, SUPEREDGE_MANAGER } from '../model/marks.js'
import { apiVersionOf, gridKinds } from './resources.js'

const NOTHING: Json = Object.freeze({})
const KINDS: ReadonlySet<string> = new Set(gridKinds)

/** Whether it could belong to a grid. Of any other object only the name is needed, since it is taken. */
const isChild = ({ controller, labels }: LiveChild): boolean =>
  (controller !== undefined && KINDS.has(controller.kind)) || Object.hasOwn(labels, GRID_LABEL)

/** Drop the fields of other managers' entries, which are never read; keep the entries, so that indices stay the same. */
const compactEntry = ({ manager, operation, subresource, fields }: ManagedFields): Json => ({
  ...{ manager, operation, subresource },
  ...(manager === MANAGER || manager === SUPEREDGE_MANAGER ? { fieldsV1: fields } : {}),
})

const without = (map: Json, ...keys: readonly string[]): JsonMap =>
  Object.fromEntries(Object.entries(map).filter(([key]) => !keys.includes(key)))

/** Everything except the status and versions. */
const bodyOf = ({ object, managedFields }: LiveChild): string =>
  JSON.stringify({
    ...without(object, 'status'),
    metadata: {
      ...without(object['metadata'] as Json, 'resourceVersion', 'generation'),
      managedFields: managedFields.map(compactEntry),
    },
  })

/** The child that was parsed last, since parts of one child are read one after another. */
interface Slot {
  compact: CompactChild | undefined
  live: LiveChild | undefined
}

/**
 * A child stored as text, with the most-used fields beside it: a tenth of the memory of a parsed object, which matters with
 * ten thousand of them. Other fields are parsed when read; the status is evaluated on arrival.
 */
export class CompactChild implements LiveChild {
  readonly kind: ChildKind
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly isDeleting: boolean
  readonly labels: LiveChild['labels']
  /** Only ours; all of them are in `object`. */
  readonly annotations: LiveChild['annotations']
  readonly controller: LiveChild['controller']
  readonly rollout: Rollout | undefined
  readonly takeover: readonly PatchOperation[] | undefined
  /** Without status and versions, for comparison. '' for objects that are no grid's. */
  readonly body: string
  readonly #slot: Slot

  constructor(live: LiveChild, slot: Slot) {
    const isOurs = isChild(live)
    this.kind = live.kind
    this.namespace = live.namespace
    this.name = live.name
    this.uid = live.uid
    this.resourceVersion = live.resourceVersion
    this.generation = live.generation
    this.isDeleting = live.isDeleting
    this.labels = isOurs ? live.labels : NO_TEXTS
    const since = live.annotations[GONE_ANNOTATION]
    this.annotations = since === undefined ? NO_TEXTS : { [GONE_ANNOTATION]: since }
    this.controller = live.controller
    this.rollout = isOurs && live.kind !== 'Service' ? rolloutOf(live) : undefined
    this.takeover = isOurs ? takeoverPatch(live) : undefined
    this.body = isOurs ? bodyOf(live) : ''
    this.#slot = slot
  }

  get managedFields(): LiveChild['managedFields'] {
    return this.#live?.managedFields ?? []
  }

  get object(): Json {
    return this.#live?.object ?? NOTHING
  }

  get spec(): Json {
    return this.#live?.spec ?? NOTHING
  }

  /** Empty: `rollout` has what is needed of it. */
  get status(): Json {
    return NOTHING
  }

  get #live(): LiveChild | undefined {
    if (this.body === '') return undefined
    if (this.#slot.compact !== this) {
      this.#slot.compact = this
      const object = JSON.parse(this.body) as JsonMap
      const { resourceVersion, generation } = this
      const metadata = { ...(object['metadata'] as Json), resourceVersion, generation }
      this.#slot.live = parseLiveChild({ ...object, metadata })
    }
    return this.#slot.live
  }
}

const NO_TEXTS: Readonly<Record<string, string>> = Object.freeze({})

/** Compacts objects of lists and watches; list items lack `apiVersion` and `kind`. @throws InvalidInputError */
export const makeChildReader = (kind: ChildKind): ((raw: unknown) => CompactChild) => {
  const apiVersion = apiVersionOf(kind)
  const slot: Slot = { compact: undefined, live: undefined }
  return raw =>
    new CompactChild(parseLiveChild(isMap(raw) ? { ...raw, apiVersion, kind } : raw), slot)
}
