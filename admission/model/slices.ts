// SPDX-License-Identifier: Apache-2.0
import { isMap, type JsonMap } from '../../core/json.js'
import { listAt, mapsAt, valueAt } from '../../core/json-at.js'
import type { Decision } from './decision.js'
import { Keeper, podOf } from './endpoints.js'
import type { Knowledge } from './nodes.js'
import type { Review } from './review.js'

/** An endpoint without the condition counts as ready, as in the API. */
const isReady = (endpoint: unknown): boolean => valueAt(endpoint, 'conditions', 'ready') !== false

const isTerminating = (endpoint: unknown): boolean =>
  valueAt(endpoint, 'conditions', 'terminating') === true

const withKept = (endpoint: JsonMap, keeper: Keeper): JsonMap => {
  if (isReady(endpoint) || isTerminating(endpoint) || !keeper.keeps(endpoint)) return endpoint
  const conditions = valueAt(endpoint, 'conditions')
  return {
    ...endpoint,
    conditions: { ...(isMap(conditions) && conditions), ready: true, serving: true },
  }
}

/** Keeps endpoints of Pods on kept nodes ready in EndpointSlices. */
export const decideSlice = (
  { object, oldObject }: Pick<Review, 'object' | 'oldObject'>,
  knowledge: Knowledge,
): Decision => {
  const endpoints = listAt(object, 'endpoints') ?? []
  const ready = mapsAt(oldObject, 'endpoints').filter(isReady)
  const keeper = new Keeper(knowledge, ready.map(podOf))
  const after = endpoints.map(each => (isMap(each) ? withKept(each, keeper) : each))
  return keeper.decide('/endpoints', endpoints, after)
}
