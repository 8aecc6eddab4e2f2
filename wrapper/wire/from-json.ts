// SPDX-License-Identifier: Apache-2.0
import { isMap } from '../../core/json.js'
import type { JsonMap } from './kinds.js'
import { messageOf, type Field, type Message, type Shape, type Simple } from './schema.js'
import { Sink } from './sink.js'
import { FIRST_SECOND, secondsOf } from './time.js'
import { WireError } from './wire-error.js'

/** Where a value is written, and its name for errors. */
interface Target {
  readonly sink: Sink
  readonly message: string
  readonly field: Field
}

const refuse = ({ message, field }: Target, rule: string): never => {
  throw new WireError(`${message}.${field.name}`, rule)
}

const MAX_INT32 = 2 ** 31

/** Numbers as text that JavaScript would round. */
const LONG = /^-?\d{16,19}$/

const writeInt64 = (target: Target, number: number, value: unknown): void => {
  if (typeof value !== 'string' || !LONG.test(value)) {
    writeInteger(target, number, value)
    return
  }
  const exact = BigInt(value)
  if (BigInt.asIntN(64, exact) !== exact) refuse(target, 'must fit 64 bits')
  target.sink.long(number, exact)
}

const writeInteger = (target: Target, number: number, value: unknown): void => {
  if (!Number.isSafeInteger(value)) refuse(target, 'must be a whole number')
  target.sink.number(number, value as number)
}

const writeInt32 = (target: Target, number: number, value: unknown): void => {
  if (typeof value === 'number' && (value < -MAX_INT32 || value >= MAX_INT32))
    refuse(target, 'must fit 32 bits')
  writeInteger(target, number, value)
}

const writeText = (target: Target, number: number, value: unknown): void => {
  if (typeof value !== 'string') refuse(target, 'must be text')
  target.sink.text(number, value as string)
}

/** Whole seconds, as Go writes them; Go's zero time is a message without fields. */
const writeTime = (target: Target, number: number, value: unknown): void => {
  const seconds = typeof value === 'string' ? secondsOf(value) : NaN
  if (Number.isNaN(seconds)) refuse(target, 'must be a time')
  target.sink.message(number, inside =>
    seconds === FIRST_SECOND ? inside : inside.number(1, seconds).number(2, 0),
  )
}

const writeQuantity = (target: Target, number: number, value: unknown): void => {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value
  target.sink.message(number, () => writeText(target, 1, text))
}

const writeIntOrString = (target: Target, number: number, value: unknown): void => {
  const isText = typeof value === 'string'
  target.sink.message(number, inside => {
    inside.number(1, isText ? 1 : 0)
    writeInt32(target, 2, isText ? 0 : value)
    inside.text(3, isText ? value : '')
  })
}

const writeBool = (target: Target, number: number, value: unknown): void => {
  if (typeof value !== 'boolean') refuse(target, 'must be true or false')
  target.sink.number(number, value === true ? 1 : 0)
}

const writeFieldsV1 = (target: Target, number: number, value: unknown): void => {
  target.sink.message(number, inside => inside.text(1, JSON.stringify(value)))
}

const WRITERS: Readonly<Record<Simple, (target: Target, number: number, value: unknown) => void>> =
  {
    string: writeText,
    bool: writeBool,
    int32: writeInt32,
    int64: writeInt64,
    Time: writeTime,
    Quantity: writeQuantity,
    IntOrString: writeIntOrString,
    FieldsV1: writeFieldsV1,
  }

const writeOne = (target: Target, number: number, value: unknown): void => {
  const { type } = target.field
  if (typeof type === 'string') WRITERS[type](target, number, value)
  else if (isMap(value))
    target.sink.message(number, inside => {
      writeMessage(inside, type, value)
    })
  else refuse(target, 'must be an object')
}

const writeList = (target: Target, value: unknown): void => {
  if (!Array.isArray(value)) refuse(target, 'must be a list')
  for (const entry of value as unknown[]) writeOne(target, target.field.number, entry)
}

/** Go sorts the keys, so that the same map gives the same bytes. */
const writeMap = (target: Target, value: unknown): void => {
  if (!isMap(value)) return refuse(target, 'must be an object')
  for (const key of Object.keys(value).sort())
    target.sink.message(target.field.number, entry => {
      entry.text(1, key)
      writeOne(target, 2, value[key])
    })
}

/** The zero values, in their JSON form, of fields that protobuf always contains. */
const ZEROS: Readonly<Record<Simple, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  Time: '0001-01-01T00:00:00Z',
  Quantity: '0',
  IntOrString: 0,
  FieldsV1: {},
}

const writeField = (target: Target, value: unknown): void => {
  const { form, type, absence, number } = target.field
  if (value !== undefined && value !== null) {
    if (form === 'list') writeList(target, value)
    else if (form === 'map') writeMap(target, value)
    else writeOne(target, number, value)
  } else if (form === 'one' && absence !== 'pointer')
    writeOne(target, number, typeof type === 'string' ? ZEROS[type] : {})
}

const writeMessage = (sink: Sink, message: Message, value: JsonMap): void => {
  for (const field of message.fields)
    writeField({ sink, message: message.name, field }, value[field.name])
}

/**
 * The object's protobuf bytes, as Go writes them. A 64-bit number may be given as text of 16 digits and more. Unknown names
 * (`apiVersion` and `kind` among them) are ignored; a value of the wrong type is refused. @throws WireError
 */
export const fromJson = (shape: Shape, value: JsonMap): Uint8Array => {
  const sink = new Sink(1024)
  writeMessage(sink, messageOf(shape), value)
  return sink.take()
}
