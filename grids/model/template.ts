// SPDX-License-Identifier: Apache-2.0
import { applyJsonPatch } from '../../core/json-patch.js'
import { isMap, setKey, type JsonMap } from '../../core/json.js'
import type { Json, WorkloadGrid } from './grid.js'
import { isTooDeep, MAX_DEPTH } from './nulls.js'
import { templateTrouble } from './schema.js'

/** The template of one unit; where it has none, that is the unit's trouble alone. */
export type UnitTemplate =
  | {
      readonly ok: true
      readonly template: Json
      /** Bytes of JSON that overrides make of it for this unit alone; 0 where it is the grid's own, which all share. */
      readonly ownBytes: number
    }
  | {
      readonly ok: false
      readonly reason: 'TemplateMissing' | 'OverrideFailed'
      readonly message: string
    }

const UNIT = '{{unit}}'

/** More than etcd keeps of one object. */
const MAX_TEMPLATE_BYTES = 1_572_864

/** A value with `{{unit}}` replaced in all its texts; keys stay as they are. */
const withUnit = (value: unknown, unit: string): unknown => {
  if (typeof value === 'string') return value.replaceAll(UNIT, () => unit)
  if (Array.isArray(value)) return value.map(item => withUnit(item, unit))
  if (!isMap(value)) return value
  const copy: JsonMap = {}
  for (const [key, inner] of Object.entries(value)) setKey(copy, key, withUnit(inner, unit))
  return copy
}

const failed = (at: number, message: string): UnitTemplate => ({
  ok: false,
  reason: 'OverrideFailed',
  message: `spec.overrides[${at}]: ${message}`,
})

/** One unit's overrides carried out, in order, on a copy. */
const overridden = (grid: WorkloadGrid, template: Json, unit: string): UnitTemplate => {
  let now = template
  let ownBytes = 0
  for (const [at, { units, patches }] of grid.overrides.entries()) {
    if (units !== undefined && !units.includes(unit)) continue
    const filled = patches.map(patch => ({ ...patch, value: withUnit(patch.value, unit) }))
    const patched = applyJsonPatch(now, filled)
    if (!patched.ok) {
      const { op, path } = filled[patched.at]!
      return failed(at, `${op} ${path}: ${patched.trouble}`)
    }
    if (isTooDeep(patched.value))
      return failed(at, `the template must be at most ${MAX_DEPTH} levels deep`)
    ownBytes = Buffer.byteLength(JSON.stringify(patched.value))
    if (ownBytes > MAX_TEMPLATE_BYTES)
      return failed(
        at,
        `the template must have at most ${MAX_TEMPLATE_BYTES} bytes, got ${ownBytes}`,
      )
    const trouble = templateTrouble(template, patched.value)
    if (trouble !== undefined) return failed(at, trouble)
    now = patched.value as Json
  }
  return { ok: true, template: now, ownBytes }
}

/** The template that a unit's child is made of: the one that `templates` names, else the default, with its overrides. */
export const templateOf = (grid: WorkloadGrid, unit: string): UnitTemplate => {
  const name = grid.templates.get(unit) ?? grid.defaultTemplateName
  const template = name === 'default' ? grid.template : grid.templatePool.get(name)
  if (template === undefined) {
    const known = ['default', ...grid.templatePool.keys()].join(', ')
    return {
      ok: false,
      reason: 'TemplateMissing',
      message: `template ${JSON.stringify(name)} is not in spec.templatePool; there are ${known}`,
    }
  }
  return overridden(grid, template, unit)
}

/**
 * What a unit's child is made of, in short: units with the same answer differ in nothing but their name, and what the
 * apiserver says of one it says of all.
 */
export const templateKeyOf = (grid: WorkloadGrid, unit: string): string => {
  const name = grid.templates.get(unit) ?? grid.defaultTemplateName
  const own = grid.overrides.flatMap(({ units }, at) =>
    units?.includes(unit) === true ? [at] : [],
  )
  return [name, ...own].join(' ')
}
