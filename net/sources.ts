// SPDX-License-Identifier: Apache-2.0
import { isIPv6, type Socket } from 'node:net'

/** The other end of a connection. */
export interface RemoteEnd {
  readonly address: string
  readonly port: number
}

/** Of a socket that is gone nothing is known any more. */
export const endOf = ({
  remoteAddress: address = '',
  remotePort: port = 0,
}: Pick<Socket, 'remoteAddress' | 'remotePort'>): RemoteEnd => ({ address, port })

/** Tells who stands behind connections. */
export interface Sources {
  /** Whoever has this key shares one budget; undefined while it cannot be told. */
  keyOf(end: RemoteEnd): string | undefined
  /** Members have a reserve that strangers cannot use up. Asked anew each time, since members come and go. */
  isMember(key: string): boolean
}

/** An address is always known. */
export interface AddressSources extends Sources {
  keyOf(end: RemoteEnd): string
}

/** IPv4 addresses look like this on a socket that takes both families. */
const MAPPED = '::ffff:'

/** An IP address as a roster has it. */
export const plainAddress = (address: string): string =>
  address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address

const words = (part: string): string[] => (part === '' ? [] : part.split(':'))

/**
 * The network that one machine is given at least: an IPv4 address, or the first half of an IPv6 address, since whoever
 * has one address of such a network may take all of them.
 */
export const networkOf = (address: string): string => {
  const plain = plainAddress(address)
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('%', 1)[0]!.split('::')
  const front = words(head)
  const back = tail === undefined ? [] : words(tail)
  const zeros = Math.max(0, 8 - front.length - back.length)
  const all = [...front, ...Array<string>(zeros).fill('0'), ...back]
  return `${all.slice(0, 4).join(':')}::/64`
}

/** Sources told apart by where they come from; a member by its whole address. */
export const byAddress = (isMember: (address: string) => boolean): AddressSources => ({
  keyOf: ({ address }) => {
    const plain = plainAddress(address)
    return isMember(plain) ? plain : networkOf(plain)
  },
  isMember,
})
