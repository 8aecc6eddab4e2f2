// SPDX-License-Identifier: Apache-2.0
import { sleep, type Clock } from '../../core/clock.js'
import { InvalidInputError, reasonOf } from '../../core/errors.js'
import type { Logger } from '../../core/log.js'
import { jitter, type Random } from '../../core/random.js'
import { Backoff } from '../../kube/client/backoff.js'
import { makeJoinToken, TOKEN_MS, type AuthorityBytes } from '../enroll/join-token.js'
import { AUTHORITY_REPLACED } from '../enroll/routes.js'
import {
  holdsAuthority,
  loadAuthority,
  loadServerPair,
  publishToken,
  soonEndOf,
  type SecretClient,
} from '../enroll/secrets.js'
import { makeAuthority, makeSigner, type KeyPair, type Signer } from '../enroll/signer.js'

/** The authority that signs, and the certificate that edges are shown. */
export interface Certificates {
  readonly authority: AuthorityBytes
  readonly signer: Signer
  readonly server: KeyPair
}

export interface CertificateSeams {
  readonly client: SecretClient
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

/** Time between checks of the server's certificate, which is valid for a year and renewed 30 days before its end. */
const LOOK_MS = 12 * 3_600_000
/** A token is replaced this often, so that any token read is valid for at least half of its lifetime. */
const TOKEN_EVERY_MS = TOKEN_MS / 2

/** Repeat until it succeeds or the signal aborts. @param isFinal whether an error will not go away with time */
const untilDone = async <T>(
  { clock, random, log }: CertificateSeams,
  {
    what,
    isFinal = () => false,
  }: { readonly what: string; readonly isFinal?: (error: unknown) => boolean },
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | undefined> => {
  const backoff = new Backoff(random)
  const isOver = (): boolean => signal.aborted
  while (!isOver()) {
    try {
      return await work()
    } catch (error) {
      if (isFinal(error)) throw error
      if (isOver()) return undefined
      backoff.failures++
      log.warn('cannot read or create a Secret yet', { what, error: reasonOf(error) })
    }
    await sleep(clock, backoff.waitMs(), signal)
  }
  return undefined
}

const warnOfEnd = (ca: string, { clock, log }: CertificateSeams): void => {
  const end = soonEndOf(ca, clock.wall())
  if (end !== undefined)
    log.warn('the authority that signs edges’ certificates ends soon, and theirs with it', {
      endsAt: new Date(end).toISOString(),
    })
}

/** Whether the cluster still has this authority. Nothing is made or published with another one. */
const isCurrent = async (
  { authority }: Certificates,
  { client, log }: CertificateSeams,
  signal: AbortSignal,
): Promise<boolean> => {
  const isSame = await holdsAuthority(client, authority, signal)
  if (!isSame) log.error(AUTHORITY_REPLACED)
  return isSame
}

const isInvalid = (error: unknown): boolean => error instanceof InvalidInputError

/**
 * Read the cluster's Secrets, and create those that are missing; waits for the apiserver. Undefined when the signal
 * aborted.
 * @throws InvalidInputError when the authority's Secret cannot be used
 */
export const loadCertificates = (
  addresses: readonly string[],
  seams: CertificateSeams,
  signal: AbortSignal,
): Promise<Certificates | undefined> =>
  untilDone(seams, { what: 'certificates', isFinal: isInvalid }, signal, async () => {
    const { client, clock } = seams
    const authority = await loadAuthority(client, () => makeAuthority(clock.wall()), signal)
    const signer = await makeSigner(authority)
    const server = await loadServerPair(client, signer, { addresses, now: clock.wall() }, signal)
    warnOfEnd(signer.ca, seams)
    return { authority, signer, server }
  })

/** Check the server's certificate twice a day and call `renew` when it was replaced. Ends when the signal aborts. */
export const keepServerPair = async (
  certificates: Certificates,
  {
    addresses,
    renew,
  }: { readonly addresses: readonly string[]; readonly renew: (pair: KeyPair) => void },
  seams: CertificateSeams,
  signal: AbortSignal,
): Promise<void> => {
  const { client, clock, random, log } = seams
  const { signer, server } = certificates
  let shown = server.cert
  while (await sleep(clock, jitter(random, LOOK_MS, 0.1), signal)) {
    warnOfEnd(signer.ca, seams)
    const found = await untilDone(seams, { what: 'server certificate' }, signal, async () =>
      (await isCurrent(certificates, seams, signal))
        ? await loadServerPair(client, signer, { addresses, now: clock.wall() }, signal)
        : undefined,
    )
    if (found === undefined || found.cert === shown) continue
    shown = found.cert
    log.info('edges are shown a new server certificate')
    renew(found)
  }
}

/** Keep a token in its Secret that is valid for at least half an hour. Ends when the signal aborts. */
export const keepToken = async (
  certificates: Certificates,
  seams: CertificateSeams,
  signal: AbortSignal,
): Promise<void> => {
  const { client, clock } = seams
  const { authority } = certificates
  do
    await untilDone(seams, { what: 'token' }, signal, async () => {
      if (await isCurrent(certificates, seams, signal))
        await publishToken(client, makeJoinToken(authority, clock.wall()), signal)
    })
  while (await sleep(clock, TOKEN_EVERY_MS, signal))
}
