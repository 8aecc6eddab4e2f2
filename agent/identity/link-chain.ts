// SPDX-License-Identifier: Apache-2.0
import { hash } from 'node:crypto'

/** 80 bits: nobody can find a link with a given hash while a record counts. */
export const LINK_BYTES = 10
/** In memory a link is a string of hexadecimal digits: small, quick to compare, hashed in a third of the time of bytes. */
export const LINK_DIGITS = 2 * LINK_BYTES

/** Hashed into every link, so that equal links of two statements are followed by different ones. */
export interface ChainOf {
  readonly zoneHash: bigint
  /** `id64` of the node's name. */
  readonly id: bigint
  readonly epoch: number
  /** The statement's time, in quarters of a second. */
  readonly time: number
}

export const saltOf = ({ zoneHash, id, epoch, time }: ChainOf): string =>
  hash('sha256', `${zoneHash}/${id}/${epoch}/${time}`, 'hex').slice(0, 16)

/** The link this many slots before this one. In a large zone an agent hashes a link of each member in each slot. */
const before = (salt: string, link: string, steps: number): string => {
  let earlier = link
  for (let i = 0; i < steps; i++)
    earlier = hash('sha256', salt + earlier, 'hex').slice(0, LINK_DIGITS)
  return earlier
}

/**
 * The links of one statement: link 0 is its anchor, and each is the hash of the next one. Nobody can compute link i + 1
 * from link i, so link i proves that the node was alive in slot i.
 */
export class LinkChain {
  readonly #links: Buffer

  /** @param seed `LINK_BYTES` random bytes, kept secret and used once */
  constructor(salt: string, seed: Uint8Array, links: number) {
    this.#links = Buffer.alloc((links + 1) * LINK_BYTES)
    let link = Buffer.from(seed).toString('hex')
    for (let at = links; at >= 0; at--) {
      this.#links.write(link, at * LINK_BYTES, 'hex')
      if (at > 0) link = before(salt, link, 1)
    }
  }

  /** Number of the last link. */
  get last(): number {
    return this.#links.length / LINK_BYTES - 1
  }

  get anchor(): string {
    return this.link(0)
  }

  /** @param at from 0 to `last` */
  link(at: number): string {
    return this.#links.toString('hex', at * LINK_BYTES, (at + 1) * LINK_BYTES)
  }
}

/** Most slots between two links that are checked in one go: some 1.5 ms of hashing. */
export const MAX_STEPS = 2_048

/** Whether `link` comes `steps` slots after the link `known` of the same chain. */
export const followsLink = (salt: string, known: string, link: string, steps: number): boolean => {
  if (!Number.isInteger(steps) || steps < 1 || steps > MAX_STEPS || link.length !== LINK_DIGITS)
    return false
  return before(salt, link, steps) === known
}
