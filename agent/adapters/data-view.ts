// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError } from '../../core/errors.js'
import { parseWith } from '../../core/parse.js'
import type { DataView } from '../ports/kube-api.js'

const schemaOf = <S extends v.GenericSchema<string, string>>(value: S) =>
  v.object({
    metadata: v.object({ name: v.string(), resourceVersion: v.string() }),
    data: v.nullish(v.record(v.string(), value), {}),
  })

const configMapSchema = schemaOf(v.string())
const secretSchema = schemaOf(v.pipe(v.string(), v.base64('must be base64')))

type Raw = v.InferOutput<typeof configMapSchema>

const viewOf = ({ metadata }: Raw, data: Record<string, string>): DataView =>
  Object.freeze({
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    data: Object.freeze(data),
  })

/**
 * A ConfigMap of the API; its `binaryData` is left out.
 * @throws InvalidInputError when it is not what the API promises.
 */
export const parseConfigMap = (raw: unknown): DataView => {
  const parsed = parseWith(configMapSchema, 'ConfigMap', raw)
  return viewOf(parsed, parsed.data)
}

const discreetly = (raw: unknown): Raw => {
  try {
    return parseWith(secretSchema, 'Secret', raw)
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    throw new InvalidInputError(error.thing, error.rule, '(hidden)')
  }
}

/**
 * A Secret of the API, its values decoded as UTF-8.
 * @throws InvalidInputError, without quoting what the Secret holds.
 */
export const parseSecret = (raw: unknown): DataView => {
  const parsed = discreetly(raw)
  const decoded = Object.entries(parsed.data).map(([key, value]): [string, string] => [
    key,
    Buffer.from(value, 'base64').toString('utf8'),
  ])
  return viewOf(parsed, Object.fromEntries(decoded))
}
