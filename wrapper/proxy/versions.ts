// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../../core/errors.js'
import { envelope, openEnvelope } from '../wire/envelope.js'
import { readMeta, withVersion } from '../wire/meta.js'

/** The version that stands for another one; undefined when none does. */
type Other = (version: string) => string | undefined

/** The two versions of one object that we serve as it is now. */
export interface ObjectVersions {
  /** Upstream's for ours. */
  readonly upstreamOf: Other
  /** Ours for upstream's. */
  readonly servedOf: Other
}

/** @param pattern finds versions, with a group around the number */
const inText = (body: Buffer, pattern: RegExp, otherOf: Other): Buffer => {
  const text = body.toString('latin1')
  const changed = text.replaceAll(pattern, (token, version: string) => {
    const other = otherOf(version)
    return other === undefined ? token : token.replace(version, other)
  })
  return changed === text ? body : Buffer.from(changed, 'latin1')
}

const inProtobuf = (body: Buffer, otherOf: Other): Buffer => {
  try {
    const { apiVersion, kind, raw } = openEnvelope(body)
    const other = otherOf(readMeta(raw).version)
    if (other === undefined) return body
    return Buffer.from(envelope(apiVersion, kind, withVersion(raw, other)))
  } catch (error) {
    // Not for us to refuse: upstream says what is wrong with it.
    if (error instanceof EdgeHealthError) return body
    throw error
  }
}

const isProtobuf = (type: string | undefined): boolean =>
  type?.startsWith('application/vnd.kubernetes.protobuf') === true

/**
 * A write that names one of our versions gets upstream's in its place. In JSON and YAML any quoted number that is
 * our version of this very object can be nothing else: ours count microseconds.
 */
export const putVersionsBack = (
  body: Buffer,
  type: string | undefined,
  { upstreamOf }: ObjectVersions,
): Buffer =>
  isProtobuf(type) ? inProtobuf(body, upstreamOf) : inText(body, /"(\d{1,16})"/g, upstreamOf)

/**
 * The answer to a write that left the object as it was, a dry run too, gets the version that reads of it get: else
 * `kubectl diff` would see a difference in each object. Upstream's numbers are small, so that only a number called
 * resourceVersion is one; no two objects have the same.
 */
export const showOurVersions = (
  body: Buffer,
  type: string | undefined,
  { servedOf }: ObjectVersions,
): Buffer =>
  isProtobuf(type)
    ? inProtobuf(body, servedOf)
    : inText(body, /"resourceVersion": ?"(\d{1,19})"/g, servedOf)
