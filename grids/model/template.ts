// SPDX-License-Identifier: Apache-2.0
import { applyJsonPatch } from '../../core/json-patch.js'
import { isMap, setKey, type JsonMap } from '../../core/json.js'
import type { Json, WorkloadGrid } from './grid.js'
import { isTooDeep, MAX_DEPTH } from './nulls.js'
import { templateTrouble } from './schema.js'

/** The template for one unit; an error concerns that unit only. */
export type UnitTemplate =
  | {
      readonly ok: true
      readonly template: Json
      /** Size in JSON of the template that overrides make for this unit alone; 0 when it is a shared one. */
      readonly ownBytes: number
    }
  | {
      readonly ok: false
      readonly reason: 'TemplateMissing' | 'OverrideFailed'
      readonly message: string
    }

const UNIT = '{{unit}}'

/** More than etcd stores in one object. */
const MAX_TEMPLATE_BYTES = 1_572_864

/** A value with `{{unit}}` replaced in all text values; keys stay the same. */
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

/** The template with a unit's overrides applied in order, as a copy. */
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

/** The template of a unit's child: the one that `templates` names or the default, with the unit's overrides. */
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

/** Equal for units whose children differ only in the unit's name, so that one dry run checks all of them. */
export const templateKeyOf = (grid: WorkloadGrid, unit: string): string => {
  const name = grid.templates.get(unit) ?? grid.defaultTemplateName
  const own = grid.overrides.flatMap(({ units }, at) =>
    units?.includes(unit) === true ? [at] : [],
  )
  return [name, ...own].join(' ')
}
