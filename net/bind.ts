// SPDX-License-Identifier: Apache-2.0
import type { Server } from 'node:http'
import { sleep, type Clock } from '../core/clock.js'
import { ListenError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'

interface Place {
  readonly address: string
  readonly port: number
}

interface BindSeams {
  readonly clock: Clock
  readonly log: Logger
  /** Aborts the wait. */
  readonly signal: AbortSignal
}

const FIRST_RETRY_MS = 250
const LAST_RETRY_MS = 10_000

/** As in a URL, with brackets around an IPv6 address. */
export const hostPort = (address: string, port: number): string =>
  address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`

const bindOnce = (
  server: Server,
  address: string,
  port: number,
): Promise<NodeJS.ErrnoException | undefined> =>
  new Promise(resolve => {
    server.once('error', resolve)
    server.listen({ host: address, port }, () => {
      server.off('error', resolve)
      resolve(undefined)
    })
  })

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'the port is taken; is the same program running on this node already, or does a connection go out from that port?',
  EACCES: 'not permitted; ports below 1024 need CAP_NET_BIND_SERVICE',
}

/**
 * @returns false after a wait when it should be tried again. @throws ListenError when trying again is useless, or when
 * aborted
 */
const tryToBind = async (
  server: Server,
  { address, port }: Place,
  { clock, log, signal }: BindSeams,
  waitMs: number,
): Promise<boolean> => {
  const cause = await bindOnce(server, address, port)
  if (cause === undefined) return true
  const code = String(cause.code)
  const where = hostPort(address, port)
  if (code !== 'EADDRNOTAVAIL')
    throw new ListenError(where, reasons[code] ?? reasonOf(cause), { cause })
  if (waitMs === FIRST_RETRY_MS) log.warn('address does not exist yet, waiting', { address: where })
  if (await sleep(clock, waitMs, signal)) return false
  throw new ListenError(where, 'the address did not appear', { cause })
}

/**
 * Bind a server to its address. While the address does not exist yet, since the node is booting, it is tried again with
 * growing waits until `signal` aborts; this is logged once.
 * @throws ListenError for any other failure, or when aborted
 */
export const bind = async (server: Server, place: Place, seams: BindSeams): Promise<void> => {
  let waitMs = FIRST_RETRY_MS
  while (!(await tryToBind(server, place, seams, waitMs)))
    waitMs = Math.min(2 * waitMs, LAST_RETRY_MS)
}
