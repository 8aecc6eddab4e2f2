// SPDX-License-Identifier: Apache-2.0
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { wholeIn } from '../../core/authorities.js'
import { reasonOf } from '../../core/errors.js'
import { isValid, type Authority, type Validity } from '../model/rotation.js'

/** A server's certificate and the authority that signed only this one, as PEM. */
export interface ServingPair {
  readonly ca: string
  readonly cert: string
  readonly key: string
}

const DAY_MS = 86_400_000
const DAYS = 90

/** DNS names of a Service; the apiserver uses the first. */
export const serviceNames = (service: string, namespace: string): readonly string[] => [
  `${service}.${namespace}.svc`,
  `${service}.${namespace}.svc.cluster.local`,
]

/**
 * A certificate for these names, valid for 90 days, signed by a new authority. Its key is not kept, so nobody who
 * reads what is stored can sign another certificate.
 * @param now epoch ms; it is valid from a day before, since clocks differ
 */
export const makePair = async (names: readonly string[], now: number): Promise<ServingPair> => {
  const { generate } = await import('selfsigned')
  const common = {
    ...({ keyType: 'ec', algorithm: 'sha256' } as const),
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + DAYS * DAY_MS),
  }
  const named = (value: string) => [{ name: 'commonName', value }]
  // Authorities with the same name would be mistaken for each other.
  const ca = await generate(named(`edge-health webhook authority ${new Date(now).toISOString()}`), {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, pathLenConstraint: 0, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  const server = await generate(named(names[0]!), {
    ...common,
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: names.map(value => ({ type: 2 as const, value })) },
    ],
  })
  return { ca: ca.cert, cert: server.cert, key: server.private }
}

/** Curves on which a server's key may be for Go's TLS. */
const CURVES: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1']
/** On this one an authority's may be, too. */
const P_224 = 'secp224r1'

const KEYS = 'RSA, P-256, P-384, P-521 or Ed25519'

const isKeyForGo = (key: KeyObject, curves: readonly (string | undefined)[]): boolean =>
  key.asymmetricKeyType === 'ec'
    ? curves.includes(key.asymmetricKeyDetails?.namedCurve)
    : key.asymmetricKeyType === 'rsa' || key.asymmetricKeyType === 'ed25519'

/** Labelled CERTIFICATE, since Go skips the other labels that OpenSSL knows; undefined for what is none of an authority. */
const authorityOf = (text: string): string | undefined => {
  try {
    const certificate = new X509Certificate(text)
    const isFit = certificate.ca && isKeyForGo(certificate.publicKey, [...CURVES, P_224])
    return isFit ? certificate.toString().trimEnd() : undefined
  } catch {
    return undefined
  }
}

/** The authorities' certificates in a PEM text. Anything else would make the apiserver refuse the whole bundle. */
export const authoritiesOf = (text = ''): readonly string[] =>
  wholeIn(text).flatMap(each => authorityOf(each) ?? [])

/** When all are valid. */
const validityOf = (all: readonly X509Certificate[]): Validity => ({
  from: Math.max(...all.map(({ validFrom }) => Date.parse(validFrom))),
  until: Math.min(...all.map(({ validTo }) => Date.parse(validTo))),
})

/** @throws Error for what is no certificate */
export const readAuthority = (text: string): Authority => ({
  text,
  ...validityOf([new X509Certificate(text)]),
})

/** serverAuth and any. */
const PURPOSES = ['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']

/** An authority's purposes hold for what it signs. Who names none is for all, and Node.js then says undefined. */
const isForServers = ({ keyUsage }: { readonly keyUsage?: readonly string[] }): boolean =>
  keyUsage?.some(purpose => PURPOSES.includes(purpose)) ?? true

/** Go takes no name from the subject, and of wildcards a whole label only. */
const NAMES_OF_GO = { subject: 'never', partialWildcards: false } as const

/**
 * The key alone would do for an authority of another name, which no apiserver looks for. `checkIssued` compares the serial,
 * too, which a renewed authority no longer has, and takes names that differ in case.
 */
const isSignedBy = (server: X509Certificate, authority: X509Certificate): boolean =>
  server.issuer === authority.subject && server.verify(authority.publicKey)

/** Those that are valid now, the one that is valid longest first, or all where none is. An apiserver tries each. */
const validFirst = (authorities: readonly Authority[], now: number): readonly Authority[] => {
  const valid = authorities.filter(authority => isValid(authority, now))
  return (valid.length > 0 ? valid : authorities).toSorted((one, other) => other.until - one.until)
}

/** Why no listener opens with it, as where a signature is too weak. */
const whyNotServed = ({ cert, key }: ServingPair): string | undefined => {
  try {
    createSecureContext({ cert, key })
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

/** A pair's validity and the authorities that signed it, as PEM, or why it can be used at no time. */
type PairCheck =
  | { readonly ok: true; readonly validity: Validity; readonly authorities: readonly string[] }
  | { readonly ok: false; readonly reason: string }

/**
 * A pair is for this name, and signed by one of its authorities; both certificates are needed while it is served. Most of
 * what an apiserver refuses is refused, too; nameConstraints and critical extensions that Go does not know are not looked at.
 * @param now epoch ms; of authorities with one name and key those that are valid then count
 */
export const checkPair = (pair: ServingPair, name: string, now: number): PairCheck => {
  const refuse = (reason: string) => ({ ok: false, reason }) as const
  try {
    const server = new X509Certificate(pair.cert)
    if (!server.checkPrivateKey(createPrivateKey(pair.key)))
      return refuse('the key is of another one')
    if (!isKeyForGo(server.publicKey, CURVES)) return refuse(`its key is not ${KEYS}`)
    if (server.checkHost(name, NAMES_OF_GO) === undefined)
      return refuse(`it is not for ${name} (subjectAltName)`)
    const authorities = authoritiesOf(pair.ca)
    if (authorities.length === 0)
      return refuse(
        `its CA certificate is missing, broken, or none of an authority (CA:TRUE) whose key is ${KEYS}`,
      )
    const signers = authorities.filter(text => isSignedBy(server, new X509Certificate(text)))
    if (signers.length === 0) return refuse('another authority signed it')
    const fit = signers.filter(text => isForServers(new X509Certificate(text)))
    if (fit.length === 0 || !isForServers(server))
      return refuse('it or its CA certificate is not for servers (extendedKeyUsage)')
    const weakness = whyNotServed(pair)
    if (weakness !== undefined) return refuse(`it cannot be served: ${weakness}`)
    const used = validFirst(fit.map(readAuthority), now)
    const validity = validityOf([server, new X509Certificate(used[0]!.text)])
    return { ok: true, validity, authorities: used.map(({ text }) => text) }
  } catch (error) {
    // Not PEM, or truncated.
    return refuse(`it or its key cannot be read: ${reasonOf(error)}`)
  }
}
