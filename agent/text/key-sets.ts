// SPDX-License-Identifier: Apache-2.0
import type { NodeStatus, StatusView } from '../http/status-view.js'

/** Members with other keys than this agent: they say so, or one of the two refused the other's signature. */
export const withOtherKeys = ({
  keys,
  nodes,
}: Pick<StatusView, 'keys' | 'nodes'>): readonly NodeStatus[] =>
  nodes.filter(
    ({ peer }) =>
      peer !== null && (peer.isKeyRefused || (peer.keySet !== null && peer.keySet !== keys.set)),
  )
