// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import type { Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import type { SelfReport } from '../../../plugins/seams.js'
import type { OwnNodeResult } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'

/** What an agent tells of its own node. */
export type OwnWord = Pick<OwnNodeResult, 'cloudLink' | 'kubelet'>

interface OwnWordSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly folder: Pick<StateFolder, 'read' | 'write' | 'troubles'>
}

const FILE = 'own-node.json'
/** What is remembered of the kubelet is told after so many starts or suspensions in a row; then it must be seen again. */
const MOST_STARTS = 2

const kubelet: readonly SelfReport[] = ['well', 'bad', 'unknown']

const remembered = v.strictObject({
  version: v.literal(1),
  /** Epoch ms since when the apiserver is out of reach; null: not known to be. */
  cutAt: v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  kubelet: v.picklist(kubelet),
  /** Starts and suspensions in a row since the kubelet was seen so. */
  starts: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0),
})

/** What peers act upon; since when does not count. */
const gistOf = ({ cloudLink, kubelet: report }: OwnWord): string =>
  `${cloudLink.state === 'cut' ? 'cut' : 'not cut'}, kubelet ${report}`

const withoutKubelet = (word: OwnWord): OwnWord => ({ ...word, kubelet: 'unknown' })

/**
 * What was last told of the own node, kept over a restart: until it is known how the node is, the agent goes on telling it.
 * Peers would take anything else for a change, and act. An agent that begins again and again before its kubelet is seen
 * tells it for a few starts only: what nobody confirms is not true for ever.
 */
export class RememberedWord {
  readonly #seams: OwnWordSeams
  /** What the file says; undefined before it was read: until then nothing is written. */
  #written: string | undefined
  #starts = 0

  constructor(seams: OwnWordSeams) {
    this.#seams = seams
  }

  /** @param otherwise what is told where nothing is remembered */
  async recall(otherwise: OwnWord): Promise<OwnWord> {
    const { folder, log } = this.#seams
    const text = await folder.read(FILE)
    let word = otherwise
    try {
      if (text !== undefined) word = this.#parse(text, otherwise)
    } catch (error) {
      log.warn('the last reported state of this node cannot be read from disk', {
        error: reasonOf(error),
      })
    }
    this.#written = this.#gistOf(word)
    word = this.beginAgain(word)
    await this.#write(word)
    // A disk that does not count the starts would have the same told after each of them.
    if (folder.troubles.has(FILE)) word = withoutKubelet(word)
    const gist = gistOf(word)
    if (gist !== gistOf(otherwise))
      log.info('until it is checked, this node is reported as before the restart', { state: gist })
    return word
  }

  /** The own node is asked anew, since time has passed. @returns what is told until there is an answer */
  beginAgain(word: OwnWord): OwnWord {
    if (word.kubelet === 'unknown') return word
    if (this.#starts >= MOST_STARTS) return withoutKubelet(word)
    this.#starts++
    return word
  }

  /** The kubelet has been seen since the own node is asked. */
  seen(): void {
    this.#starts = 0
  }

  /** Write it where it has changed. */
  keep(word: OwnWord): void {
    void this.#write(word)
  }

  async #write(word: OwnWord): Promise<void> {
    const gist = this.#gistOf(word)
    if (this.#written === undefined || this.#written === gist) return
    this.#written = gist
    const { clock, folder } = this.#seams
    const { state, since } = word.cloudLink
    const cutAt = Math.max(0, Math.round(clock.wall() - (clock.now() - since)))
    const told = { version: 1, cutAt: state === 'cut' ? cutAt : null, kubelet: word.kubelet }
    await folder.write(FILE, JSON.stringify({ ...told, starts: this.#starts }))
  }

  #gistOf(word: OwnWord): string {
    return `${gistOf(word)}, ${this.#starts} starts`
  }

  /** No cut began in the future: a machine without a clock of its own boots in 1970. */
  #parse(text: string, otherwise: OwnWord): OwnWord {
    const { clock } = this.#seams
    const thing = 'remembered own node'
    const told = parseWith(remembered, thing, parseJson(thing, text))
    this.#starts = told.starts
    if (told.cutAt === null) return { ...otherwise, kubelet: told.kubelet }
    const since = clock.now() - Math.max(0, clock.wall() - told.cutAt)
    const trouble = 'it was cut before the restart'
    return { cloudLink: { state: 'cut', since, trouble }, kubelet: told.kubelet }
  }
}
