// SPDX-License-Identifier: Apache-2.0
// The cluster's grids as of now, for commands that only read.
import { isMap } from '../../core/json.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { metadataOf, type ResourceType } from '../../kube/client/resource.js'
import { decideGrid, type Decision } from '../model/decide.js'
import type { ChildKind } from '../model/grid.js'
import { parseLiveChild, type LiveChild } from '../model/live.js'
import { nameKey, type NameHolder } from '../model/name.js'
import { planGrids, type GridPlan } from '../model/plan.js'
import { makeGridReader, nameHolderOf, type GridRecord } from './grid-record.js'
import { listPages } from './list-pages.js'
import {
  apiVersionOf,
  CHILD_RESOURCES,
  childKinds,
  GRID_RESOURCES,
  gridKinds,
  NODES,
} from './resources.js'

/** A grid, what it wants, and what would be done about it. */
export interface Judged {
  readonly record: GridRecord
  /** Undefined for a grid that is invalid or being deleted. */
  readonly plan: GridPlan | undefined
  readonly decision: Decision | undefined
}

/** List items lack `apiVersion` and `kind`. */
const childType = (kind: ChildKind): ResourceType<LiveChild> => ({
  ...CHILD_RESOURCES[kind],
  parse: raw => parseLiveChild(isMap(raw) ? { ...raw, apiVersion: apiVersionOf(kind), kind } : raw),
})

const listAll = async <T>(
  client: Pick<ResourceClient, 'list'>,
  type: ResourceType<T>,
  signal: AbortSignal,
): Promise<readonly T[]> => {
  const items: T[] = []
  for await (const page of listPages(client, type, {}, signal)) items.push(...page)
  return items
}

const isOf = (
  record: GridRecord,
  { controller, namespace, name, kind }: LiveChild,
  plan: GridPlan,
) =>
  controller?.uid === record.uid ||
  (namespace === record.namespace &&
    plan.children.some(child => child.kind === kind && child.name === name))

/** All grids of the cluster, with the decisions that the controller would make now. */
export const takeSnapshot = async (
  client: Pick<ResourceClient, 'list'>,
  { now, graceMs }: { readonly now: number; readonly graceMs: number },
  signal: AbortSignal,
): Promise<readonly Judged[]> => {
  const [nodes, grids, lives] = await Promise.all([
    listAll(client, metadataOf(NODES), signal),
    Promise.all(
      gridKinds.map(kind =>
        listAll(client, { ...GRID_RESOURCES[kind], parse: makeGridReader(kind) }, signal),
      ),
    ),
    Promise.all(childKinds.map(kind => listAll(client, childType(kind), signal))),
  ])
  const records = grids.flat()
  const children = lives.flat()
  const byUid = new Map(records.map(record => [record.uid, record]))
  const held = new Map<string, NameHolder>()
  for (const { controller, kind, namespace, name, labels } of children) {
    const owner = byUid.get(controller?.uid ?? '')
    if (owner !== undefined) held.set(nameKey(kind, namespace, name), nameHolderOf(owner, labels))
  }
  const valid = records.flatMap(({ reading }) => (reading.ok ? [reading.grid] : []))
  const plans = new Map(planGrids(valid, nodes, held).map(plan => [plan.grid.uid, plan]))
  return records.map(record => {
    const plan = plans.get(record.uid)
    if (plan === undefined) return { record, plan, decision: undefined }
    const own = children.filter(live => isOf(record, live, plan))
    return { record, plan, decision: decideGrid({ plan, lives: own, now, graceMs }) }
  })
}
