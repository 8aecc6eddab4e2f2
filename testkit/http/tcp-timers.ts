// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from 'node:fs'

/** In `/proc/net/tcp`: which timer of a connection runs. */
const KEEPALIVE = 2
const ESTABLISHED = '01'
/** The kernel tells times to user space in hundredths of a second. */
const TICK_MS = 10

const portOf = (address: string): number => Number.parseInt(address.split(':')[1]!, 16)

/**
 * When the kernel will send the next keepalive on each IPv4 connection of this machine to a remote port, in
 * milliseconds from now: +Infinity where it sends none. Linux alone says so; elsewhere there is nothing to tell.
 */
export const keepaliveTimers = (remotePort: number): readonly number[] => {
  if (process.platform !== 'linux') return []
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines
    .map(line => line.trim().split(/\s+/))
    .filter(([, , remote, state]) => portOf(remote!) === remotePort && state === ESTABLISHED)
    .map(([, , , , , timer]) => {
      const [kind, when] = timer!.split(':').map(part => Number.parseInt(part, 16))
      return kind === KEEPALIVE ? when! * TICK_MS : Infinity
    })
}
