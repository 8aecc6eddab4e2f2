// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'

const SPEC = 2
const UNSCHEDULABLE = 4

/** `spec.unschedulable` of a Node. @throws WireError */
export const readUnschedulable = (raw: Uint8Array): boolean => {
  let isSo = false
  const fields = new Fields(raw)
  while (fields.next()) {
    if (fields.number !== SPEC) continue
    const spec = fields.inside()
    while (spec.next()) if (spec.number === UNSCHEDULABLE) isSo = spec.integer() !== 0
  }
  return isSo
}
