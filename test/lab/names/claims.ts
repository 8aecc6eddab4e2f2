// SPDX-License-Identifier: Apache-2.0
import { isDeepStrictEqual } from 'node:util'
import { reasonOf } from '../../../core/errors.js'
import { waitFor } from '../patience.js'

const PATIENCE_MS = 60_000

/** Says what holds, and counts what does not. */
export class Claims {
  readonly #say: (line: string) => void
  passed = 0
  failed = 0

  constructor(say: (line: string) => void) {
    this.#say = say
  }

  holds(what: string, isSo: boolean, seen = ''): void {
    if (isSo) this.passed++
    else this.failed++
    this.#say(`${isSo ? 'ok    ' : 'not ok'} ${what}`)
    if (!isSo && seen !== '') this.#say(`       ${seen}`)
  }

  equal(what: string, seen: unknown, wanted: unknown): void {
    const show = JSON.stringify({ seen, wanted })
    this.holds(what, isDeepStrictEqual(seen, wanted), show)
  }

  /** Wait until it is so, a minute at most, on a busy machine longer. */
  async becomes(
    what: string,
    look: () => unknown,
    wanted: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const lookOnce = async () => {
      const seen = look()
      return isDeepStrictEqual(seen, wanted) ? undefined : JSON.stringify({ seen, wanted })
    }
    try {
      await waitFor({ what, limitMs: PATIENCE_MS, look: lookOnce }, signal)
      this.holds(what, true)
    } catch (error) {
      signal.throwIfAborted()
      this.holds(what, false, reasonOf(error))
    }
  }
}
