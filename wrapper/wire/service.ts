// SPDX-License-Identifier: Apache-2.0

export interface ServiceView {
  /** The text of the annotation `topologyKeys`. */
  readonly topologyKeys: string | undefined
  /** `None` for a headless service; empty when there is none. */
  readonly clusterIP: string
  readonly type: string
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/** Read what pruning and field selectors ask of a Service. @throws WireError */
export const readService = (_raw: Uint8Array): ServiceView => later()
