// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { InvalidInputError, reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import {
  isOwnIdentity,
  MAX_GENERATION,
  parseIdentity,
  writeIdentity,
  type IdentitySubject,
  type PublishedIdentity,
} from '../../identity/annotation.js'
import { generateNodeKeys, readNodeKeys, type NodeKeys } from '../../identity/node-keys.js'
import type { OwnIdentity } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'

const schema = v.object({
  version: v.literal(1),
  generation: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_GENERATION)),
  isPublished: v.boolean(),
  node: v.string(),
  keys: v.unknown(),
})

interface Remembered {
  readonly keys: NodeKeys
  readonly generation: number
  /** The Node's annotation had these keys at the last look, so others may know them while the API is out of reach. */
  readonly isPublished: boolean
}

/** What was broken, without the value, which may be a key. */
const ruleOf = (error: unknown): string =>
  error instanceof InvalidInputError ? `${error.thing} ${error.rule}` : reasonOf(error)

/** The keys on disk; undefined when there are none, or they are broken, or of another node whose disk was copied. */
const recall = async (
  folder: StateFolder,
  log: Logger,
  own: NodeName,
): Promise<Remembered | undefined> => {
  const text = await folder.read('identity.json')
  if (text === undefined) return undefined
  try {
    const thing = 'remembered identity'
    const found = parseWith(schema, thing, parseJson(thing, text))
    const { generation, isPublished, node, keys } = found
    if (node !== own) {
      log.warn('remembered identity is of another node, this one gets its own', { member: node })
      return undefined
    }
    return { generation, isPublished, keys: readNodeKeys(keys) }
  } catch (error) {
    folder.distrust('identity.json')
    log.error('remembered identity is not used, this node gets another', { error: ruleOf(error) })
    return undefined
  }
}

/** A Node's identity; undefined when its annotation is missing or broken. */
export const readPublished = (text: string | undefined): PublishedIdentity | undefined => {
  if (text === undefined) return undefined
  try {
    return parseIdentity(text)
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}

/** The keys of this node, made once and kept on disk. A node that lost its disk makes keys of the next generation. */
export class OwnKeys {
  readonly #folder: StateFolder
  readonly #node: NodeName
  #known: Remembered
  #identity: OwnIdentity

  private constructor(folder: StateFolder, node: NodeName, known: Remembered) {
    this.#folder = folder
    this.#node = node
    this.#known = known
    this.#identity = known
  }

  static async open(folder: StateFolder, node: NodeName, log: Logger): Promise<OwnKeys> {
    const known = await recall(folder, log, node)
    const fresh = { keys: generateNodeKeys(), generation: 1, isPublished: false }
    const own = new OwnKeys(folder, node, known ?? fresh)
    if (known === undefined) own.#save()
    return own
  }

  /** Undefined until the Node's annotation has it. The same object until it changes: a new one begins a new epoch. */
  get published(): OwnIdentity | undefined {
    const { keys, generation, isPublished } = this.#known
    if (this.#identity.keys !== keys || this.#identity.generation !== generation)
      this.#identity = { keys, generation }
    return isPublished ? this.#identity : undefined
  }

  /**
   * Compare with the own Node's annotation.
   * @returns what to write into it; undefined when it is right
   */
  review(subject: IdentitySubject, text: string | undefined): string | undefined {
    const { keys, generation } = this.#known
    const found = readPublished(text)
    const isOurs =
      found?.keys.signing.equals(keys.public.signing) === true &&
      found.keys.agreement.equals(keys.public.agreement)
    if (isOurs && found.generation === generation && isOwnIdentity(subject, found)) {
      this.#publishes(true)
      return undefined
    }
    // Other keys on the Node (lost ones, or those of another machine with this name) have used up their generation.
    if (found !== undefined && !isOurs && found.generation >= generation)
      this.#known = {
        ...{ keys, isPublished: false },
        generation: Math.min(MAX_GENERATION, found.generation + 1),
      }
    this.#publishes(false)
    return writeIdentity(subject, this.#known.generation, keys)
  }

  #publishes(isPublished: boolean): void {
    this.#known = { ...this.#known, isPublished }
    this.#save()
  }

  #save(): void {
    const { keys, generation, isPublished } = this.#known
    const node = this.#node
    const text = JSON.stringify({ version: 1, node, generation, isPublished, keys: keys.toJson() })
    if (text !== this.#saved) void this.#folder.write('identity.json', text)
    this.#saved = text
  }
  #saved = ''
}
