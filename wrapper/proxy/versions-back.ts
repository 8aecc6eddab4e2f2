// SPDX-License-Identifier: Apache-2.0
import { EdgeHealthError } from '../../core/errors.js'
import { envelope, openEnvelope } from '../wire/envelope.js'
import { readMeta, withVersion } from '../wire/meta.js'

/** Upstream's version of what we served at `served`; undefined when that is no version of ours, or an old one. */
export type UpstreamVersion = (served: string) => string | undefined

const inText = (body: Buffer, upstreamOf: UpstreamVersion): Buffer => {
  const text = body.toString('latin1')
  let changed = text
  for (const [token, served = ''] of text.matchAll(/"(\d{1,16})"/g)) {
    const upstream = upstreamOf(served)
    if (upstream !== undefined) changed = changed.replaceAll(token, `"${upstream}"`)
  }
  return changed === text ? body : Buffer.from(changed, 'latin1')
}

const inProtobuf = (body: Buffer, upstreamOf: UpstreamVersion): Buffer => {
  try {
    const { apiVersion, kind, raw } = openEnvelope(body)
    const upstream = upstreamOf(readMeta(raw).version)
    if (upstream === undefined) return body
    return Buffer.from(envelope(apiVersion, kind, withVersion(raw, upstream)))
  } catch (error) {
    // Not for us to refuse: upstream says what is wrong with it.
    if (error instanceof EdgeHealthError) return body
    throw error
  }
}

/**
 * A write that names one of our versions gets upstream's in its place. In JSON and YAML any quoted number that is
 * our version of this very object can be nothing else: ours count microseconds.
 */
export const putVersionsBack = (
  body: Buffer,
  type: string | undefined,
  upstreamOf: UpstreamVersion,
): Buffer =>
  type?.startsWith('application/vnd.kubernetes.protobuf') === true
    ? inProtobuf(body, upstreamOf)
    : inText(body, upstreamOf)
