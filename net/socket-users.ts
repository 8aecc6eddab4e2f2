// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { endianness, userInfo } from 'node:os'
import { isIPv6 } from 'node:net'
import type { Clock } from '../core/clock.js'
import { isLoopback } from '../core/loopback.js'
import { networkOf, plainAddress, type RemoteEnd, type Sources } from './sources.js'

/** The kernel's table of TCP sockets in this network namespace, as text; empty when there is none. */
export type SocketTable = (family: 4 | 6) => string

/** A file of /proc; empty when there is none (not on Linux), and then local programs cannot be told apart. */
export const readTable = (path: string): string => {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}

/** The socket tables of Linux. */
export const kernelSockets: SocketTable = family =>
  readTable(family === 4 ? '/proc/self/net/tcp' : '/proc/self/net/tcp6')

/** A table is reused for this long, so that many connections do not cause as many reads. */
export const USERS_FRESH_MS = 100

/** The table shows addresses as 32-bit words in the machine's byte order. */
export type ByteOrder = 'BE' | 'LE'

const hexOf = (address: string, order: ByteOrder): string => {
  // The only IPv6 loopback is ::1.
  const bytes = isIPv6(address) ? [0, 0, 0, 1] : address.split('.').map(Number)
  if (order === 'LE') bytes.reverse()
  const word = Buffer.from(bytes).toString('hex').toUpperCase()
  return isIPv6(address) ? `${'0'.repeat(24)}${word}` : word
}

const placeOf = ({ address, port }: RemoteEnd, order: ByteOrder): string =>
  `${hexOf(plainAddress(address), order)}:${port.toString(16).toUpperCase().padStart(4, '0')}`

/**
 * User ids by the socket's local address. Columns: number, local address, remote address, state, queues, timer,
 * retransmits, user.
 */
const usersIn = (table: string): Map<string, number> => {
  const users = new Map<string, number>()
  for (const line of table.split('\n')) {
    const [, own = '', , state, , , , user = ''] = line.trim().split(/\s+/, 8)
    // 01 is ESTABLISHED. In TIME_WAIT and similar states the kernel reports no user.
    if (state === '01' && /^\d+$/.test(user)) users.set(own, Number(user))
  }
  return users
}

interface UserSeams {
  readonly clock: Clock
  readonly table?: SocketTable
  /** @default the machine's */
  readonly order?: ByteOrder
}

/**
 * Sources for a listener on loopback, where every client has the same address: clients are told apart by the user that owns
 * their socket, as the kernel reports it, and other clients by their network.
 * @param members user ids that have the reserve
 */
export const byUser = (
  members: readonly number[],
  { clock, table = kernelSockets, order = endianness() }: UserSeams,
): Sources => {
  const trusted = new Set(members.map(user => `user ${user}`))
  const known = new Map<4 | 6, { readonly at: number; readonly users: Map<string, number> }>()
  const usersOf = (family: 4 | 6): Map<string, number> => {
    const last = known.get(family)
    if (last !== undefined && clock.now() - last.at < USERS_FRESH_MS) return last.users
    const users = usersIn(table(family))
    known.set(family, { at: clock.now(), users })
    return users
  }
  return {
    keyOf: end => {
      if (!isLoopback(end.address)) return networkOf(end.address)
      const user = usersOf(isIPv6(plainAddress(end.address)) ? 6 : 4).get(placeOf(end, order))
      return user === undefined ? undefined : `user ${user}`
    },
    isMember: key => trusted.has(key),
  }
}

/** Users whose programs may always connect: root, which could stop us anyway, and our own user. */
export const trustedUsers = (): readonly number[] => [0, userInfo().uid]
