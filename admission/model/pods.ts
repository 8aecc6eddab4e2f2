// SPDX-License-Identifier: Apache-2.0
import { show } from '../../core/errors.js'
import { unchanged, type Decision } from './decision.js'
import { whyNotKept, type Knowledge } from './nodes.js'
import { conditionStatus, textAt } from './read.js'
import type { Review } from './review.js'

/**
 * The node controller's "this Pod is not ready" is refused while the Pod's node is kept. Refused, not taken back in silence:
 * the controller says it once for each Pod, when the node becomes Unknown, and only after a failure again, in each of its
 * rounds. So the first round after the peers' word ended marks what is to be marked.
 */
export const decidePod = (
  { object, oldObject }: Pick<Review, 'object' | 'oldObject'>,
  knowledge: Knowledge,
): Decision => {
  const takesReadyAway =
    conditionStatus(oldObject, 'Ready') === 'True' && conditionStatus(object, 'Ready') === 'False'
  if (!takesReadyAway) return unchanged('harmless')
  const name = textAt(object, 'spec', 'nodeName')
  const why = whyNotKept(name, knowledge)
  if (why !== undefined) return unchanged(why)
  return {
    kind: 'refused',
    message: `edge-health: node ${show(name)} is kept, so its Pods stay ready; try again in the next round`,
  }
}
