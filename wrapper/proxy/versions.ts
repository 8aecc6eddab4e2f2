// SPDX-License-Identifier: Apache-2.0
// Replaces versions in passing messages: two fields in writes of an object, one in the answer to a dry run.
import { badRequest, conflict, tooLarge } from '../../kube/server/status.js'
import type { Target } from '../serve/target.js'
import { AS_IS, type Stored } from '../store/stored.js'
import { Fields } from '../wire/fields.js'
import { hasOnlyKnownFields } from '../wire/known-fields.js'
import { Sink } from '../wire/sink.js'
import { WireError } from '../wire/wire-error.js'
import { placesInJson } from './json-places.js'
import { MAX_YAML_BYTES, mayHaveKey, placesInYaml } from './yaml-places.js'

/** A version, and what gives the one to write in its place. */
interface Swap {
  readonly from: string
  readonly to: () => string
  /** Throws for YAML that may name it, but not where it is found. @default it is left as it is */
  readonly missed?: () => never
}

/** Where a body holds a resourceVersion. */
interface Field {
  readonly json: readonly [string, string]
  /** Protobuf field numbers, beginning with the envelope's. */
  readonly protobuf: readonly number[]
}

/** In an object or a merge patch. */
const VERSION: Field = { json: ['metadata', 'resourceVersion'], protobuf: [2, 1, 6] }
/** In DeleteOptions. */
const PRECONDITION: Field = { json: ['preconditions', 'resourceVersion'], protobuf: [2, 2, 2] }
const ENVELOPE = Buffer.from('k8s\0')
/** More places than any client fills. */
const MOST_PLACES = 16
/** A body sent as YAML is usually JSON. A longer one is not parsed to know. */
const MAX_PARSED_BYTES = 2 << 10

const isYaml = (type: string): boolean => /^application\/(apply-patch\+)?yaml\b/.test(type)

const isParsable = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const isJson = (text: string): boolean =>
  text.length <= MAX_PARSED_BYTES ? isParsable(text) : /^\s*\{\s*"/.test(text)

const inText = (body: Buffer, type: string, { json }: Field, swap: Swap): Buffer => {
  // One character for each byte.
  const text = body.toString('latin1')
  const find = isYaml(type) && !isJson(text) ? placesInYaml : placesInJson
  const places = find(text, { path: json, value: swap.from })
  if (find === placesInYaml && places.length === 0 && mayHaveKey(text, json[1])) swap.missed?.()
  let changed = ''
  let done = 0
  for (const { start, end } of places) {
    changed += `${text.slice(done, start)}${JSON.stringify(swap.to())}`
    done = end
  }
  return done === 0 ? body : Buffer.from(changed + text.slice(done), 'latin1')
}

/**
 * The message with the string at a path of field numbers replaced; all other bytes stay.
 * @throws WireError
 */
const inMessage = (
  raw: Uint8Array,
  [field, ...deeper]: readonly number[],
  swap: Swap,
): Uint8Array => {
  const fields = new Fields(raw)
  let sink: Sink | undefined
  let done = 0
  let seen = 0
  while (fields.next()) {
    // Too short for the version: a body may have a million such fields.
    if (fields.number !== field || fields.end - fields.from < swap.from.length) continue
    if (++seen > MOST_PLACES) throw new WireError(`field ${field}`, 'must not be repeated so often')
    const content = fields.content()
    const other = deeper.length > 0 ? inMessage(content, deeper, swap) : inField(fields, swap)
    if (other === content || other === undefined) continue
    sink ??= new Sink(raw.length + 32)
    sink.copy(raw.subarray(done, fields.start)).bytes(field, other)
    done = fields.end
  }
  return sink?.copy(raw.subarray(done)).take() ?? raw
}

const inField = (fields: Fields, { from, to }: Swap): Uint8Array | undefined =>
  fields.text() === from ? Buffer.from(to()) : undefined

const isEnveloped = (body: Buffer): boolean => body.subarray(0, ENVELOPE.length).equals(ENVELOPE)

const inBody = (body: Buffer, type: string, field: Field, swap: Swap): Buffer => {
  try {
    if (!isEnveloped(body)) return inText(body, type, field, swap)
    const message = inMessage(body.subarray(ENVELOPE.length), field.protobuf, swap)
    return Buffer.concat([ENVELOPE, message])
  } catch (error) {
    // Passed on unchanged: the apiserver reports what is wrong with it.
    if (error instanceof WireError) return body
    throw error
  }
}

const isUnaltered = ({ rendering }: Stored): boolean => rendering.mark === AS_IS.mark

const INSTEAD = 'would take them from the whole cluster. Read and write it at the apiserver itself'
const PRUNED =
  'what edge-health wrapper serves of it is not all of it: endpoints are left out or replaced for this node, and ' +
  `writing that back ${INSTEAD}`
const UNTOLD =
  'edge-health wrapper does not know all fields that the apiserver gives it, and leaves them out of JSON: writing that ' +
  `back ${INSTEAD}`

/** @throws Refusal 409 when clients do not see the whole object here */
const refuseUnseen = ({ row, name = '' }: Target, record: Stored, isText: boolean): void => {
  if (!isUnaltered(record)) throw conflict(row, name, PRUNED)
  if (isText && !hasOnlyKnownFields(row.kind, record.raw)) throw conflict(row, name, UNTOLD)
}

/** @throws Refusal 400 */
const refuseStyle = (): never => {
  throw badRequest(
    `YAML that names a version must be in block style, and at most ${MAX_YAML_BYTES} bytes; send JSON`,
  )
}

/** The parts of a write that matter for its version. */
export interface VersionedWrite {
  readonly method: string
  /** The Content-Type. */
  readonly type: string
  readonly target: Target
}

/**
 * Replace our version in a write of an object by the apiserver's. All other bytes stay the same; versions that are not ours
 * are left to the apiserver.
 * @param record the object as we serve it
 * @throws Refusal 409 when we serve it altered; 400 for YAML that may name our version and is long or not in block style; 413
 * when it names our version very often
 */
export const putVersionBack = (
  body: Buffer,
  { method, type, target }: VersionedWrite,
  record: Stored | undefined,
): Buffer => {
  const ours = String(record?.version)
  if (record === undefined || !body.includes(ours)) return body
  let places = 0
  const to = (): string => {
    if (++places > MOST_PLACES) throw tooLarge(`a write may name a version ${MOST_PLACES} times`)
    // Reads all of the object.
    if (places === 1) refuseUnseen(target, record, method !== 'DELETE' && !isEnveloped(body))
    return record.upstream
  }
  const swap = { from: ours, to, missed: refuseStyle }
  return inBody(body, type, method === 'DELETE' ? PRECONDITION : VERSION, swap)
}

/**
 * Put the version that reads return into the answer to a dry run that does not change the object: otherwise
 * `kubectl diff` would show a difference for each object.
 */
export const showVersion = (body: Buffer, type: string, record: Stored | undefined): Buffer => {
  if (record === undefined || !isUnaltered(record) || !body.includes(record.upstream)) return body
  return inBody(body, type, VERSION, { from: record.upstream, to: () => String(record.version) })
}
