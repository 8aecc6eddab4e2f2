// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import { readLabels } from './meta.js'

export interface NodeView {
  readonly labels: ReadonlyMap<string, string>
  readonly internalIPs: readonly string[]
}

const SPEC = 2
const UNSCHEDULABLE = 4
const STATUS = 3
const ADDRESSES = 5
const ADDRESS_TYPE = 1
const ADDRESS = 2

/** The address that `entry` holds, when it is an internal one. */
const readInternalIP = (entry: Fields): string | undefined => {
  let type = ''
  let address = ''
  while (entry.next()) {
    if (entry.number === ADDRESS_TYPE) type = entry.text()
    else if (entry.number === ADDRESS) address = entry.text()
  }
  return type === 'InternalIP' && address !== '' ? address : undefined
}

const readInternalIPs = (status: Fields): string[] => {
  const found: string[] = []
  while (status.next()) {
    if (status.number !== ADDRESSES) continue
    const address = readInternalIP(status.inside())
    if (address !== undefined) found.push(address)
  }
  return found
}

/** Read what pruning asks of a Node. @throws WireError */
export const readNode = (raw: Uint8Array): NodeView => {
  const internalIPs: string[] = []
  const fields = new Fields(raw)
  while (fields.next())
    if (fields.number === STATUS) internalIPs.push(...readInternalIPs(fields.inside()))
  return { labels: readLabels(raw), internalIPs }
}

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
