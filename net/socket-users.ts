// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'
import { endianness, userInfo } from 'node:os'
import { isIPv6, type Socket } from 'node:net'
import { sleep, type Clock } from '../core/clock.js'
import { isLoopback } from '../core/loopback.js'
import type { Source } from './byte-budget.js'
import {
  endOf,
  networkOf,
  plainAddress,
  type Endpoint,
  type RemoteEnd,
  type Sources,
} from './sources.js'

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

/** By then what was read about users is read anew; timers may be early by a millisecond. */
const LOOK_AGAIN_MS = USERS_FRESH_MS + 5

/** The table shows addresses as 32-bit words in the machine's byte order. */
export type ByteOrder = 'BE' | 'LE'

const hexOf = (address: string, order: ByteOrder): string => {
  // The only IPv6 loopback is ::1.
  const bytes = isIPv6(address) ? [0, 0, 0, 1] : address.split('.').map(Number)
  if (order === 'LE') bytes.reverse()
  const word = Buffer.from(bytes).toString('hex').toUpperCase()
  return isIPv6(address) ? `${'0'.repeat(24)}${word}` : word
}

/** What stands before an IPv4 address that an IPv6 socket has. */
const MAPPED = { LE: '0000000000000000FFFF0000', BE: '00000000000000000000FFFF' }

const placeOf = ({ address, port }: Endpoint, order: ByteOrder): string =>
  `${hexOf(plainAddress(address), order)}:${port.toString(16).toUpperCase().padStart(4, '0')}`

/** ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT: states in which a program may still have the socket. */
const STATES = ['01', '04', '05', '08']

/**
 * User ids of the sockets that are connected to one address and port, by the sockets' own. Columns: number, local address, remote address,
 * state, queues, timer, retransmits, user, timeout, inode. A socket that no program has any more has no inode, and the kernel
 * calls it root's.
 */
const usersOf = (table: string, remote: string): ReadonlyMap<string, number> => {
  const users = new Map<string, number>()
  const column = ` ${remote} `
  for (let at = table.indexOf(column); at >= 0; at = table.indexOf(column, at + 1)) {
    const [line = ''] = table.slice(at + column.length, at + column.length + 200).split('\n', 1)
    const [state = '', , , , user = '', , inode = ''] = line.trim().split(/\s+/, 7)
    if (!STATES.includes(state) || !/^\d+$/.test(user) || !/^[1-9]/.test(inode)) continue
    users.set(table.slice(table.lastIndexOf(' ', at - 1) + 1, at), Number(user))
  }
  return users
}

/** A socket table of one moment. Others may use a client's own address and port too, to connect to elsewhere. */
class Table {
  readonly #text: string
  readonly #users = new Map<string, ReadonlyMap<string, number>>()

  constructor(text: string) {
    this.#text = text
  }

  userOf(theirs: string, ours: string): number | undefined {
    const users = this.#users.get(ours) ?? usersOf(this.#text, ours)
    this.#users.set(ours, users)
    return users.get(theirs)
  }
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
  const known = new Map<4 | 6, { readonly at: number; readonly table: Table }>()
  const tableOf = (family: 4 | 6): Table => {
    const last = known.get(family)
    if (last !== undefined && clock.now() - last.at < USERS_FRESH_MS) return last.table
    const read = { at: clock.now(), table: new Table(table(family)) }
    known.set(family, read)
    return read.table
  }
  const userOf = ({ ours, ...theirs }: RemoteEnd): number | undefined => {
    if (ours === undefined) return undefined
    const [from, to] = [placeOf(theirs, order), placeOf(ours, order)]
    if (isIPv6(plainAddress(theirs.address))) return tableOf(6).userOf(from, to)
    const mapped = MAPPED[order]
    return tableOf(4).userOf(from, to) ?? tableOf(6).userOf(`${mapped}${from}`, `${mapped}${to}`)
  }
  return {
    keyOf: end => {
      if (!isLoopback(end.address)) return networkOf(end.address)
      const user = userOf(end)
      return user === undefined ? undefined : `user ${user}`
    },
    isMember: key => trusted.has(key),
  }
}

/** Users whose programs may always connect: root, which could stop us anyway, and our own user. */
export const trustedUsers = (): readonly number[] => [0, userInfo().uid]

/** Who has a connection. One that is younger than what was read about users is looked up again, so that root is no stranger. */
export const sourceOf = async (
  socket: Socket,
  sources: Sources,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Source> => {
  let key = sources.keyOf(endOf(socket))
  if (key === undefined) {
    await sleep(clock, LOOK_AGAIN_MS, signal)
    key = sources.keyOf(endOf(socket)) ?? 'unknown'
  }
  return { key, isMember: sources.isMember(key) }
}
