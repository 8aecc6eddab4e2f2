// SPDX-License-Identifier: Apache-2.0
import { webcrypto } from 'node:crypto'
import { Pkcs10CertificateRequest, type PublicKey } from '@peculiar/x509'
import { InvalidInputError } from '../../core/errors.js'
import type { NodeName } from '../../core/ids.js'

/** Names of elliptic curves: OpenSSL's, and WebCrypto's for the same curve. */
export const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'P-256',
  secp384r1: 'P-384',
}
const REQUEST = 'certificate request'

/** A key's algorithm as WebCrypto describes it. */
interface KeyAlgorithm {
  readonly name: string
  readonly namedCurve?: string
}

const parseRequest = (der: Uint8Array): Pkcs10CertificateRequest => {
  try {
    return new Pkcs10CertificateRequest(Buffer.from(der))
  } catch (cause) {
    throw new InvalidInputError(REQUEST, 'must be PKCS #10 in DER', `${der.length} bytes`, {
      cause,
    })
  }
}

const sameList = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i])

/** Edges make keys of P-256. */
const checkKey = ({ publicKey }: Pkcs10CertificateRequest): PublicKey => {
  const { name, namedCurve } = publicKey.algorithm as unknown as KeyAlgorithm
  if (namedCurve === undefined || !Object.values(CURVES).includes(namedCurve))
    throw new InvalidInputError(REQUEST, 'must have a key of P-256 or P-384', name)
  return publicKey
}

/**
 * The public key in a node's certificate request; everything else in the request is only checked.
 * @param der PKCS #10
 * @throws InvalidInputError unless the request names exactly this node
 */
export const checkedRequest = async (der: Uint8Array, node: NodeName): Promise<PublicKey> => {
  const request = parseRequest(der)
  const names = request.subjectName.getField('CN')
  if (!sameList(names, [`system:node:${node}`]))
    throw new InvalidInputError(`${REQUEST}: CN`, `must be system:node:${node}, once`, names)
  const groups = request.subjectName.getField('O')
  if (!sameList(groups, ['system:nodes']))
    throw new InvalidInputError(`${REQUEST}: O`, 'must be system:nodes, once', groups)
  const key = checkKey(request)
  if (!(await request.verify(webcrypto).catch(() => false)))
    throw new InvalidInputError(REQUEST, 'must be signed with its own key', `by ${node}`)
  return key
}
