// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../../core/errors.js'
import type { NodeName } from '../../../core/ids.js'
import type { Logger } from '../../../core/log.js'
import type { Pin } from '../../identity/pins.js'
import type { StateFolder } from '../../state-folder.js'
import { parsePins, rememberPins } from './remembered-pins.js'

/** The keys of this many members are kept after they left: one may return while the API is unreachable. */
const MAX_DEPARTED = 64
const FILE = 'identities.json'

interface MemberPinsSeams {
  readonly folder: StateFolder
  readonly log: Logger
}

/** The pinned keys of the zone's members, in memory and on disk, and those of some members that left. */
export class MemberPins {
  readonly #seams: MemberPinsSeams
  readonly #pins = new Map<NodeName, Pin>()
  /** Oldest first. */
  readonly #departed = new Map<NodeName, Pin>()

  constructor(seams: MemberPinsSeams) {
    this.#seams = seams
  }

  /** A copy. */
  get all(): ReadonlyMap<NodeName, Pin> {
    return new Map(this.#pins)
  }

  get(node: NodeName): Pin | undefined {
    return this.#pins.get(node)
  }

  has(node: NodeName): boolean {
    return this.#pins.has(node)
  }

  set(pin: Pin): void {
    this.#pins.set(pin.node, pin)
  }

  /** @returns whether there was one */
  delete(node: NodeName): boolean {
    return this.#pins.delete(node)
  }

  /** Move the pins of those that left or returned. @returns whether any moved */
  follow(members: ReadonlySet<NodeName>): boolean {
    const gone = [...this.#pins].filter(([name]) => !members.has(name))
    const back = [...this.#departed].filter(([name]) => members.has(name))
    for (const [name, pin] of gone) {
      this.#pins.delete(name)
      this.#departed.set(name, pin)
    }
    for (const [name, pin] of back) {
      this.#departed.delete(name)
      this.#pins.set(name, pin)
    }
    for (const name of [...this.#departed.keys()].slice(0, -MAX_DEPARTED))
      this.#departed.delete(name)
    return gone.length + back.length > 0
  }

  /** Read what an earlier process wrote. */
  async load(): Promise<void> {
    const { folder, log } = this.#seams
    const text = await folder.read(FILE)
    if (text === undefined) return
    try {
      for (const pin of parsePins(text)) this.set(pin)
    } catch (error) {
      log.warn('remembered state is not used', { name: FILE, error: reasonOf(error) })
    }
  }

  save(): void {
    void this.#seams.folder.write(FILE, rememberPins(this.#pins.values()))
  }
}
