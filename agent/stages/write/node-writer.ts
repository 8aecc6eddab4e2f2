// SPDX-License-Identifier: Apache-2.0
import { KubeStatusError, reasonOf, WithheldError } from '../../../core/errors.js'
import type { NodeView } from '../../../core/node.js'
import type { KubeApi } from '../../ports/kube-api.js'
import type { WriteGuard } from '../../../kube/client/write.js'
import { NOTHING, type NodePlan, type Patch } from '../../../plan/patch.js'
import type { WriteRecord, WriteResult } from '../../results.js'

/** Most times to read, plan and write, so that a fight with another writer ends. */
const MOST_WRITES = 4

/** Records the outcome of each write. */
export type WriteRecorder = (write: Omit<WriteRecord, 'at'>) => void

/** One node that is to be brought to what we want. */
export interface Task {
  readonly node: string
  /** In words, for the record. */
  readonly what: string
  /** The next write by what is known at this moment; asked anew before every write. */
  readonly plan: (node: NodeView) => NodePlan
  /** Whether it is still wanted, by what was judged last, and still ours to do. */
  readonly isWanted: () => boolean
}

/** How a task ended: `node` is the newest form of the Node that was seen. */
export interface TaskEnd {
  /** The Node as it was first read; undefined when it never was. */
  readonly before: NodeView | undefined
  readonly node: NodeView | undefined
  /** Writes that were done. */
  readonly written: number
  readonly result: WriteResult
  /** The last error; undefined when the last request was taken. */
  readonly error: unknown
}

/** A failed test is a 422 with empty `details`. Those of a policy or of the validation name the object; a webhook's are missing. */
const isFailedTest = ({ status, details = { name: '' } }: KubeStatusError, patch: Patch): boolean =>
  status === 422 &&
  patch.type === 'json' &&
  patch.operations.some(({ op }) => op === 'test') &&
  Object.keys(details).length === 0

/**
 * Which result an error of the API is.
 * @param patch what was sent; undefined for what can have no failed test
 */
export const resultOf = (error: unknown, patch?: Patch): WriteResult => {
  if (error instanceof WithheldError) return 'withheld'
  if (!(error instanceof KubeStatusError)) return 'unreachable'
  // The resourceVersion is stale: somebody else wrote.
  if (error.status === 409) return 'conflict'
  return patch !== undefined && isFailedTest(error, patch) ? 'conflict' : 'refused'
}

/** Withholds a write that is no longer wanted at the moment when it would leave. */
export const guardOf =
  (isWanted: () => boolean, judge: () => void): WriteGuard =>
  () => {
    judge()
    return isWanted() ? undefined : 'it is not what is wanted any more'
  }

/**
 * Bring one Node to what is wanted: read it as it is now, write the difference, and again until there is none. A
 * conflict reads again. Never rejects.
 */
export const reconcileNode = async (
  task: Task,
  seams: {
    readonly kube: KubeApi
    readonly signal: AbortSignal
    readonly record: WriteRecorder
    /** Judge by what is known at this moment. */
    readonly judge: () => void
  },
): Promise<TaskEnd> => {
  const { kube, signal, record, judge } = seams
  const guard = guardOf(task.isWanted, judge)
  const { node: name, what } = task
  let node: NodeView | undefined
  let before: NodeView | undefined
  let written = 0
  let last: unknown
  for (let tries = 0; tries < MOST_WRITES; tries++) {
    let kind: WriteRecord['kind'] = 'status'
    let patch: Patch | undefined
    try {
      node ??= await kube.getNode(name, signal)
      before ??= node
      const plan = task.isWanted() ? task.plan(node) : NOTHING
      if (plan.kind === 'nothing')
        return { before, node, written, result: 'done', error: undefined }
      kind = plan.kind
      patch = plan.patch
      node = await (plan.kind === 'status'
        ? kube.patchNodeStatus(name, plan.patch, signal, guard)
        : kube.patchNode(name, plan.patch, signal, guard))
      written++
      record({ node: name, kind, what, result: 'done', trouble: '' })
    } catch (error) {
      const result = resultOf(error, patch)
      last = error
      record({ node: name, kind, what, result, trouble: reasonOf(error) })
      if (result !== 'conflict') return { before, node, written, result, error }
      node = undefined
    }
  }
  return { before, node, written, result: 'conflict', error: last }
}
