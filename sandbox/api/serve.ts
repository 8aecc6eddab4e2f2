// SPDX-License-Identifier: Apache-2.0
import type { JsonMap, KubeObject } from './object.js'
import { groupVersion, type Row } from './row.js'

/** A stored object as a row serves it. */
export const served = (row: Row, object: KubeObject): KubeObject => {
  const form: JsonMap = row.form === undefined ? object : row.form.toServed(object)
  // Kind and version come first in the text: lists cut them off there.
  const type = { kind: row.kind, apiVersion: groupVersion(row) }
  return { ...type, ...form, ...type, metadata: object.metadata }
}
