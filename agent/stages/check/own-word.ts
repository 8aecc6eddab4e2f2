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
  readonly folder: Pick<StateFolder, 'read' | 'write'>
}

const kubelet: readonly SelfReport[] = ['well', 'bad', 'unknown']

const remembered = v.strictObject({
  version: v.literal(1),
  /** Epoch ms since when the apiserver is out of reach; null: not known to be. */
  cutAt: v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  kubelet: v.picklist(kubelet),
})

/** What peers act upon; since when does not count. */
const gistOf = ({ cloudLink, kubelet: report }: OwnWord): string =>
  `${cloudLink.state === 'cut' ? 'cut' : 'not cut'}, kubelet ${report}`

/**
 * What was last told of the own node, kept over a restart: until it is known how the node is, the agent goes on telling it.
 * Peers would take anything else for a change, and act.
 */
export class RememberedWord {
  readonly #seams: OwnWordSeams
  /** What the file says; undefined before it was read: until then nothing is written. */
  #gist: string | undefined

  constructor(seams: OwnWordSeams) {
    this.#seams = seams
  }

  /** @param otherwise what is told where nothing is remembered */
  async recall(otherwise: OwnWord): Promise<OwnWord> {
    const { folder, log } = this.#seams
    const text = await folder.read('own-node.json')
    let word = otherwise
    try {
      if (text !== undefined) word = this.#parse(text, otherwise)
    } catch (error) {
      log.warn('the last reported state of this node cannot be read from disk', {
        error: reasonOf(error),
      })
    }
    const gist = gistOf(word)
    this.#gist = gist
    if (gist !== gistOf(otherwise))
      log.info('until it is checked, this node is reported as before the restart', { state: gist })
    return word
  }

  /** Write it where it has changed. */
  keep(word: OwnWord): void {
    const gist = gistOf(word)
    if (this.#gist === undefined || this.#gist === gist) return
    this.#gist = gist
    const { clock, folder } = this.#seams
    const { state, since } = word.cloudLink
    const cutAt = Math.max(0, Math.round(clock.wall() - (clock.now() - since)))
    const told = { version: 1, cutAt: state === 'cut' ? cutAt : null, kubelet: word.kubelet }
    void folder.write('own-node.json', JSON.stringify(told))
  }

  /** No cut began in the future: a machine without a clock of its own boots in 1970. */
  #parse(text: string, otherwise: OwnWord): OwnWord {
    const { clock } = this.#seams
    const thing = 'remembered own node'
    const told = parseWith(remembered, thing, parseJson(thing, text))
    if (told.cutAt === null) return { ...otherwise, kubelet: told.kubelet }
    const since = clock.now() - Math.max(0, clock.wall() - told.cutAt)
    const trouble = 'it was cut before the restart'
    return { cloudLink: { state: 'cut', since, trouble }, kubelet: told.kubelet }
  }
}
