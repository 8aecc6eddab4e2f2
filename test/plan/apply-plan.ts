// SPDX-License-Identifier: Apache-2.0
import { parseNodeName } from '../../core/ids.js'
import type { NodeCondition, NodeView, Taint } from '../../core/node.js'
import type { PlanOptions } from '../../plan/options.js'
import type { NodePlan, PatchOperation } from '../../plan/patch.js'
import { planNode, type DesiredMarks, type WriteWords } from '../../plan/node-plan.js'

/** A Node without marks. */
export const makeNode = (changes: Partial<NodeView> = {}): NodeView => ({
  name: parseNodeName('n1'),
  uid: 'u1',
  resourceVersion: '7',
  labels: {},
  annotations: {},
  taints: [],
  internalIPs: ['10.0.0.1'],
  conditions: [],
  ...changes,
})

interface StatusBody {
  readonly metadata: {
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string | null>>
    readonly labels?: Readonly<Record<string, string | null>>
  }
  readonly status?: { readonly conditions: readonly NodeCondition[] }
}

const check = (node: NodeView, version: unknown): void => {
  if (version !== node.resourceVersion) throw new Error('conflict')
}

/** A JSON merge patch of a map of texts. */
const merged = (
  map: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>> = {},
): Record<string, string> => {
  const result = { ...map }
  for (const [key, value] of Object.entries(changes))
    if (value === null) Reflect.deleteProperty(result, key)
    else result[key] = value
  return result
}

const applyStatus = (node: NodeView, body: StatusBody): NodeView => {
  check(node, body.metadata.resourceVersion)
  const annotations = merged(node.annotations, body.metadata.annotations)
  const labels = merged(node.labels, body.metadata.labels)
  const conditions = [...node.conditions]
  for (const condition of body.status?.conditions ?? []) {
    const place = conditions.findIndex(old => old.type === condition.type)
    if (place < 0) conditions.push(condition)
    else conditions[place] = { ...conditions[place], ...condition }
  }
  return { ...node, annotations, labels, conditions }
}

/** A node without taints has no such field, so only an "add" of the whole list can make it. */
const applyTaints = (node: NodeView, operations: readonly PatchOperation[]): NodeView => {
  let taints: Taint[] | undefined = node.taints.length === 0 ? undefined : [...node.taints]
  for (const operation of operations) {
    const place = operation.path.slice('/spec/taints/'.length)
    if (operation.op === 'test') check(node, operation.value)
    else if (operation.path === '/spec/taints' && operation.op === 'add')
      taints = operation.value as Taint[]
    else if (taints === undefined) throw new Error('no such path')
    else if (operation.op === 'add' && place === '-') taints.push(operation.value as Taint)
    else if (operation.op === 'remove' && taints[Number(place)] !== undefined)
      taints.splice(Number(place), 1)
    else throw new Error(`cannot ${operation.op} ${operation.path}`)
  }
  return { ...node, taints: taints ?? [] }
}

/** What the apiserver would make of the plan; throws where it would refuse. Small and obviously right. */
export const applyPlan = (node: NodeView, plan: NodePlan): NodeView => {
  if (plan.kind === 'nothing') return node
  const { patch } = plan
  const changed =
    patch.type === 'json'
      ? applyTaints(node, patch.operations)
      : applyStatus(node, patch.body as unknown as StatusBody)
  return { ...changed, resourceVersion: `${Number(node.resourceVersion) + 1}` }
}

/** Plan and write until there is nothing left to write; three writes are one too many. */
export const settleNode = (
  node: NodeView,
  desired: DesiredMarks,
  words: WriteWords,
  o: PlanOptions,
): { node: NodeView; writes: number } => {
  let current = node
  for (let writes = 0; writes < 3; writes++) {
    const plan = planNode(current, desired, words, o)
    if (plan.kind === 'nothing') return { node: current, writes }
    current = applyPlan(current, plan)
  }
  throw new Error('the plan never ends')
}
