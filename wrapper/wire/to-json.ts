// SPDX-License-Identifier: Apache-2.0
import { Fields } from './fields.js'
import type { JsonMap } from './kinds.js'
import { isScalar, messageOf, type Field, type Message, type Shape, type Simple } from './schema.js'
import { FIRST_SECOND, LAST_SECOND } from './time.js'
import { WireError } from './wire-error.js'

const readTime = (time: Fields): string | null => {
  let seconds = FIRST_SECOND
  while (time.next()) if (time.number === 1) seconds = time.integer()
  if (seconds === FIRST_SECOND) return null
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
    throw new WireError('time', 'must lie in the years 1 to 9999')
  return `${new Date(seconds * 1000).toISOString().slice(0, -5)}Z`
}

const readQuantity = (quantity: Fields): string => {
  let text = ''
  while (quantity.next()) if (quantity.number === 1) text = quantity.text()
  return text === '' ? '0' : text
}

const readIntOrString = (either: Fields): number | string => {
  let isText = false
  let number = 0
  let text = ''
  while (either.next()) {
    if (either.number === 1) isText = either.integer() === 1
    else if (either.number === 2) number = either.integer() | 0
    else if (either.number === 3) text = either.text()
  }
  return isText ? text : number
}

/** The fields that somebody manages are JSON already. */
const readFieldsV1 = (fieldsV1: Fields): unknown => {
  let text = 'null'
  while (fieldsV1.next()) if (fieldsV1.number === 1) text = fieldsV1.text()
  try {
    return JSON.parse(text) as unknown
  } catch {
    throw new WireError('fieldsV1', 'must be JSON')
  }
}

const readSimple = (type: Simple, field: Fields): unknown => {
  switch (type) {
    case 'string':
      return field.text()
    case 'bool':
      return field.integer() !== 0
    case 'int32':
      return field.integer() | 0
    case 'int64':
      return field.integer()
    case 'Time':
      return readTime(field.inside())
    case 'Quantity':
      return readQuantity(field.inside())
    case 'IntOrString':
      return readIntOrString(field.inside())
    case 'FieldsV1':
      return readFieldsV1(field.inside())
  }
}

const readOne = (type: Field['type'], field: Fields): unknown =>
  typeof type === 'string' ? readSimple(type, field) : readMessage(type, field.inside())

/** The value that an absent field stands for. */
const zeroOf = (type: Field['type']): unknown => {
  switch (type) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'IntOrString':
      return 0
    case 'Quantity':
      return '0'
    case 'Time':
    case 'FieldsV1':
      return null
    default:
      return readMessage(type, new Fields(NOTHING))
  }
}

const NOTHING = new Uint8Array(0)

const readEntry = (type: Field['type'], entry: Fields): readonly [string, unknown] => {
  let key = ''
  let value: unknown
  while (entry.next()) {
    if (entry.number === 1) key = entry.text()
    else if (entry.number === 2) value = readOne(type, entry)
  }
  return [key, value ?? zeroOf(type)]
}

/** What was found of a field so far; lists and maps come piece by piece. */
const collect = (field: Field, fields: Fields, sofar: unknown): unknown => {
  const { form, type } = field
  if (form === 'one') {
    if (sofar !== undefined) throw new WireError(field.name, 'must be given once')
    return readOne(type, fields)
  }
  const pieces = (sofar ?? []) as unknown[]
  pieces.push(form === 'list' ? readOne(type, fields) : readEntry(type, fields.inside()))
  return pieces
}

const isZero = (value: unknown): boolean => value === '' || value === 0 || value === false

/** The value that JSON gets for a field that is neither list nor map nor pointer; undefined leaves it out. */
const settleOne = ({ type, absence }: Field, value: unknown): unknown => {
  if (absence === 'omitzero') return value ?? undefined
  return absence === 'omitempty' && isScalar(type) && isZero(value) ? undefined : value
}

/** The value that JSON gets; undefined leaves the field out. */
const settle = (field: Field, found: unknown): unknown => {
  const { form, type, absence } = field
  if (form === 'map' && found !== undefined)
    // Not by assignment: `__proto__` is a key like any other.
    return Object.fromEntries(found as [string, unknown][])
  if (absence === 'pointer') return found
  if (form === 'one') return settleOne(field, found ?? zeroOf(type))
  return found ?? (absence === 'always' ? null : undefined)
}

const readMessage = (message: Message, fields: Fields): JsonMap => {
  const found: unknown[] = []
  while (fields.next()) {
    const place = message.places[fields.number]
    // A newer apiserver may know more than our table.
    if (place === undefined) continue
    found[place] = collect(message.fields[place]!, fields, found[place])
  }
  const json: Record<string, unknown> = {}
  message.fields.forEach((field, place) => {
    const value = settle(field, found[place])
    if (value !== undefined) json[field.name] = value
  })
  return json
}

/** The object as kube-apiserver writes it in JSON, without `apiVersion` and `kind`. @throws WireError */
export const toJson = (shape: Shape, raw: Uint8Array): JsonMap =>
  readMessage(messageOf(shape), new Fields(raw))
