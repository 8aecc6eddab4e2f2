// SPDX-License-Identifier: Apache-2.0
import type { Target } from '../../../core/check.js'
import { isLoopback } from '../../../core/loopback.js'
import type { ZoneRecords } from '../../results.js'
import { voteFor } from './identity.js'
import type { Credit } from './probe-worker.js'

/** What the credit depends on, at one instant. */
export interface CreditScene {
  readonly records: ZoneRecords
  /** A member that has sent nothing since then is silent. */
  readonly sinceAt: number
  /** Whether a connection to this address would end on our own machine. */
  readonly isOwnAddress: (address: string) => boolean
}

/** A whole zone on one machine's loopback is a demo: there the machine's own addresses do identify nodes. */
const isOurs = (address: string, own: string, { isOwnAddress }: CreditScene): boolean =>
  address === own || (!isLoopback(own) && isOwnAddress(address))

/** What an answer from this target's address is worth: an address is not a node. */
export const creditOf = ({ name, address }: Target, scene: CreditScene): Credit => {
  const { roster, table, signerAt } = scene.records
  const index = roster.indexOf(name)
  if (index === undefined) return { vote: 'not-looked', reason: 'it left the zone' }
  const signer = signerAt(index)
  const sharers = roster.sharersOf(index)
  const signerIndex = typeof signer === 'bigint' ? roster.indexOfId(signer) : undefined
  const who = signerIndex === undefined ? undefined : roster.members[signerIndex]!.name
  const identity =
    who === name ? 'itself' : who !== undefined && sharers.includes(who) ? 'sharer' : 'another'
  const isOwn = isOurs(address, roster.members[roster.self]!.address, scene)
  const signedBy = isOwn ? 'own' : typeof signer === 'bigint' ? identity : signer
  const speaks = table.producedAt[index]! > scene.sinceAt
  const vote = voteFor({ signedBy, isShared: sharers.length > 0, speaks })
  const elsewhere = `${who ?? 'another agent'} answers at its address ${address}`
  const shared = `its address ${address} is also that of ${sharers.join(', ')}`
  const reasons = {
    own: `its address ${address} is this node's own`,
    sharer: elsewhere,
    another: elsewhere,
    unasked: `it is not known yet who answers at its address ${address}`,
    itself: shared,
    nobody: shared,
  }
  return { vote, reason: reasons[signedBy] }
}
