// SPDX-License-Identifier: Apache-2.0
import type { Kind } from './kinds.js'
import { SCHEMA_TABLE } from './schema-table.js'

/** Messages that can be converted to JSON and back: the kinds, and the messages around them. */
export type Shape = Kind | 'EndpointSliceV1beta1' | 'Status' | 'ListMeta'

const SCALARS = ['string', 'bool', 'int32', 'int64'] as const
/** Messages that Go encodes in JSON in a special form. */
const SPECIALS = ['Time', 'Quantity', 'IntOrString', 'FieldsV1'] as const
/**
 * What Go does with the zero value. `always`: it is written. `omitempty`: it is left out of JSON when it is a scalar, a list
 * or a map; structures are written even if empty. `omitzero`: structures are left out as well. In protobuf all three are
 * written unless they are lists or maps. `pointer`: the value is left out of both when it is nil, and only then.
 */
type Absence = 'always' | 'omitempty' | 'omitzero' | 'pointer'

export type Simple = (typeof SCALARS)[number] | (typeof SPECIALS)[number]

export interface Field {
  readonly number: number
  readonly name: string
  /** The name as JSON text before a value, with quotes and colon. */
  readonly key: string
  readonly type: Simple | Message
  readonly form: 'one' | 'list' | 'map'
  readonly absence: Absence
}

export interface Message {
  readonly name: string
  /** In the order of their numbers. */
  readonly fields: readonly Field[]
  /** Field number → place in `fields`. */
  readonly places: readonly (number | undefined)[]
}

const SIMPLES: ReadonlySet<string> = new Set([...SCALARS, ...SPECIALS])
const isSimple = (type: string): type is Simple => SIMPLES.has(type)

const SCALAR_NAMES: ReadonlySet<unknown> = new Set(SCALARS)
/** Strings, numbers and booleans, which `omitempty` leaves out. */
export const isScalar = (type: Field['type']): boolean => SCALAR_NAMES.has(type)

/** A message that is not complete yet, so that messages can refer to each other in any order. */
interface Draft {
  readonly name: string
  readonly fields: Field[]
  readonly places: (number | undefined)[]
}

const formOf = (written: string): readonly [Field['form'], type: string] => {
  if (written.startsWith('[]')) return ['list', written.slice(2)]
  if (written.startsWith('map:')) return ['map', written.slice(4)]
  return ['one', written]
}

const readTable = (table: string): ReadonlyMap<string, Message> => {
  const drafts = new Map<string, Draft>()
  const draftOf = (name: string): Draft => {
    const draft = drafts.get(name) ?? { name, fields: [], places: [] }
    drafts.set(name, draft)
    return draft
  }
  let current = draftOf('')
  for (const line of table.trim().split('\n')) {
    if (!line.startsWith(' ')) {
      current = draftOf(line)
      continue
    }
    const [number, name, written, absence] = line.trim().split(' ') as [
      string,
      string,
      string,
      Absence,
    ]
    const [form, type] = formOf(written)
    current.places[Number(number)] = current.fields.length
    current.fields.push({
      number: Number(number),
      name,
      key: `"${name}":`,
      type: isSimple(type) ? type : draftOf(type),
      form,
      absence,
    })
  }
  return drafts
}

const NAMES: Readonly<Record<Shape, string>> = {
  Node: 'core.v1.Node',
  Service: 'core.v1.Service',
  Endpoints: 'core.v1.Endpoints',
  EndpointSlice: 'discovery.v1.EndpointSlice',
  EndpointSliceV1beta1: 'discovery.v1beta1.EndpointSlice',
  ServiceCIDR: 'networking.v1.ServiceCIDR',
  Status: 'Status',
  ListMeta: 'ListMeta',
}

const messages = readTable(SCHEMA_TABLE)

/** The message of a shape. */
export const messageOf = (shape: Shape): Message => messages.get(NAMES[shape])!
