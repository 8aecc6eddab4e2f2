// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../../core/errors.js'
import { addressesFrom, aliasLines, checkPlaces } from '../addresses.js'
import { NODE_PORTS } from '../zone-node.js'
import { SITES_PORTS } from './sites.js'

/** The machine cannot hold the zone; the message says what to type. */
class PlaceError extends EdgeHealthError {
  constructor(message: string) {
    super('LISTEN', message)
  }
}

interface Places {
  readonly nodes: number
  /** The first of the nodes' loopback addresses. */
  readonly addressBase: string
}

/** The nodes' addresses, all of whose ports are free. @throws PlaceError, InvalidInputError for a bad address base */
export const claimPlaces = async (
  options: Places,
  platform: string,
): Promise<readonly string[]> => {
  const addresses = addressesFrom(options.addressBase, options.nodes)
  const [{ missing, taken: ofNodes }, { taken: ofSites }] = await Promise.all([
    checkPlaces(addresses, NODE_PORTS),
    checkPlaces(addresses.slice(0, 1), SITES_PORTS),
  ])
  const taken = [...ofNodes, ...ofSites]
  if (missing.length > 0) {
    const how =
      platform === 'darwin'
        ? `They last until the next restart; add them with:\n${aliasLines(missing).join('\n')}`
        : 'Give the loopback interface these addresses, or name others with --address-base.'
    throw new PlaceError(
      `this machine has no address ${missing[0]!}${missing.length > 1 ? ' and others' : ''}. ${how}`,
    )
  }
  if (taken.length > 0) {
    throw new PlaceError(
      `${taken[0]!} is taken, perhaps by another demo: name free addresses, such as --address-base 127.8.0.11`,
    )
  }
  return addresses
}
