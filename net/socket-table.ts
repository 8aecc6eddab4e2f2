// SPDX-License-Identifier: Apache-2.0
import { closeSync, openSync, readSync } from 'node:fs'

/**
 * The kernel's table of TCP sockets in this network namespace, as text in pieces that begin and end with a line; none when
 * there is no table.
 */
export type SocketTable = (family: 4 | 6) => Iterable<string>

/** Of a longer table the rest is not read: some 28 000 sockets, for which a slow machine takes 150 ms, in which all else waits. */
export const MAX_TABLE_BYTES = 4 << 20

const PIECE_BYTES = 64 << 10

const NEWLINE = 10

function* piecesOf(file: number): Generator<string, void> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES)
  let held = 0
  for (let count = -1; count !== 0;) {
    // The kernel gives a page at most.
    count = readSync(file, buffer, held, buffer.length - held, null)
    held += count
    if (count !== 0 && held < buffer.length / 2) continue
    const end = buffer.subarray(0, held).lastIndexOf(NEWLINE) + 1
    yield buffer.toString('latin1', 0, end)
    buffer.copyWithin(0, end, held)
    held -= end
  }
}

/** A file of /proc; empty when there is none (not on Linux), and then local programs cannot be told apart. */
export function* readTable(path: string): Generator<string, void> {
  let file: number | undefined
  try {
    file = openSync(path, 'r')
    yield* piecesOf(file)
  } catch {
    return
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** The socket tables of Linux. */
export const kernelSockets: SocketTable = family =>
  readTable(family === 4 ? '/proc/self/net/tcp' : '/proc/self/net/tcp6')

/** A port as the table shows it. */
export const portText = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0')

/** ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT: states in which a program may still have the socket. */
const STATES = ['01', '04', '05', '08']

/**
 * Columns: number, local address, remote address, state, queues, timer, retransmits, user, timeout, inode. A socket that no
 * program has any more has no inode, and the kernel calls it root's. This is what follows the state.
 */
const AFTER_STATE = /\S+ \S+ \S+ +(\d+) +\d+ +[1-9]/y

/**
 * Only what a program may have is looked at: closed connections to our port, or to the same port elsewhere, cost a user no
 * descriptor, and there may be tens of thousands. A port with a state after it is that of a remote address.
 */
const addUsers = (users: Map<string, number>, piece: string, remotePort: string): void => {
  for (const state of STATES) {
    const text = `${remotePort} ${state} `
    for (let at = piece.indexOf(text); at >= 0; at = piece.indexOf(text, at + 1)) {
      AFTER_STATE.lastIndex = at + text.length
      const user = AFTER_STATE.exec(piece)?.[1]
      if (user === undefined) continue
      const start = piece.indexOf(': ', piece.lastIndexOf('\n', at) + 1) + 2
      users.set(piece.slice(start, at + remotePort.length), Number(user))
    }
  }
}

/** User ids of sockets, by `LOCAL REMOTE` as the table shows them. */
export interface SocketUsers {
  readonly users: ReadonlyMap<string, number>
  /** False: the table was too long, and of some sockets the user is not known. */
  readonly isWhole: boolean
}

/** The users of the sockets that are connected to one of these ports. */
export const usersOf = (table: Iterable<string>, ports: ReadonlySet<number>): SocketUsers => {
  const users = new Map<string, number>()
  let bytes = 0
  for (const piece of table) {
    bytes += piece.length
    if (bytes > MAX_TABLE_BYTES) return { users, isWhole: false }
    for (const port of ports) addUsers(users, piece, `:${portText(port)}`)
  }
  return { users, isWhole: true }
}
