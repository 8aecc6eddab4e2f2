// SPDX-License-Identifier: Apache-2.0

/** Messages to edges by outcome. */
export interface MessageCounts {
  sent: number
  resent: number
  acknowledged: number
  refused: number
}

export const noMessages = (): MessageCounts => ({ sent: 0, resent: 0, acknowledged: 0, refused: 0 })
