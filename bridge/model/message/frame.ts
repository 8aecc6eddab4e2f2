// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import type { Message } from './message.js'

/** Go omits empty fields, and so do we: a `parent_msg_id` of '' would make the message an answer. */
const given = (value: string | undefined): string | undefined => (value === '' ? undefined : value)

/** A message as a text frame. It ends with a line feed, as KubeEdge's do. */
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
