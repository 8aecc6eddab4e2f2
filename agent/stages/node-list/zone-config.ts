// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError } from '../../../core/errors.js'
import { isLabelKey } from '../../../core/label.js'
import { parseWith } from '../../../core/parse.js'

/** ConfigMap names and keys as SuperEdge has them. */
export const ZONE_CONFIG = 'edge-health-zone-config'
export const UNIT_CONFIG = 'edge-health-config'

/** What the two ConfigMaps say, parsed; undefined where a ConfigMap does not exist. */
export interface ZoneConfig {
  /** From `edge-health-zone-config`: zones by label are on. */
  readonly zones: { readonly isOn: boolean } | undefined
  /** From `edge-health-config`: nodes check each other inside the named units. */
  readonly units: { readonly isOn: boolean; readonly names: readonly string[] } | undefined
}

type Data = Readonly<Record<string, string>>

/** A switch as a ConfigMap holds it. SuperEdge takes all but "false" for on, a missing key too. */
const parseSwitch = (thing: string, text: string | undefined): boolean => {
  const word = (text ?? '').trim().toLowerCase()
  if (word === 'false') return false
  if (word === 'true' || word === '') return true
  throw new InvalidInputError(thing, 'must be "true" or "false"', text)
}

/** @throws InvalidInputError that names ConfigMap, key, rule and value. */
export const parseZones = (data: Data): ZoneConfig['zones'] => ({
  isOn: parseSwitch(`ConfigMap ${ZONE_CONFIG}: TaintZoneAdmission`, data['TaintZoneAdmission']),
})

/** They go into the selectors of the Node watches: one bad key and the apiserver refuses the whole selector. */
const parseUnitName = (name: string): string => {
  if (isLabelKey(name)) return name
  throw new InvalidInputError(
    `ConfigMap ${UNIT_CONFIG}: check-units`,
    'must list label keys, separated by commas',
    name,
  )
}

/** Limits the work: each Node is matched against each unit that its zone is not in. */
const MAX_UNITS = 256

const parseUnitNames = (text: string): readonly string[] => {
  const words = text.split(',').map(name => name.trim())
  const names = [...new Set(words.filter(name => name !== ''))]
  if (names.length > MAX_UNITS)
    throw new InvalidInputError(
      `ConfigMap ${UNIT_CONFIG}: check-units`,
      `must list at most ${MAX_UNITS} label keys`,
      names.length,
    )
  return names.map(parseUnitName)
}

/** @throws InvalidInputError that names ConfigMap, key, rule and value. */
export const parseUnits = (data: Data): ZoneConfig['units'] => ({
  isOn: parseSwitch(`ConfigMap ${UNIT_CONFIG}: unit-internal-check`, data['unit-internal-check']),
  names: parseUnitNames(data['check-units'] ?? ''),
})

/** A former version took names that are no label keys, and remembered them. */
const unitName = v.pipe(v.string(), v.check(isLabelKey, 'must be a label key'))

const zoneConfigSchema = v.object({
  zones: v.optional(v.object({ isOn: v.boolean() })),
  units: v.optional(v.object({ isOn: v.boolean(), names: v.array(unitName) })),
})

/** What `parseRememberedZoneConfig` reads, as JSON. */
export const rememberZoneConfig = (config: ZoneConfig): string => JSON.stringify(config)

/** @throws InvalidInputError when the remembered form is not ours. */
export const parseRememberedZoneConfig = (value: unknown): ZoneConfig => {
  const { zones, units } = parseWith(zoneConfigSchema, 'remembered zone config', value)
  return { zones, units }
}
