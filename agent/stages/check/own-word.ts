// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { sleep, type Clock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import { parseJson, parseWith } from '../../../core/parse.js'
import type { SelfReport } from '../../../plugins/seams.js'
import type { AgentOptions } from '../../options/agent-options.js'
import type { OwnNodeResult } from '../../results.js'
import type { StateFolder } from '../../state-folder.js'

/** What an agent tells of its own node. */
export type OwnWord = Pick<OwnNodeResult, 'cloudLink' | 'kubelet'>

type Options = Pick<AgentOptions, 'recordTtlMs' | 'selfReportPeriodMs'>

interface OwnWordSeams {
  readonly clock: Clock
  readonly log: Logger
  readonly folder: Pick<StateFolder, 'read' | 'write' | 'troubles'>
}

const FILE = 'own-node.json'
/** "Well" is told after so many starts or suspensions in a row; then it must be seen again. */
const MOST_STARTS = 2
/** A disk that takes longer to count a start does not count it: the agent is wanted. */
const COUNTED_WITHIN_MS = 500

const kubelet: readonly SelfReport[] = ['well', 'bad', 'unknown']

const remembered = v.strictObject({
  version: v.literal(1),
  /** Epoch ms since when the apiserver is out of reach; null: not known to be. */
  cutAt: v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(0))),
  kubelet: v.picklist(kubelet),
  /** Starts and suspensions in a row since the kubelet was seen to be well. */
  starts: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0),
  /** When the kubelet was last seen to be bad: in ms since the machine was started, and epoch ms. */
  badAt: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0),
  badWall: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(0)), 0),
})

/** What peers act upon; since when does not count. */
const gistOf = ({ cloudLink, kubelet: report }: OwnWord): string =>
  `${cloudLink.state === 'cut' ? 'cut' : 'not cut'}, kubelet ${report}`

const withoutKubelet = (word: OwnWord): OwnWord => ({ ...word, kubelet: 'unknown' })

/**
 * What was last told of the own node, kept over a restart: until it is known how the node is, the agent goes on telling it.
 * Peers would take anything else for a change, and act. What nobody has seen since is not told for ever: "bad" for a time,
 * "well" for a few starts.
 */
export class RememberedWord {
  readonly #seams: OwnWordSeams
  /** "Bad" is told for so long after it was seen last: peers believe the last record for no longer. At least for two questions. */
  readonly #badMs: number
  /** What the file says; undefined before it was read: until then nothing is written. */
  #written: string | undefined
  #starts = 0
  #badAt = 0
  #badWall = 0
  #badWrittenAt = -Infinity

  constructor({ recordTtlMs, selfReportPeriodMs }: Options, seams: OwnWordSeams) {
    this.#badMs = Math.max(recordTtlMs, 2 * selfReportPeriodMs)
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
    // Otherwise the same would be told after each of them.
    if (word.kubelet === 'well' && !(await this.#isCounted(word))) word = withoutKubelet(word)
    const gist = gistOf(word)
    if (gist !== gistOf(otherwise))
      log.info('until it is checked, this node is reported as before the restart', { state: gist })
    return word
  }

  /** The own node is asked anew, since time has passed. @returns what is told until there is an answer */
  beginAgain(word: OwnWord): OwnWord {
    switch (word.kubelet) {
      case 'unknown':
        return word
      case 'bad':
        return this.#isBadYoung ? word : withoutKubelet(word)
      case 'well':
        if (this.#starts >= MOST_STARTS) return withoutKubelet(word)
        this.#starts++
        return word
    }
  }

  /** The kubelet was seen to be so; `keep` writes it. */
  saw(kubelet: SelfReport): void {
    this.#starts = 0
    if (kubelet !== 'bad') return
    this.#badAt = this.#bootNow
    this.#badWall = this.#wallNow
  }

  /** Write it where it has changed. */
  keep(word: OwnWord): void {
    void this.#write(word)
  }

  async #write(word: OwnWord): Promise<void> {
    const gist = this.#gistOf(word)
    const isBadDue = word.kubelet === 'bad' && this.#badAt >= this.#badWrittenAt + this.#badMs / 2
    if (this.#written === undefined || (this.#written === gist && !isBadDue)) return
    this.#written = gist
    this.#badWrittenAt = this.#badAt
    const { clock, folder } = this.#seams
    const { state, since } = word.cloudLink
    const cutAt = Math.max(0, Math.round(clock.wall() - (clock.now() - since)))
    const told = { version: 1, cutAt: state === 'cut' ? cutAt : null, kubelet: word.kubelet }
    const marks = { starts: this.#starts, badAt: this.#badAt, badWall: this.#badWall }
    await folder.write(FILE, JSON.stringify({ ...told, ...marks }))
  }

  /** Whether the disk has this start, in time. */
  async #isCounted(word: OwnWord): Promise<boolean> {
    const { clock, folder } = this.#seams
    const done = new AbortController()
    const isWritten = this.#write(word).then(() => !folder.troubles.has(FILE))
    const isLate = sleep(clock, COUNTED_WITHIN_MS, done.signal).then(() => false)
    const isCounted = await Promise.race([isWritten, isLate])
    done.abort()
    return isCounted
  }

  #gistOf(word: OwnWord): string {
    return `${gistOf(word)}, ${this.#starts} starts`
  }

  get #bootNow(): number {
    return Math.round(this.#seams.clock.boot())
  }

  get #wallNow(): number {
    return Math.max(0, Math.round(this.#seams.clock.wall()))
  }

  /** False after the machine was started anew, too: by one of its clocks, as the other may show the same time again. */
  get #isBadYoung(): boolean {
    const age = this.#bootNow - this.#badAt
    const wallAge = Math.abs(this.#wallNow - this.#badWall)
    return age >= 0 && age < this.#badMs && wallAge < this.#badMs
  }

  /** No cut began in the future: a machine without a clock of its own boots in 1970. */
  #parse(text: string, otherwise: OwnWord): OwnWord {
    const { clock } = this.#seams
    const thing = 'remembered own node'
    const told = parseWith(remembered, thing, parseJson(thing, text))
    this.#starts = told.starts
    this.#badAt = told.badAt
    this.#badWall = told.badWall
    this.#badWrittenAt = told.badAt
    if (told.cutAt === null) return { ...otherwise, kubelet: told.kubelet }
    const since = clock.now() - Math.max(0, clock.wall() - told.cutAt)
    const trouble = 'it was cut before the restart'
    return { cloudLink: { state: 'cut', since, trouble }, kubelet: told.kubelet }
  }
}
