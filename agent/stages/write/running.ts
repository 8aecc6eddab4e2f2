// SPDX-License-Identifier: Apache-2.0

/** Work that is under way: at most one piece for each node. */
export class Running {
  readonly #works = new Map<string, Promise<unknown>>()
  readonly #onEnd: () => void

  /** @param onEnd called after each piece, when its node is free for another one */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  get size(): number {
    return this.#works.size
  }

  has(node: string): boolean {
    return this.#works.has(node)
  }

  /** @param work never rejects */
  start(node: string, work: Promise<unknown>): void {
    const done = work.finally(() => {
      this.#works.delete(node)
      this.#onEnd()
    })
    this.#works.set(node, done)
  }

  /** Resolves when what runs now has ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#works.values())
  }
}
