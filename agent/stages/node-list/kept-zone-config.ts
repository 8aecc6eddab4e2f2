// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { ConfigProblem } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'
import { keepLastGood, type LastGood } from './last-good.js'
import {
  parseUnits,
  parseZones,
  rememberZoneConfig,
  UNIT_CONFIG,
  ZONE_CONFIG,
  type ZoneConfig,
} from './zone-config.js'
import type { Found } from './zone-watch.js'

interface KeptZoneConfigSeams {
  readonly folder: StateFolder
  readonly clock: Clock
  /** Called once for each broken version of a ConfigMap. */
  readonly onProblem: (problem: ConfigProblem) => void
}

/** False while nothing usable is known: a broken ConfigMap without a good predecessor must not turn into "everybody". */
const offerFound = <T>(
  kept: LastGood<T | null>,
  found: Found,
  parse: (data: Readonly<Record<string, string>>) => T,
): boolean => {
  if (found === null) kept.offer('absent', () => null)
  else if (found !== undefined) kept.offer(found.resourceVersion, () => parse(found.data))
  return kept.value !== undefined
}

/** The last good form of both ConfigMaps that say what a zone is, kept on disk. `null` inside: it does not exist. */
export class KeptZoneConfig {
  readonly #folder: StateFolder
  readonly #zones: LastGood<ZoneConfig['zones'] | null>
  readonly #units: LastGood<ZoneConfig['units'] | null>
  #saved: string

  /** @param last what is on disk; undefined when nothing usable is */
  constructor(namespace: string, last: ZoneConfig | undefined, seams: KeptZoneConfigSeams) {
    const { folder, clock, onProblem } = seams
    const wall = (): number => clock.wall()
    const thing = (name: string): string => `ConfigMap ${namespace}/${name}`
    const first = <T>(value: T | undefined): T | null | undefined =>
      last === undefined ? undefined : (value ?? null)
    this.#folder = folder
    this.#zones = keepLastGood(thing(ZONE_CONFIG), first(last?.zones), onProblem, wall)
    this.#units = keepLastGood(thing(UNIT_CONFIG), first(last?.units), onProblem, wall)
    this.#saved = last === undefined ? '' : rememberZoneConfig(last)
  }

  /** Why the newest version of a ConfigMap is not in force. */
  get problems(): readonly ConfigProblem[] {
    return [this.#zones.problem, this.#units.problem].filter(each => each !== undefined)
  }

  /** Take what the API has. @returns what is in force; undefined while nothing usable is known of one of them */
  take(zones: Found, units: Found): ZoneConfig | undefined {
    const known = [
      offerFound(this.#zones, zones, parseZones),
      offerFound(this.#units, units, parseUnits),
    ]
    if (known.includes(false)) return undefined
    const config = { zones: this.#zones.value ?? undefined, units: this.#units.value ?? undefined }
    const text = rememberZoneConfig(config)
    if (text !== this.#saved) void this.#folder.write('zone-config.json', text)
    this.#saved = text
    return config
  }
}
