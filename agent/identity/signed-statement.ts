// SPDX-License-Identifier: Apache-2.0
import { LinkChain, saltOf } from './link-chain.js'
import type { Progress } from './member-statement.js'
import type { NodeKeys } from './node-keys.js'
import {
  parseStatement,
  sealStatement,
  type Origin,
  type ReceivedStatement,
  type Statement,
} from './statement.js'

const LOG_LINKS = 10

/** One signed statement, and the links that show for how long it holds. */
export class SignedStatement {
  readonly received: ReceivedStatement
  /** When its links run out, in quarters after its time. */
  readonly quarters: number
  readonly #chain: LinkChain

  /** @param seed `LINK_BYTES` random bytes, never used before */
  constructor(
    origin: Origin,
    keys: Pick<NodeKeys, 'sign'>,
    says: Omit<Statement, 'anchor' | 'logLinks'>,
    seed: Uint8Array,
  ) {
    const { epoch, time, slot } = says
    this.#chain = new LinkChain(saltOf({ ...origin, epoch, time }), seed, 2 ** LOG_LINKS)
    this.quarters = (this.#chain.last + 1) * slot
    const statement = { ...says, logLinks: LOG_LINKS, anchor: this.#chain.anchor }
    this.received = parseStatement(sealStatement(statement, origin, bytes => keys.sign(bytes)))!
  }

  /** @param quarters since the statement's time, below `quarters` */
  progressAt(quarters: number): Progress {
    const at = Math.floor(quarters / this.received.statement.slot)
    return { quarters, link: at === 0 ? undefined : this.#chain.link(at) }
  }
}
