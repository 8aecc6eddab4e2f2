// SPDX-License-Identifier: Apache-2.0
import { applyJsonPatch, type PatchOperation } from '../../core/json-patch.js'
import { isMap, jsonBytes, setKey, type JsonMap } from '../../core/json.js'
import type { Json, WorkloadGrid } from './grid.js'
import { isTooDeep, MAX_DEPTH } from './nulls.js'
import { templateTrouble } from './schema.js'

/** The template for one unit; an error concerns that unit only. */
export type UnitTemplate = (
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
) & {
  /** What overrides cost: bytes of JSON that were read and written. */
  readonly work: number
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

/** The overrides of a unit as one patch, and of which override each operation is. */
const patchOf = (
  grid: WorkloadGrid,
  unit: string,
): { readonly operations: readonly PatchOperation[]; readonly origins: readonly number[] } => {
  const operations: PatchOperation[] = []
  const origins: number[] = []
  for (const [at, { units, patches }] of grid.overrides.entries()) {
    if (units !== undefined && !units.includes(unit)) continue
    for (const patch of patches) {
      operations.push({ ...patch, value: withUnit(patch.value, unit) })
      origins.push(at)
    }
  }
  return { operations, origins }
}

/** The template with a unit's overrides applied in order, as a copy. Only what they come to is checked. */
const overridden = (grid: WorkloadGrid, template: Json, unit: string): UnitTemplate => {
  const { operations, origins } = patchOf(grid, unit)
  const [first] = origins
  if (first === undefined) return { ok: true, template, ownBytes: 0, work: 0 }
  const patched = applyJsonPatch(template, operations)
  const work = jsonBytes(template) + patched.work
  const failed = (where: string, message: string, more = 0): UnitTemplate => ({
    ...{ ok: false, reason: 'OverrideFailed', work: work + more },
    message: `spec.overrides${where}: ${message}`,
  })
  if (!patched.ok) {
    const { op, path } = operations[patched.at]!
    return failed(`[${origins[patched.at]!}]`, `${op} ${path}: ${patched.trouble}`)
  }
  const all = first === origins.at(-1) ? `[${first}]` : `[${first}] to [${origins.at(-1)!}]`
  if (isTooDeep(patched.value))
    return failed(all, `the template must be at most ${MAX_DEPTH} levels deep`)
  const ownBytes = jsonBytes(patched.value)
  if (ownBytes > MAX_TEMPLATE_BYTES)
    return failed(
      all,
      `the template must have at most ${MAX_TEMPLATE_BYTES} bytes, got ${ownBytes}`,
      ownBytes,
    )
  const trouble = templateTrouble(template, patched.value)
  if (trouble !== undefined) return failed(all, trouble, ownBytes)
  return { ok: true, template: patched.value as Json, ownBytes, work: work + ownBytes }
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
      work: 0,
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
