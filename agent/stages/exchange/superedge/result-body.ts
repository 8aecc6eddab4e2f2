// SPDX-License-Identifier: Apache-2.0
import { createHmac, timingSafeEqual, type KeyObject } from 'node:crypto'
import { goDecode, goSort, goString } from './go-json.js'
import type { KeyRing } from '../../../key-ring.js'
import type { Dialect } from '../peer-state.js'

const ZERO_TIME = '0001-01-01T00:00:00Z'
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/

/** One node as another one's agent sees it. Senders leave everything but `normal` at its zero. */
interface Row {
  readonly normal: boolean
  /** v0.6 calls it Hamc. */
  readonly hamc: string
  readonly hmac: string
  /** v0.6: RFC 3339, normalized as Go does; v0.9: Unix seconds. */
  readonly time: string | number | undefined
}

/** A result as sent; `rows` is undefined where Go has a nil map. */
interface Result {
  readonly sourceIP: string
  readonly rows: ReadonlyMap<string, Row> | undefined
}

const row06 = ({ normal, hamc, time }: Row): string =>
  `{"Normal":${String(normal)},"Hamc":${goString(hamc)},"Time":${goString(String(time ?? ZERO_TIME))}}`

const row09 = ({ normal, hmac, time }: Row): string => {
  const fields: string[] = []
  if (normal) fields.push('"normal":true')
  if (hmac !== '') fields.push(`"hmac":${goString(hmac)}`)
  if (time !== undefined && time !== 0) fields.push(`"time":${String(time)}`)
  return `{${fields.join(',')}}`
}

const detailOf = (rows: Result['rows'], dialect: Dialect): string => {
  if (rows === undefined) return 'null'
  const row = dialect === 'v0.6' ? row06 : row09
  return `{${goSort(rows.keys())
    .map(ip => `${goString(ip)}:${row(rows.get(ip)!)}`)
    .join(',')}}`
}

/** What SuperEdge signs: the address and the rows in canonical form, one behind the other. */
export const resultHmac = (key: KeyObject, message: string): string =>
  createHmac('sha256', key).update(message).digest('hex')

/** The body of `PUT /result`: the address of the sender and, by address, whom it can reach. */
export const encodeResult = (
  sourceIP: string,
  isUp: ReadonlyMap<string, boolean>,
  dialect: Dialect,
  key: KeyObject,
): Buffer => {
  const rows = new Map<string, Row>()
  for (const [ip, normal] of isUp) rows.set(ip, { normal, hamc: '', hmac: '', time: undefined })
  const source = goString(sourceIP)
  const detail = detailOf(rows, dialect)
  const hmac = resultHmac(key, source + detail)
  return Buffer.from(
    dialect === 'v0.6'
      ? `{"SourceIP":${source},"ResultDetail":${detail},"Hmac":"${hmac}"}`
      : `{"sourceIP":${source},"resultDetail":${detail},"hmac":"${hmac}"}`,
  )
}

export type OpenedResult =
  | {
      readonly ok: true
      readonly dialect: Dialect
      readonly sourceIP: string
      readonly isUp: ReadonlyMap<string, boolean>
    }
  | {
      readonly ok: false
      readonly dialect: Dialect
      readonly refusal: 'malformed' | 'bad-signature'
      /** As v0.6 words it. */
      readonly error: string
    }

/** Thrown nowhere: a shape that Go could not decode. */
const BAD = Symbol('cannot unmarshal')

const fieldsOf = (value: unknown): Map<string, unknown> | typeof BAD => {
  if (value === null || value === undefined) return new Map()
  if (typeof value !== 'object' || Array.isArray(value)) return BAD
  // Go matches names whatever their case, and the last one wins.
  return new Map(Object.entries(value).map(([name, field]) => [name.toLowerCase(), field]))
}

const textOf = (value: unknown): string | typeof BAD =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : BAD

const timeOf = (value: unknown): Row['time'] | typeof BAD => {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'number') return Number.isInteger(value) ? value : BAD
  const match = typeof value === 'string' ? RFC3339.exec(value) : null
  if (match === null) return BAD
  const fraction = (match[2] ?? '').slice(0, 9).replace(/0+$/, '')
  const zone = match[3]!.slice(1) === '00:00' ? 'Z' : match[3]!
  return `${match[1]!}${fraction === '' ? '' : `.${fraction}`}${zone}`
}

const rowOf = (value: unknown): Row | typeof BAD => {
  const fields = fieldsOf(value)
  if (fields === BAD) return BAD
  const normal = fields.get('normal') ?? false
  const time = timeOf(fields.get('time'))
  const hamc = textOf(fields.get('hamc'))
  const hmac = textOf(fields.get('hmac'))
  if (typeof normal !== 'boolean' || time === BAD || hamc === BAD || hmac === BAD) return BAD
  return { normal, hamc, hmac, time }
}

const rowsOf = (value: unknown): Result['rows'] | typeof BAD => {
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'object' || Array.isArray(value)) return BAD
  const rows = new Map<string, Row>()
  for (const [ip, item] of Object.entries(value)) {
    const row = rowOf(item)
    if (row === BAD) return BAD
    rows.set(ip, row)
  }
  return rows
}

/** The form of a time tells the dialect; rows without a time could be of either. */
const dialectsOf = (rows: Result['rows'], spelled: Dialect): readonly Dialect[] | typeof BAD => {
  const kinds = new Set<string>()
  for (const row of rows?.values() ?? []) if (row.time !== undefined) kinds.add(typeof row.time)
  if (kinds.size > 1) return BAD
  if (kinds.has('string')) return ['v0.6']
  if (kinds.has('number')) return ['v0.9']
  return spelled === 'v0.6' ? ['v0.6', 'v0.9'] : ['v0.9', 'v0.6']
}

const isSignedBy = (keys: KeyRing, message: string, hmac: string): boolean => {
  const given = Buffer.from(hmac, 'latin1')
  return keys.keys.some(({ key }) => {
    const wanted = Buffer.from(resultHmac(key, message), 'latin1')
    return wanted.length === given.length && timingSafeEqual(wanted, given)
  })
}

/**
 * Read a `PUT /result` of either dialect. As SuperEdge does, the parsed values are encoded again and that is what
 * must be signed; so the order of rows, the case of names and unknown fields do not matter. Nothing ties it to a
 * time, a receiver or a connection: anybody who recorded it can replay it.
 * @param otherwise the dialect when the body does not show which one it is.
 */
export const openResult = (bytes: Uint8Array, keys: KeyRing, otherwise: Dialect): OpenedResult => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
  const spelled: Dialect = /"(SourceIP|ResultDetail|Hmac)"/.test(text)
    ? 'v0.6'
    : /"(sourceIP|resultDetail)"/.test(text)
      ? 'v0.9'
      : otherwise
  const malformed = (error: string): OpenedResult => ({
    ok: false,
    dialect: spelled,
    refusal: 'malformed',
    error,
  })
  const decoded = goDecode(text)
  if (!decoded.ok) return malformed(decoded.error)
  const fields = fieldsOf(decoded.value)
  const parsed = fields === BAD ? BAD : resultOf(fields)
  const dialects = parsed === BAD ? BAD : dialectsOf(parsed.rows, spelled)
  if (parsed === BAD || dialects === BAD) return malformed('json: cannot unmarshal value')
  const { sourceIP, rows, hmac } = parsed
  const signed = dialects.find(dialect =>
    isSignedBy(keys, goString(sourceIP) + detailOf(rows, dialect), hmac),
  )
  if (signed === undefined) {
    return { ok: false, dialect: dialects[0]!, refusal: 'bad-signature', error: '' }
  }
  const isUp = new Map([...(rows ?? [])].map(([ip, row]) => [ip, row.normal]))
  return { ok: true, dialect: signed, sourceIP, isUp }
}

const resultOf = (
  fields: ReadonlyMap<string, unknown>,
): (Result & { readonly hmac: string }) | typeof BAD => {
  const sourceIP = textOf(fields.get('sourceip'))
  const hmac = textOf(fields.get('hmac'))
  const rows = rowsOf(fields.get('resultdetail'))
  return sourceIP === BAD || hmac === BAD || rows === BAD ? BAD : { sourceIP, hmac, rows }
}

/** What an agent of this dialect would answer. */
export interface ResultAnswer {
  readonly status: number
  readonly text: string
}

/** Exactly as captured from running agents: v0.6 says 200 before it verifies. */
export const answerTo = (opened: OpenedResult): ResultAnswer => {
  const is06 = opened.dialect === 'v0.6'
  if (opened.ok) return { status: 200, text: is06 ? 'Received!\n' : '' }
  switch (opened.refusal) {
    case 'malformed':
      return { status: 402, text: is06 ? `${opened.error}\n` : 'Invalid Body\n' }
    case 'bad-signature':
      return is06
        ? { status: 200, text: 'Received!\nHmac not match\n' }
        : { status: 403, text: 'Hmac not match\n' }
  }
}

/** What a SuperEdge agent's answer to our result says about it. */
export type Reception = 'taken' | 'wrong-key' | 'other-dialect' | 'failed'

/** Read the answer to a result that was sent in `dialect`. */
export const receptionOf = (dialect: Dialect, { status, text }: ResultAnswer): Reception => {
  const isFrom06 = text.startsWith('Received!')
  const isDenied = text.includes('Hmac not match')
  if (status === 200 && !isDenied) return 'taken'
  if (status === 200 && isFrom06) return dialect === 'v0.6' ? 'wrong-key' : 'other-dialect'
  if (status === 402 && dialect === 'v0.6') return 'other-dialect'
  return status === 403 ? 'wrong-key' : 'failed'
}
