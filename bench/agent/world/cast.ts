// SPDX-License-Identifier: Apache-2.0
import { parseNodeName, parseZoneName } from '../../../core/ids.js'
import { makeRoster, type Member, type Roster } from '../../../core/roster.js'

/** Everybody listens there; 10250 is the kubelets'. */
export const PEER_PORT = 51005
export const LOCAL_PORT = 51006
export const KUBELET_PORT = 10250
export const ZONE = 'bench'

/** Who plays: node 0 is the agent under test, the others are the world's. */
export interface Cast {
  readonly members: readonly Member[]
}

/** Loopback addresses 127.<block>.x.y, one per node; the whole of 127.0.0.0/8 is there on Linux. */
export const castOf = (nodes: number, block: number): Cast => ({
  members: Array.from({ length: nodes }, (_, i) => {
    const place = i + 1
    return {
      name: parseNodeName(`edge-${place}`),
      address: `127.${block}.${place >> 8}.${place & 255}`,
    }
  }),
})

/** The zone as a peer sees it. */
export const rosterOf = (members: readonly Member[], self: Member): Roster =>
  makeRoster(parseZoneName(ZONE), self.name, members)
