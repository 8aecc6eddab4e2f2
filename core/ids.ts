// SPDX-License-Identifier: Apache-2.0
import { createHash } from 'node:crypto'
import { InvalidInputError } from './errors.js'

declare const brand: unique symbol

/** The name of a Kubernetes Node: an RFC 1123 subdomain of at most 253 characters. The identity of a peer (never its IP). */
export type NodeName = string & { readonly [brand]: 'NodeName' }

/**
 * The nodes that vote on each other, by name: the value of the zone label, a unit's name, or `''` for a cluster
 * without zones.
 */
export type ZoneName = string & { readonly [brand]: 'ZoneName' }

const DNS_1123 = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/

/** @throws InvalidInputError unless `text` is an RFC 1123 subdomain. */
export const parseNodeName = (text: unknown): NodeName => {
  if (typeof text !== 'string' || text.length > 253 || !DNS_1123.test(text)) {
    throw new InvalidInputError(
      'node name',
      'must be an RFC 1123 subdomain of at most 253 characters',
      text,
    )
  }
  return text as NodeName
}

/** @throws InvalidInputError unless `text` is at most 1024 printable characters. */
export const parseZoneName = (text: unknown): ZoneName => {
  if (typeof text !== 'string' || text.length > 1024 || !/^[\x20-\x7e]*$/.test(text)) {
    throw new InvalidInputError(
      'zone name',
      'must be at most 1024 printable ASCII characters',
      text,
    )
  }
  return text as ZoneName
}

/** First 64 bits of SHA-256, big endian. Stable everywhere: it orders rosters and names nodes on the wire. */
export const id64 = (text: string): bigint =>
  createHash('sha256').update(text).digest().readBigUInt64BE()
