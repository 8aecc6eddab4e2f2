// SPDX-License-Identifier: Apache-2.0
// What each side holds of the resources that the wrapper serves.
import type { Json } from '../../../../sandbox/api-client.js'
import { canonical } from './compare.js'
import type { Dump } from '../informer.js'
import type { SideName, Sides } from './sides.js'
import { JSON_TYPE } from './step.js'
import type { Watcher } from './watcher.js'

export const LISTS = {
  nodes: '/api/v1/nodes',
  services: '/api/v1/services',
  endpoints: '/api/v1/endpoints',
  endpointslices: '/apis/discovery.k8s.io/v1/endpointslices',
} as const

const without = (object: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/** The two sides write an object's members in different orders. */
const inOrder = (object: Json): Json => canonical(withoutVersion(object)) as Json

const withoutVersion = (object: Json): Json => ({
  ...object,
  metadata: without(object['metadata'] as Json, 'resourceVersion'),
})

/** Objects of a list say neither kind nor version of the API. */
const withoutType = (object: Json): Json => without(object, 'kind', 'apiVersion')

/** All objects, without their versions. */
export const listAll = async (sides: Sides, side: SideName): Promise<Dump> => {
  const lists = Object.entries(LISTS).map(async ([resource, target]) => {
    const headers = [['Accept', JSON_TYPE]] as const
    const { body } = await sides.send(side, { method: 'GET', target, headers, body: undefined })
    const { items } = JSON.parse(body.toString('utf8')) as { items: readonly Json[] }
    return [resource, items.map(inOrder)] as const
  })
  return Object.fromEntries(await Promise.all(lists)) as unknown as Dump
}

/** What the watches add up to, one for each resource in the order of LISTS. */
export const heldBy = (watchers: readonly Watcher[]): Dump =>
  Object.fromEntries(
    Object.keys(LISTS).map((resource, i) => [
      resource,
      [...watchers[i]!.objects.values()].map(object => inOrder(withoutType(object))),
    ]),
  ) as unknown as Dump
