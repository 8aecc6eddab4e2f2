// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import type { Message } from './message.js'

/** What Go leaves out when it is empty is left out here too: a parent that is '' would be an answer to nobody. */
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

/** The TEXT frame of a message. It ends with a line feed, as KubeEdge's do. */
export const frameOf = (message: Message): string => {
  const { id, parentId, timestamp, resourceVersion, source, group, operation, resource } = message
  return `${writeExactJson({
    header: {
      msg_id: id,
      parent_msg_id: given(parentId),
      timestamp,
      resourceversion: given(resourceVersion),
    },
    route: {
      source: given(source),
      group: given(group),
      operation: given(operation),
      resource: given(resource),
    },
    content: message.content ?? null,
  })}\n`
}
