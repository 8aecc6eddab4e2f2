// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import type { Clock } from '../../../core/clock.js'
import { InvalidInputError } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import { parseKeyRing, type KeyData, type KeyRing } from '../../key-ring.js'
import { keepLastGood, type LastGood } from './last-good.js'
import type { Found } from './zone-watch.js'
import type { StateFolder } from '../../state-folder.js'
import type { ConfigProblem } from '../../results.js'

/** The zone's keys, from the API or from disk. */
export interface KeyKeeper {
  /** Undefined until there were good ones; until then nothing is exchanged. */
  readonly ring: KeyRing | undefined
  readonly problem: ConfigProblem | undefined
  /** Load the keys that were saved on disk. */
  recall(): Promise<void>
  /** What the API has now. */
  offer(secret: Found, hmacConfig: Found): void
}

interface KeySeams {
  readonly folder: StateFolder
  readonly clock: Clock
  readonly log: Logger
  readonly onProblem: (problem: ConfigProblem) => void
}

/** Where a ring was read from: what `parseKeyRing` takes. */
interface KeySource {
  readonly secret: KeyData
  readonly hmacConfig: KeyData
}

const data = v.optional(v.record(v.string(), v.string()))
const remembered = v.object({ secret: data, hmacConfig: data })

const KEY_NAMES = ['primary', 'secondary', 'hmackey']

/** Only what makes the ring goes to disk, whatever else the objects hold. */
const keysOf = (found: Found): KeyData =>
  found === null || found === undefined
    ? undefined
    : Object.fromEntries(Object.entries(found.data).filter(([name]) => KEY_NAMES.includes(name)))

/** What was broken, without what was found there: that may be a key, or a part of one. */
const ruleOf = (error: unknown): string =>
  error instanceof InvalidInputError ? `${error.thing} ${error.rule}` : 'broken'

/**
 * Follow the keys. While the Secret is broken the last good ring stays in force: without keys the node would fall silent,
 * and a silent node looks dead.
 */
export const makeKeyKeeper = (
  options: {
    readonly allowDefaultHmacKey: boolean
    readonly keySecret: string
    readonly namespace: string
  },
  seams: KeySeams,
): KeyKeeper => {
  const { folder, clock, log } = seams
  const rules = { allowDefaultKey: options.allowDefaultHmacKey }
  const thing = `Secret ${options.namespace}/${options.keySecret}`
  let kept: LastGood<KeyRing> = keepLastGood<KeyRing>(thing, undefined, seams.onProblem, () =>
    clock.wall(),
  )

  const take = (version: string, source: KeySource): boolean => {
    const before = kept.value?.setHash
    const primaryBefore = kept.value?.primary.id
    if (!kept.offer(version, () => parseKeyRing(source, rules))) return false
    const ring = kept.value!
    if (ring.setHash !== before || ring.primary.id !== primaryBefore) {
      log.info('key ring', { keys: ring.keys.length, primary: ring.primary.id })
    }
    return true
  }
  return {
    get ring() {
      return kept.value
    },
    get problem() {
      return kept.problem
    },
    recall: async () => {
      const text = await folder.read('keys.json')
      if (text === undefined) return
      try {
        const { secret, hmacConfig } = parseWith(
          remembered,
          'remembered keys',
          parseJson('remembered keys', text),
        )
        const ring = parseKeyRing({ secret, hmacConfig }, rules)
        kept = keepLastGood(thing, ring, seams.onProblem, () => clock.wall())
      } catch (error) {
        log.warn('remembered keys are not used', { error: ruleOf(error) })
      }
    },
    offer: (secret, hmacConfig) => {
      if (secret === undefined || (secret === null && hmacConfig === undefined)) return
      const source = { secret: keysOf(secret), hmacConfig: keysOf(hmacConfig) }
      const version = `${secret?.resourceVersion ?? ''}/${hmacConfig?.resourceVersion ?? ''}`
      if (take(version, source)) void folder.write('keys.json', JSON.stringify(source))
    },
  }
}
