// SPDX-License-Identifier: Apache-2.0
// Replaces versions in passing messages: two fields in writes of an object, one in the answer to a dry run.
import { isScalar, parseDocument } from 'yaml'
import { conflict, tooLarge } from '../../kube/server/status.js'
import type { Target } from '../serve/target.js'
import { AS_IS, type Stored } from '../store/stored.js'
import { Fields } from '../wire/fields.js'
import { hasOnlyKnownFields } from '../wire/known-fields.js'
import { Sink } from '../wire/sink.js'
import { WireError } from '../wire/wire-error.js'

/** Returns the version to write in place of a version; the same one leaves the body unchanged. */
type Replace = (version: string) => string

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
const PATCHED = `/${VERSION.json.join('/')}`

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g
const ENVELOPE = Buffer.from('k8s\0')
/** Broken YAML takes longest to parse: some 30 ms per KiB on a busy machine. */
const MAX_YAML_BYTES = 32 << 10

interface Place {
  readonly start: number
  readonly end: number
  readonly value: string
}

type Path = readonly (string | number)[]

const isSame = (a: Path, b: Path): boolean =>
  a.length === b.length && a.every((key, i) => key === b[i])

/** The string values of JSON text at one of the paths. */
const inJson = (json: string, paths: readonly Path[]): readonly Place[] => {
  const places: Place[] = []
  const at: (string | number)[] = []
  let isKey = false
  const text = (token: string, start: number): void => {
    if (isKey) at[at.length - 1] = JSON.parse(token) as string
    else if (paths.some(path => isSame(path, at)))
      places.push({ start, end: start + token.length, value: JSON.parse(token) as string })
  }
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const last = at.at(-1)
    if (token.startsWith('"')) text(token, index)
    else if (token === '{' || token === '[') at.push(token === '[' ? 0 : '')
    else if (token === '}' || token === ']') at.pop()
    else if (token === ',' && typeof last === 'number') at[at.length - 1] = last + 1
    isKey = token === '{' || (token === ',' && typeof last === 'string')
  }
  return places
}

const inYaml = (yaml: string, path: Path): readonly Place[] => {
  if (yaml.length > MAX_YAML_BYTES)
    throw tooLarge(`YAML that names a version must be at most ${MAX_YAML_BYTES} bytes; send JSON`)
  // Both would take time that grows with the square of the length; the apiserver judges the document.
  const node = parseDocument(yaml, { prettyErrors: false, uniqueKeys: false }).getIn(path, true)
  if (!isScalar(node) || typeof node.value !== 'string' || !node.range) return []
  const [start, end] = node.range
  return [{ start, end, value: node.value }]
}

/** A JSON patch has the version in the values of its operations, everything else in its field. */
const pathsIn = (body: unknown, { json }: Field): readonly Path[] =>
  Array.isArray(body)
    ? body.flatMap((each: { path?: unknown } | null, i) =>
        each?.path === PATCHED ? [[i, 'value']] : [],
      )
    : [json]

const isYaml = (type: string): boolean => /^application\/(apply-patch\+)?yaml\b/.test(type)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const placesIn = (text: string, type: string, field: Field): readonly Place[] => {
  // A body sent as YAML is usually JSON.
  const body = parsed(text)
  if (body !== undefined) return inJson(text, pathsIn(body, field))
  return isYaml(type) ? inYaml(text, field.json) : []
}

const inText = (body: Buffer, type: string, field: Field, replace: Replace): Buffer => {
  // One character for each byte.
  const text = body.toString('latin1')
  let changed = ''
  let from = 0
  for (const { start, end, value } of placesIn(text, type, field)) {
    const other = replace(value)
    if (other === value) continue
    changed += `${text.slice(from, start)}${JSON.stringify(other)}`
    from = end
  }
  return from === 0 ? body : Buffer.from(changed + text.slice(from), 'latin1')
}

/**
 * The message with the string at a path of field numbers replaced; all other bytes stay.
 * @throws WireError
 */
const inMessage = (
  raw: Uint8Array,
  [field, ...deeper]: readonly number[],
  replace: Replace,
): Uint8Array => {
  const fields = new Fields(raw)
  const sink = new Sink(raw.length + 32)
  while (fields.next())
    if (fields.number !== field) sink.copy(fields.whole())
    else if (deeper.length === 0) sink.text(field, replace(fields.text()))
    else sink.bytes(field, inMessage(fields.content(), deeper, replace))
  return sink.take()
}

const isEnveloped = (body: Buffer): boolean => body.subarray(0, ENVELOPE.length).equals(ENVELOPE)

const inBody = (body: Buffer, type: string, field: Field, replace: Replace): Buffer => {
  try {
    if (!isEnveloped(body)) return inText(body, type, field, replace)
    const message = inMessage(body.subarray(ENVELOPE.length), field.protobuf, replace)
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
 * @throws Refusal 409 when we serve it altered
 */
export const putVersionBack = (
  body: Buffer,
  { method, type, target }: VersionedWrite,
  record: Stored | undefined,
): Buffer => {
  const ours = String(record?.version)
  if (record === undefined || !body.includes(ours)) return body
  return inBody(body, type, method === 'DELETE' ? PRECONDITION : VERSION, version => {
    if (version !== ours) return version
    refuseUnseen(target, record, method !== 'DELETE' && !isEnveloped(body))
    return record.upstream
  })
}

/**
 * Put the version that reads return into the answer to a dry run that does not change the object: otherwise
 * `kubectl diff` would show a difference for each object.
 */
export const showVersion = (body: Buffer, type: string, record: Stored | undefined): Buffer => {
  if (record === undefined || !isUnaltered(record) || !body.includes(record.upstream)) return body
  return inBody(body, type, VERSION, version =>
    version === record.upstream ? String(record.version) : version,
  )
}
