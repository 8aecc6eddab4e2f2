// SPDX-License-Identifier: Apache-2.0
import { applyJsonPatch, type PatchOperation } from '../../core/json-patch.js'
import { copyJson, jsonBytes, jsonWork } from '../../core/json.js'
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
  /** What overrides cost: the work (`jsonWork`) of what was read and written. */
  readonly work: number
}

const UNIT = '{{unit}}'

/** More than etcd stores in one object. */
const MAX_TEMPLATE_BYTES = 1_572_864

/** A copy of a value with `{{unit}}` replaced in all text values; keys stay the same. */
const withUnit = (value: unknown, unit: string): unknown =>
  copyJson(value, text => text.replaceAll(UNIT, () => unit))

/** The overrides of a unit as one patch, and of which override each operation is. */
const patchOf = (
  grid: WorkloadGrid,
  unit: string,
): { readonly operations: readonly PatchOperation[]; readonly origins: readonly number[] } => {
  const own = [...grid.overrides.entries()].filter(
    ([, { units }]) => units === undefined || units.includes(unit),
  )
  return {
    operations: own.flatMap(([, { patches }]) => patches),
    origins: own.flatMap(([at, { patches }]) => patches.map(() => at)),
  }
}

/** The template with a unit's overrides applied in order, as a copy. Only what they come to is checked. */
const overridden = (
  grid: WorkloadGrid,
  template: Json,
  unit: string,
  mostWork: number,
): UnitTemplate => {
  const { operations, origins } = patchOf(grid, unit)
  const [first] = origins
  if (first === undefined) return { ok: true, template, ownBytes: 0, work: 0 }
  const templateWork = jsonWork(template)
  const patched = applyJsonPatch(template, operations, {
    copy: value => withUnit(value, unit),
    mostWork: mostWork - templateWork,
  })
  const work = templateWork + patched.work
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
  const ownWork = jsonWork(patched.value)
  if (ownBytes > MAX_TEMPLATE_BYTES)
    return failed(
      all,
      `the template must have at most ${MAX_TEMPLATE_BYTES} bytes, got ${ownBytes}`,
      ownWork,
    )
  const trouble = templateTrouble(template, patched.value)
  if (trouble !== undefined) return failed(all, trouble, ownWork)
  return { ok: true, template: patched.value as Json, ownBytes, work: work + ownWork }
}

/**
 * The template of a unit's child: the one that `templates` names or the default, with the unit's overrides. They stop when
 * their work is more than `mostWork`.
 */
export const templateOf = (grid: WorkloadGrid, unit: string, mostWork = Infinity): UnitTemplate => {
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
  return overridden(grid, template, unit, mostWork)
}

/** Equal for units whose children differ only in the unit's name, so that one dry run checks all of them. */
export const templateKeyOf = (grid: WorkloadGrid, unit: string): string => {
  const name = grid.templates.get(unit) ?? grid.defaultTemplateName
  const own = grid.overrides.flatMap(({ units }, at) =>
    units?.includes(unit) === true ? [at] : [],
  )
  return [name, ...own].join(' ')
}
