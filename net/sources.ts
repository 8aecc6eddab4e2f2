// SPDX-License-Identifier: Apache-2.0
import { isIPv6, type Socket } from 'node:net'

/** An end of a connection. */
export interface Endpoint {
  readonly address: string
  readonly port: number
}

/** The other end of a connection. */
export interface RemoteEnd extends Endpoint {
  /** Our end of it; undefined when the socket is closed. */
  readonly ours?: Endpoint
  /** Stands for the connection itself: others may have the same ends before and after. Undefined: a new one each time. */
  readonly socket?: object
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort'>

/** A closed socket no longer knows its ends: empty address, port 0. */
export const endOf = (socket: Ends): RemoteEnd => {
  const { remoteAddress: address = '', remotePort: port = 0, localAddress, localPort } = socket
  return localAddress === undefined || localPort === undefined
    ? { address, port, socket }
    : { address, port, socket, ours: { address: localAddress, port: localPort } }
}

/** Tells the clients of a listener apart. */
export interface Sources {
  /** Connections with the same key share one budget; undefined while the source is unknown. */
  keyOf(end: RemoteEnd): string | undefined
  /** Members have a reserve that strangers cannot use up. Called each time, since members change. */
  isMember(key: string): boolean
  /** A connection was opened. Without this, it counts as opened when `keyOf` is asked first. */
  opened?(socket: object): void
  /** After so many milliseconds a source that is unknown now can be known. @default 0 */
  askAgainMs?(): number
}

/** Sources by address: never unknown. */
export interface AddressSources extends Sources {
  keyOf(end: RemoteEnd): string
}

/** Prefix of IPv4 addresses on a socket for both families. */
const MAPPED = '::ffff:'

/** An IP address in the form that a roster has. */
export const plainAddress = (address: string): string =>
  address.startsWith(MAPPED) && address.includes('.') ? address.slice(MAPPED.length) : address

const words = (part: string): string[] => (part === '' ? [] : part.split(':'))

/**
 * The smallest network that is assigned to one machine: an IPv4 address, or the /64 of an IPv6 address, since a machine may
 * use every address of its /64.
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

/** Sources told apart by network, members by their whole address. */
export const byAddress = (isMember: (address: string) => boolean): AddressSources => ({
  keyOf: ({ address }) => {
    const plain = plainAddress(address)
    return isMember(plain) ? plain : networkOf(plain)
  },
  isMember,
})
