// SPDX-License-Identifier: Apache-2.0
import { get } from 'node:http'
import { get as getSecurely } from 'node:https'
import { isIPv6 } from 'node:net'
import { KubeStatusError, reasonOf } from '../core/errors.js'
import type { Asked, PeerProbe } from './doctor-facts.js'

const PROBE_MS = 2_000
/** Several full packets with any usual MTU, but shorter than the longest request line that an agent accepts. */
const LONG_BYTES = 6_000

/** The answer to a question, or why it failed. Never rejects. */
export const ask = async <T>(question: () => Promise<T>): Promise<Asked<T>> => {
  try {
    return { ok: true, value: await question() }
  } catch (error) {
    const reason = reasonOf(error).split('\n')[0]!
    return {
      ok: false,
      reason,
      ...(error instanceof KubeStatusError ? { status: error.status } : {}),
    }
  }
}

class TimeoutError extends Error {}

/**
 * Resolves with the HTTP status of any answer.
 * @param isUnverified accept any certificate
 * @throws the system's error, or TimeoutError
 */
const knock = (url: string, signal: AbortSignal, isUnverified = false): Promise<number> =>
  new Promise((resolve, reject) => {
    const request = (url.startsWith('https:') ? getSecurely : get)(
      url,
      { signal, agent: false, timeout: PROBE_MS, rejectUnauthorized: !isUnverified },
      response => {
        response.resume()
        resolve(response.statusCode ?? 0)
      },
    )
    request.on('timeout', () =>
      request.destroy(new TimeoutError(`no answer within ${PROBE_MS} ms`)),
    )
    request.on('error', reject)
  })

/** The same, but the answer must be 200. @throws an error that says what it is instead */
export const knockWell = async (
  url: string,
  signal: AbortSignal,
  isUnverified = false,
): Promise<number> => {
  const status = await knock(url, signal, isUnverified)
  if (status !== 200) throw new Error(`it answers ${status}`)
  return status
}

/** An address as a URL's host: IPv6 in brackets. */
export const hostOf = (address: string): string => (isIPv6(address) ? `[${address}]` : address)

/** Send a peer a short request and, if that is answered, a long one. */
export const probePeer = async (
  { name, address }: { readonly name: string; readonly address: string },
  port: number,
  signal: AbortSignal,
): Promise<PeerProbe> => {
  const base = `http://${hostOf(address)}:${port}`
  const short = await ask(() => knock(`${base}/`, signal))
  if (!short.ok) return { name, address, short, long: undefined }
  try {
    await knock(`${base}/${'x'.repeat(LONG_BYTES)}`, signal)
    return { name, address, short, long: { ok: true, value: 0 } }
  } catch (error) {
    const long = error instanceof TimeoutError ? 'timeout' : { ok: false as const, reason: reasonOf(error) } // prettier-ignore
    return { name, address, short, long }
  }
}
