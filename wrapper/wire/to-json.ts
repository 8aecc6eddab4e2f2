// SPDX-License-Identifier: Apache-2.0
import { BYTES, Fields, type Range } from './fields.js'
import { JsonSink } from './json-sink.js'
import type { JsonMap } from './kinds.js'
import { isScalar, messageOf, type Field, type Message, type Shape, type Simple } from './schema.js'
import { Sink } from './sink.js'
import { FIRST_SECOND, timeText } from './time.js'
import { WireError } from './wire-error.js'

/** Go's zero time is null. */
const readTime = (time: Fields): string | null => {
  let seconds = FIRST_SECOND
  while (time.next()) if (time.number === 1) seconds = time.integer()
  return seconds === FIRST_SECOND ? null : timeText(seconds)
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

/** `managedFields` contains JSON. It is copied as text, so no nesting is too deep. */
const readFieldsV1 = (fieldsV1: Fields): string => {
  let text = 'null'
  while (fieldsV1.next()) if (fieldsV1.number === 1) text = fieldsV1.text()
  try {
    JSON.parse(text)
  } catch {
    throw new WireError('fieldsV1', 'must be JSON')
  }
  // Between its parts only; an event is one line.
  return text.replaceAll('\n', ' ')
}

const writeSimple = (json: JsonSink, type: Simple, field: Fields): void => {
  switch (type) {
    case 'string':
      json.text(field.raw, field.textRange())
      break
    case 'bool':
      json.ascii(field.integer() === 0 ? 'false' : 'true')
      break
    case 'int32':
      json.ascii(String(field.integer() | 0))
      break
    case 'int64':
      json.ascii(field.decimal())
      break
    case 'Time':
      json.value(readTime(field.inside()))
      break
    case 'Quantity':
      json.value(readQuantity(field.inside()))
      break
    case 'IntOrString':
      json.value(readIntOrString(field.inside()))
      break
    case 'FieldsV1':
      json.raw(readFieldsV1(field.inside()))
  }
}

const writeValue = (json: JsonSink, type: Field['type'], field: Fields): void => {
  if (typeof type === 'string') writeSimple(json, type, field)
  else writeObject(json, type, field.inside(), '')
}

const ZEROS: Readonly<Record<Simple, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  IntOrString: 0,
  Quantity: '0',
  Time: null,
  FieldsV1: null,
}

const NOTHING = new Uint8Array(0)

/** Write the zero value, which an absent field stands for. */
const writeZero = (json: JsonSink, type: Field['type']): void => {
  if (typeof type === 'string') json.value(ZEROS[type])
  else writeObject(json, type, new Fields(NOTHING), '')
}

/** Whether Go omits from JSON the value that the bytes contain. */
const isLeftOut = ({ type, form, absence }: Field, field: Fields): boolean => {
  if (form !== 'one') return false
  if (absence === 'omitzero') return type === 'Time' && readTime(field.inside()) === null
  if (absence !== 'omitempty' || !isScalar(type)) return false
  if (type === 'string') {
    const { start, end } = field.textRange()
    return start === end
  }
  return (type === 'int32' ? field.integer() | 0 : field.integer()) === 0
}

/** Write what JSON contains for a missing field. */
const writeAbsent = (json: JsonSink, field: Field): void => {
  const { key, type, form, absence } = field
  if (absence === 'pointer') return
  if (absence === 'omitempty' && (form !== 'one' || isScalar(type))) return
  if (absence === 'omitzero' && (form !== 'one' || type === 'Time')) return
  json.key(key)
  if (form === 'one') writeZero(json, type)
  else json.ascii('null')
}

const writeEntry = (json: JsonSink, type: Field['type'], entry: Fields): void => {
  let key: Range = { start: 0, end: 0 }
  let value: Fields | undefined
  while (entry.next()) {
    if (entry.number === 1) key = entry.textRange()
    else if (entry.number === 2) value = new Fields(entry.raw, entry.start, entry.end)
  }
  json.text(entry.raw, key).colon()
  if (value?.next() === true) writeValue(json, type, value)
  else writeZero(json, type)
}

interface Piece {
  readonly number: number
  readonly whole: Uint8Array
  /** Undefined when the field is a number. */
  readonly content: Uint8Array | undefined
}

/** Write a field that is not a list once: repeated messages are merged, of repeated scalars the last one counts. */
const writeOnce = (sink: Sink, { type }: Field, pieces: readonly Piece[]): void => {
  const last = pieces.at(-1)!
  const parts = pieces.map(({ content }) => content)
  if (pieces.length === 1 || isScalar(type) || parts.includes(undefined)) sink.copy(last.whole)
  else sink.bytes(last.number, Buffer.concat(parts.filter(part => part !== undefined)))
}

/** The fields as Go would have written them: in the order of their numbers, and fields that are not lists once. */
const inOrder = (message: Message, fields: Fields): Fields => {
  const all = new Map<number, Piece[]>()
  while (fields.next()) {
    const content = fields.type === BYTES ? fields.content() : undefined
    const piece = { number: fields.number, whole: fields.whole(), content }
    const pieces = all.get(piece.number)
    if (pieces === undefined) all.set(piece.number, [piece])
    else pieces.push(piece)
  }
  const sink = new Sink()
  for (const field of message.fields) {
    const pieces = all.get(field.number) ?? []
    if (field.form !== 'one') for (const { whole } of pieces) sink.copy(whole)
    else if (pieces.length > 0) writeOnce(sink, field, pieces)
  }
  return new Fields(sink.take())
}

const BRACKETS = { one: undefined, list: ['[', ']'], map: ['{', '}'] } as const

/** @returns false when the fields are not in the order of their numbers, or a field that is not a list is repeated */
const writeFields = (json: JsonSink, message: Message, fields: Fields): boolean => {
  /** Place of the first field of the message that has not been handled yet. */
  let next = 0
  let bracket: ']' | '}' | undefined
  const endField = (): void => {
    if (bracket !== undefined) json.close(bracket)
    bracket = undefined
  }
  while (fields.next()) {
    const place = message.places[fields.number]
    // A newer apiserver may know more than our table.
    if (place === undefined) continue
    const field = message.fields[place]!
    if (place < next - 1) return false
    if (place >= next) {
      endField()
      for (; next < place; next++) writeAbsent(json, message.fields[next]!)
      next++
      if (isLeftOut(field, fields)) continue
      json.key(field.key)
      const brackets = BRACKETS[field.form]
      if (brackets !== undefined) json.open(brackets[0])
      bracket = brackets?.[1]
    } else if (field.form === 'one') return false
    if (field.form === 'map') writeEntry(json, field.type, fields.inside())
    else writeValue(json, field.type, fields)
  }
  endField()
  for (; next < message.fields.length; next++) writeAbsent(json, message.fields[next]!)
  return true
}

/** @param first members that come before those of the message, without braces; '' for none */
const writeObject = (json: JsonSink, message: Message, fields: Fields, first: string): void => {
  json.open('{')
  if (first !== '') json.ascii(first)
  const { mark } = json
  if (!writeFields(json, message, fields)) {
    // Go writes fields in order, so this is rare: put them in order and write the object again.
    json.back(mark)
    writeFields(json, message, inOrder(message, fields.again()))
  }
  json.close('}')
}

/**
 * Write the object as kube-apiserver writes it in JSON, without `apiVersion` and `kind`.
 * @param first members in ASCII that come before its own
 * @throws WireError
 */
export const writeJson = (json: JsonSink, shape: Shape, raw: Uint8Array, first = ''): void =>
  writeObject(json, messageOf(shape), new Fields(raw), first)

/** The object as kube-apiserver writes it in JSON, without `apiVersion` and `kind`. @throws WireError */
export const toJson = (shape: Shape, raw: Uint8Array): JsonMap => {
  const json = new JsonSink(3 * raw.length)
  writeJson(json, shape, raw)
  return JSON.parse(Buffer.from(json.take()).toString()) as JsonMap
}
