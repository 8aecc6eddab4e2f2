// SPDX-License-Identifier: Apache-2.0
// What the agent's traffic came to at the interface, beside the bars.
import type { Member } from '../../core/roster.js'
import type { Entry, Sides } from '../../testkit/meter/ledger.js'
import { megabytesADay, sumOf } from '../../testkit/meter/traffic.js'
import { KUBELET_PORT, PEER_PORT } from './world/cast.js'

const LOOPBACK = '127.0.0.1'

/** The address by which the agent alone asks the apiserver. */
export const apiAddress = (block: number): string => `127.${block + 1}.0.1`

/**
 * The agent sends from 127.0.0.1 and listens on its own address; what these two say to each other is the world's, or stays
 * on the node.
 */
export const sidesOf = (agent: Member, block: number): Sides => ({
  isOurs: ({ address }) => address === agent.address || address === LOOPBACK,
  endOf: (theirs, ours) => {
    if (theirs.address === apiAddress(block)) return 'apiserver'
    if (theirs.port === KUBELET_PORT) return 'kubelets'
    return theirs.port === PEER_PORT || ours.port === PEER_PORT ? 'peers' : undefined
  },
})

/** What was counted in a time. */
export interface LinkTraffic {
  readonly seconds: number
  readonly entries: readonly Entry[]
}

/** The two figures that have a bar: IP packets whole. */
export interface LinkFigures {
  readonly sentToZonePerSecond: number
  /** Both ways, with 10⁶ bytes each. */
  readonly cloudMegabytesADay: number
}

export const figuresOf = ({ entries, seconds }: LinkTraffic): LinkFigures => {
  const sent = (end: string): number => sumOf(entries, { end, direction: 'sent' }).bytes
  return {
    sentToZonePerSecond: (sent('peers') + sent('kubelets')) / seconds,
    cloudMegabytesADay: megabytesADay(sumOf(entries, { end: 'apiserver' }).bytes, seconds),
  }
}
