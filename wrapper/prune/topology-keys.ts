// SPDX-License-Identifier: Apache-2.0

/** What a Service asks of topology. */
export interface ServiceRule {
  /** Empty: no topology. */
  readonly keys: readonly string[]
  /** What is wrong with the annotation as it is now; the keys are then the last good ones. */
  readonly trouble?: string
}

const later = (): never => {
  throw new Error('comes with the next step')
}

/**
 * The rule that the annotation `topologyKeys` asks for. A text that is no list of label keys keeps the last good rule
 * and says so.
 */
export const parseTopologyKeys = (
  _text: string | undefined,
  _last: ServiceRule | undefined,
): ServiceRule => later()
