// SPDX-License-Identifier: Apache-2.0
import type { ProbeResult } from '../core/check.js'
import { reasonOf } from '../core/errors.js'

/** The node answered. */
export const SUCCESS: ProbeResult = Object.freeze({ kind: 'success' })

/** The node did not answer, or answered that it is unhealthy. */
export const failure = (reason: string): ProbeResult => ({ kind: 'failure', reason })

/** The probe failed on our side. */
export const unknown = (reason: string): ProbeResult => ({ kind: 'unknown', reason })

/** The probe cannot be made before something on our side is repaired. */
export const unusable = (reason: string): ProbeResult => ({
  kind: 'unknown',
  reason,
  needsRepair: true,
})

/** Of an attempt that was aborted because its time was up. */
export const NO_ANSWER: ProbeResult = Object.freeze({ kind: 'failure', reason: 'no answer' })

/** Nobody listens there. */
export const REFUSED = 'connection refused'

/**
 * Errors of the network, in words. `ENETUNREACH` and `ENETDOWN` are among them although a missing route of our own says
 * little about the peer: a node whose own link is cut must see its peers down, since its pods cannot reach them
 * either. That misleads nobody else: such a node suspects itself, and it has no quorum.
 */
const NETWORK: Readonly<Record<string, string>> = {
  ECONNABORTED: 'connection aborted',
  ECONNREFUSED: REFUSED,
  ECONNRESET: 'connection reset',
  EHOSTDOWN: 'host down',
  EHOSTUNREACH: 'host unreachable',
  ENETDOWN: 'network down',
  ENETRESET: 'network reset',
  ENETUNREACH: 'network unreachable',
  EPIPE: 'connection closed',
  ETIMEDOUT: 'connection timed out',
}

/** Whether a certificate is valid now depends on our clock, and a board without a battery boots in 1970. */
const CLOCK_CODES = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'])

/** The peer's TLS cannot be accepted: somebody else holds the address, or it is set up wrongly. */
const TLS_CODE =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|ERR_TLS_|ERR_SSL_|EPROTO)/

const codeOf = (error: unknown): string => {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' ? code : ''
}

/**
 * What a rejected `Dial` or `HttpGet` says about the node. Only what the network is known to do counts against it.
 * Everything else is `unknown`: no descriptor left (EMFILE, ENFILE), no port or memory (EADDRNOTAVAIL, ENOBUFS,
 * ENOMEM), our own firewall (EACCES, EPERM), a resolver that fails, a bug.
 */
export const resultOfError = (error: unknown, signal: AbortSignal): ProbeResult => {
  if (signal.aborted) return NO_ANSWER
  const code = codeOf(error)
  const words = NETWORK[code]
  if (words !== undefined) return failure(words)
  if (CLOCK_CODES.has(code)) return unusable(`TLS: ${reasonOf(error)} by our clock`)
  if (TLS_CODE.test(code)) return failure(`TLS: ${reasonOf(error)}`)
  if (code.startsWith('HPE_')) return failure('answer is not HTTP')
  return unknown(reasonOf(error))
}
