// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import { readAnnotation } from './meta.js'

export interface ServiceView {
  /** The text of the annotation `topologyKeys`. */
  readonly topologyKeys: string | undefined
  /** `None` for a headless service; empty when there is none. */
  readonly clusterIP: string
  readonly type: string
}

const SPEC = 2
const CLUSTER_IP = 3
const TYPE = 4

/** Read what pruning and field selectors need of a Service. @throws WireError */
export const readService = (raw: Uint8Array): ServiceView => {
  let clusterIP = ''
  let type = ''
  const fields = new Fields(raw)
  while (fields.next()) {
    if (fields.number !== SPEC) continue
    const spec = fields.inside()
    while (spec.next()) {
      if (spec.number === CLUSTER_IP) clusterIP = spec.text()
      else if (spec.number === TYPE) type = spec.text()
    }
  }
  return { topologyKeys: readAnnotation(raw, 'topologyKeys'), clusterIP, type }
}
