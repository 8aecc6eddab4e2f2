// SPDX-License-Identifier: Apache-2.0
import { show } from '../../core/errors.js'
import { textAt } from '../../core/json-at.js'
import { unchanged, type Decision } from './decision.js'
import { whyNotKept, type Knowledge } from './nodes.js'
import { conditionStatus } from './read.js'
import type { Review } from './review.js'
import { judgeNode } from './standing.js'

const takesReadyAway = ({ object, oldObject }: Pick<Review, 'object' | 'oldObject'>): boolean =>
  conditionStatus(oldObject, 'Ready') === 'True' && conditionStatus(object, 'Ready') === 'False'

/**
 * The Pod's node, when our copy of its Node may be older than the write: the node controller marks Pods right after it set
 * their Node to Unknown. Undefined when a newer Node could not change the decision.
 */
export const awaitedNode = (
  review: Pick<Review, 'object' | 'oldObject'>,
  { find, rules }: Pick<Knowledge, 'find' | 'rules'>,
): string | undefined => {
  if (!takesReadyAway(review)) return undefined
  const found = find(textAt(review.object, 'spec', 'nodeName'))
  if (found.kind !== 'known' || found.node.ready !== 'True') return undefined
  // Everything except the age of the peers' report, which is checked when the node is judged.
  const soon = judgeNode({ ...found.node, ready: 'Unknown' }, rules, undefined)
  return soon.kept || soon.why === 'no-time' ? found.node.name : undefined
}

/**
 * Refuses the node controller's status "this Pod is not ready" while the Pod's node is kept. It is refused instead of
 * reverted: the controller writes it once per Pod when the node becomes Unknown, and again only after a failure, in each of
 * its rounds. So its first round after the peers stop vouching marks the Pods.
 */
export const decidePod = (
  { object, oldObject }: Pick<Review, 'object' | 'oldObject'>,
  knowledge: Knowledge,
): Decision => {
  if (!takesReadyAway({ object, oldObject })) return unchanged('harmless')
  const name = textAt(object, 'spec', 'nodeName')
  const why = whyNotKept(name, knowledge)
  if (why !== undefined) return unchanged(why)
  return {
    kind: 'refused',
    message: `edge-health: node ${show(name)} is kept, so its Pods stay ready; try again in the next round`,
  }
}
