// SPDX-License-Identifier: Apache-2.0
import { show } from '../../core/errors.js'
import { unchanged, type Decision } from './decision.js'
import { whyNotKept, type Knowledge } from './nodes.js'
import { conditionStatus, textAt } from './read.js'
import type { Review } from './review.js'
import { judgeNode } from './standing.js'

const takesReadyAway = ({ object, oldObject }: Pick<Review, 'object' | 'oldObject'>): boolean =>
  conditionStatus(oldObject, 'Ready') === 'True' && conditionStatus(object, 'Ready') === 'False'

/**
 * The name of the Pod's node, when what is known of it may be older than the write: the node controller marks Pods right after it
 * made their Node Unknown. Undefined when nothing that may yet be heard would change the decision.
 */
export const awaitedNode = (
  review: Pick<Review, 'object' | 'oldObject'>,
  { find, rules }: Pick<Knowledge, 'find' | 'rules'>,
): string | undefined => {
  if (!takesReadyAway(review)) return undefined
  const found = find(textAt(review.object, 'spec', 'nodeName'))
  if (found.kind !== 'known' || found.node.ready !== 'True') return undefined
  // All but the age of what the peers said, which counts when the node is judged.
  const soon = judgeNode({ ...found.node, ready: 'Unknown' }, rules, undefined)
  return soon.kept || soon.why === 'no-time' ? found.node.name : undefined
}

/**
 * The node controller's "this Pod is not ready" is refused while the Pod's node is kept. Refused, not taken back in silence:
 * the controller says it once for each Pod, when the node becomes Unknown, and only after a failure again, in each of its
 * rounds. So the first round after the peers have stopped vouching marks what is to be marked.
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
