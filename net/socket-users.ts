// SPDX-License-Identifier: Apache-2.0
import { endianness, userInfo } from 'node:os'
import { isIPv6, type Socket } from 'node:net'
import { sleep, type Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import { isLoopback } from '../core/loopback.js'
import type { Source } from './byte-budget.js'
import { kernelSockets, portText, usersOf, type SocketTable } from './socket-table.js'
import {
  endOf,
  networkOf,
  plainAddress,
  type Endpoint,
  type RemoteEnd,
  type Sources,
} from './sources.js'

/** A table is not read again for this long at least, so that many connections do not cause as many reads. */
export const USERS_FRESH_MS = 100

/**
 * Nor for so many times as long as reading it took: a local user, who can make both tables long, costs us a twentieth of the
 * time at most for each.
 */
const REST = 19

/**
 * But it is after this long, so that root is no stranger for longer. A read of `MAX_TABLE_BYTES` takes a twentieth of it only
 * on a slow machine; one that takes longer does when others have the CPU.
 */
const LONGEST_REST_MS = 3_000

/** Timers may be early by a millisecond. */
const EARLY_MS = 5

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
  `${hexOf(plainAddress(address), order)}:${portText(port)}`

interface UserSeams {
  readonly clock: Clock
  readonly log?: Logger
  readonly table?: SocketTable
  /** @default the machine's */
  readonly order?: ByteOrder
}

/** What was read of a table. */
interface Read {
  /** Counts the reads of both tables, from 1. */
  readonly number: number
  readonly endedAt: number
  /** How long after it the table is not read again. */
  readonly restMs: number
  readonly users: ReadonlyMap<string, number>
}

interface Seen {
  /** Number of the last read before it was opened. That one may show who had the same ports before. */
  readonly after: number
  user?: number
}

const NONE: Read = { number: 0, endedAt: -Infinity, restMs: 0, users: new Map() }

/** The users behind connections. What was found out about one stays true as long as it is open. */
class ConnectionUsers {
  readonly #seams: Required<Omit<UserSeams, 'log'>> & Pick<UserSeams, 'log'>
  readonly #seen = new WeakMap<object, Seen>()
  readonly #last = { 4: NONE, 6: NONE }
  /** Of ours, which others are connected to. */
  readonly #ports = new Set<number>()
  #reads = 0
  #wasTooLong = false

  constructor({ table = kernelSockets, order = endianness(), ...rest }: UserSeams) {
    this.#seams = { ...rest, table, order }
  }

  /** The connection of a socket was opened; called twice, the first time counts. */
  opened(socket: object): Seen {
    const seen = this.#seen.get(socket) ?? { after: this.#reads }
    this.#seen.set(socket, seen)
    return seen
  }

  of(end: RemoteEnd): number | undefined {
    const { ours, socket = end } = end
    if (ours === undefined) return undefined
    const seen = this.opened(socket)
    const user = seen.user ?? this.#lookUp(end, ours, seen.after)
    if (user !== undefined) seen.user = user
    return user
  }

  /** After so many milliseconds each table can be read again, or has been. */
  restMs(): number {
    const now = this.#seams.clock.now()
    const rests = Object.values(this.#last).map(({ endedAt, restMs }) => endedAt + restMs - now)
    return Math.max(0, ...rests)
  }

  #lookUp(theirs: Endpoint, ours: Endpoint, after: number): number | undefined {
    const { order } = this.#seams
    this.#ports.add(ours.port)
    const [from, to] = [placeOf(theirs, order), placeOf(ours, order)]
    if (isIPv6(plainAddress(theirs.address))) return this.#find(6, `${from} ${to}`, after)
    const mapped = MAPPED[order]
    return (
      this.#find(4, `${from} ${to}`, after) ??
      this.#find(6, `${mapped}${from} ${mapped}${to}`, after)
    )
  }

  #find(family: 4 | 6, ends: string, after: number): number | undefined {
    const { number, endedAt, restMs, users } = this.#last[family]
    const user = number > after ? users.get(ends) : undefined
    if (user !== undefined || this.#seams.clock.now() - endedAt < restMs) return user
    return this.#read(family).get(ends)
  }

  #read(family: 4 | 6): ReadonlyMap<string, number> {
    const { clock, table, log } = this.#seams
    const startedAt = clock.now()
    const { users, isWhole } = usersOf(table(family), this.#ports)
    const endedAt = clock.now()
    const restMs = Math.min(LONGEST_REST_MS, Math.max(USERS_FRESH_MS, REST * (endedAt - startedAt)))
    this.#last[family] = { number: ++this.#reads, endedAt, restMs, users }
    if (!isWhole && !this.#wasTooLong) {
      this.#wasTooLong = true
      log?.warn('too many sockets on this node: some clients count as strangers', { family })
    }
    return users
  }
}

/**
 * Sources for a listener on loopback, where every client has the same address: clients are told apart by the user that owns
 * their socket, as the kernel reports it, and other clients by their network.
 * @param members user ids that have the reserve
 */
export const byUser = (members: readonly number[], seams: UserSeams): Sources => {
  const trusted = new Set(members.map(user => `user ${user}`))
  const users = new ConnectionUsers(seams)
  return {
    keyOf: end => {
      if (!isLoopback(end.address)) return networkOf(end.address)
      const user = users.of(end)
      return user === undefined ? undefined : `user ${user}`
    },
    isMember: key => trusted.has(key),
    opened: socket => void users.opened(socket),
    askAgainMs: () => users.restMs() + EARLY_MS,
  }
}

/** Users whose programs may always connect: root, which could stop us anyway, and our own user. */
export const trustedUsers = (): readonly number[] => [0, userInfo().uid]

/** Who has a connection. One that is younger than what was read about users waits for the next read, so that root is no stranger. */
export const sourceOf = async (
  socket: Socket,
  sources: Sources,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Source> => {
  let key = sources.keyOf(endOf(socket))
  if (key === undefined) {
    await sleep(clock, sources.askAgainMs?.() ?? 0, signal)
    key = sources.keyOf(endOf(socket)) ?? 'unknown'
  }
  return { key, isMember: sources.isMember(key) }
}
