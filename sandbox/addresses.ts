// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:net'
import { InvalidInputError } from '../core/errors.js'

const BASE = /^127\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/

/**
 * Loopback addresses in a row: from 127.7.0.11 on.
 * @throws InvalidInputError when the base is not in 127.0.0.0/8 or the row leaves its last byte.
 */
export const addressesFrom = (base: string, count: number): string[] => {
  const bytes = BASE.exec(base)?.slice(1).map(Number)
  const [second, third, last] = bytes ?? []
  const isGood = bytes?.every(byte => byte <= 255) === true
  if (!isGood || last === undefined || last < 1 || last + count > 255)
    throw new InvalidInputError(
      '--address-base',
      `must be 127.x.y.z with room for ${count} addresses up to 127.x.y.254`,
      base,
    )
  return Array.from({ length: count }, (_, i) => `127.${second}.${third}.${last + i}`)
}

/** What stands in the way of listening there: `EADDRNOTAVAIL`, `EADDRINUSE`, …; undefined when nothing does. */
const obstacle = (host: string, port: number): Promise<string | undefined> =>
  new Promise(resolve => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })

/** Which addresses this machine does not have (macOS has 127.0.0.1 alone), and which places are taken. */
export const checkPlaces = async (
  addresses: readonly string[],
  ports: readonly number[],
): Promise<{ readonly missing: readonly string[]; readonly taken: readonly string[] }> => {
  const missing: string[] = []
  const taken: string[] = []
  for (const host of addresses) {
    const found = await Promise.all(ports.map(port => obstacle(host, port)))
    if (found.includes('EADDRNOTAVAIL')) missing.push(host)
    else
      for (const [i, code] of found.entries())
        if (code !== undefined) taken.push(`${host}:${ports[i]!} (${code})`)
  }
  return { missing, taken }
}

/** The lines that give macOS the addresses; they are gone after a restart. */
export const aliasLines = (missing: readonly string[]): readonly string[] =>
  missing.map(address => `sudo ifconfig lo0 alias ${address} up`)
