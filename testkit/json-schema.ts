// SPDX-License-Identifier: Apache-2.0

/** As much of JSON Schema 2020-12 as the repository's own schemas use. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly required?: readonly string[] | undefined
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly items?: Schema
  readonly enum?: readonly (string | null)[]
  readonly anyOf?: readonly Schema[]
  readonly allOf?: readonly Schema[] | undefined
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: 'date-time'
  readonly $defs?: Readonly<Record<string, Schema>>
}

const KNOWN = [
  ...['$schema', '$ref', '$defs', 'title', 'description', 'type', 'required', 'properties'],
  ...['items', 'enum', 'anyOf', 'allOf', 'minimum', 'maximum', 'format'],
]

const typesOf = (value: unknown): readonly string[] => {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  return Number.isInteger(value) ? ['integer', 'number'] : [typeof value]
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The schemas that all apply to one value: what `$ref` and `allOf` lead to is resolved. */
const together = (schema: Schema, root: Schema): Schema[] => {
  const odd = Object.keys(schema).filter(key => !KNOWN.includes(key))
  if (odd.length > 0) throw new Error(`this checker does not know: ${odd.join(', ')}`)
  const { $ref, allOf = [] } = schema
  const named = $ref === undefined ? [] : [root.$defs?.[$ref.replace('#/$defs/', '')]]
  const more = [...named, ...allOf].map(part => {
    if (part === undefined) throw new Error(`no such schema: ${$ref}`)
    return part
  })
  return [schema, ...more.flatMap(part => together(part, root))]
}

type Look = (schema: Schema, value: unknown, path: string) => string[]

const ofScalar = (rule: Schema, value: unknown): string[] => {
  const shown = JSON.stringify(value)
  const said: string[] = []
  const types = typeof rule.type === 'string' ? [rule.type] : rule.type
  if (types !== undefined && !typesOf(value).some(type => types.includes(type)))
    said.push(`${shown} is no ${types.join(', ')}`)
  if (rule.enum !== undefined && !rule.enum.includes(value as string))
    said.push(`${shown} is none of ${rule.enum.join(', ')}`)
  if (typeof value === 'number') {
    if (value < (rule.minimum ?? -Infinity)) said.push(`${value} is below ${rule.minimum}`)
    if (value > (rule.maximum ?? Infinity)) said.push(`${value} is above ${rule.maximum}`)
  }
  const isTime = (text: string): boolean => /^\d{4}-.*T.*Z$/.test(text) && !isNaN(Date.parse(text))
  if (rule.format === 'date-time' && typeof value === 'string' && !isTime(value))
    said.push(`${shown} is no date-time`)
  return said
}

const ofObject = (rules: readonly Schema[], value: unknown, path: string, look: Look): string[] => {
  if (!isRecord(value)) return []
  const named = Object.fromEntries(rules.flatMap(rule => Object.entries(rule.properties ?? {})))
  // A schema without any properties says nothing about them.
  const isOpen = Object.keys(named).length === 0
  const missing = rules.flatMap(rule => rule.required ?? []).filter(key => !(key in value))
  return [
    ...missing.map(key => `${path}/${key}: is missing`),
    ...Object.entries(value).flatMap(([key, inner]) => {
      const rule = named[key]
      if (rule !== undefined) return look(rule, inner, `${path}/${key}`)
      return isOpen ? [] : [`${path}/${key}: is in no schema`]
    }),
  ]
}

/**
 * Where and how `value` breaks the schema; empty when it does not. Stricter than JSON Schema in one thing: a property
 * that no schema names is reported, so that none goes undocumented.
 */
export const violations = (root: Schema, value: unknown): string[] => {
  const look: Look = (schema, value, path) => {
    const rules = together(schema, root)
    const said = rules.flatMap(rule => ofScalar(rule, value)).map(text => `${path}: ${text}`)
    for (const { items, anyOf } of rules) {
      if (items !== undefined && Array.isArray(value))
        said.push(...value.flatMap((item, index) => look(items, item, `${path}/${index}`)))
      if (anyOf === undefined) continue
      const tries = anyOf.map(part => look(part, value, path))
      if (tries.some(each => each.length === 0)) continue
      const nearest = tries.find(each => !each.some(text => text.startsWith(`${path}: `)))
      said.push(...(nearest ?? [`${path}: ${JSON.stringify(value)} fits nothing that it may be`]))
    }
    return [...said, ...ofObject(rules, value, path, look)]
  }
  return look(root, value, '')
}
