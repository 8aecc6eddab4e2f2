// SPDX-License-Identifier: Apache-2.0
import { listAt, textAt } from '../../core/json-at.js'
import { UNREACHABLE_TAINT } from '../../core/marks.js'
import { replaceList, unchanged, type Decision } from './decision.js'
import type { Knowledge } from './nodes.js'
import type { Review } from './review.js'
import { judgeNode, nodeFacts } from './standing.js'

const evicts = (taint: unknown): boolean =>
  textAt(taint, 'key') === UNREACHABLE_TAINT && textAt(taint, 'effect') === 'NoExecute'

/**
 * Removes the control plane's taint `unreachable:NoExecute` from a kept Node, whether this write adds it or it was there
 * before. The Node itself has all facts for the decision.
 */
export const decideTaint = (
  { object }: Pick<Review, 'object'>,
  { rules, now }: Pick<Knowledge, 'rules' | 'now'>,
): Decision => {
  const taints = listAt(object, 'spec', 'taints') ?? []
  if (!taints.some(evicts)) return unchanged('harmless')
  const standing = judgeNode(nodeFacts(object), rules, now)
  if (!standing.kept) return unchanged(standing.why)
  return replaceList(
    '/spec/taints',
    taints,
    taints.filter(taint => !evicts(taint)),
  )
}
