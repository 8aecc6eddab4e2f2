// SPDX-License-Identifier: Apache-2.0
import type { StatusCause } from '../../core/errors.js'
import { SUBDOMAIN } from '../../core/label.js'
import { sameJson } from './object.js'

export const NAME_PART = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

/** The causes of a 422, worded as the apiserver words them. */
export const required = (field: string, detail = ''): StatusCause => ({
  reason: 'FieldValueRequired',
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
  field,
})

export const wrong = (field: string, value: unknown, detail: string): StatusCause => ({
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value)}: ${detail}`,
  field,
})

export const unsupported = (
  field: string,
  value: unknown,
  allowed: readonly string[],
): StatusCause => ({
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${allowed.map(one => `"${one}"`).join(', ')}`,
  field,
})

export const immutableField = (field: string, now: unknown, before: unknown): StatusCause[] =>
  sameJson(now, before) ? [] : [wrong(field, now, 'field is immutable')]

/** A label key, taint key or the like: a name, with or without a domain before it. */
export const isQualifiedName = (key: string): boolean => {
  const parts = key.split('/')
  const name = parts.at(-1) ?? ''
  if (parts.length > 2 || name.length > 63 || !NAME_PART.test(name)) return false
  return parts.length === 1 || (parts[0]!.length <= 253 && SUBDOMAIN.test(parts[0]!))
}
