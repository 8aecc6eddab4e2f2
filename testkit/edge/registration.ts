// SPDX-License-Identifier: Apache-2.0
import { sleep } from '../../core/clock.js'
import { isUnready, nodeBody, nodePatch, nodeStatusPatch } from './bodies.js'
import { nodeResource, type EdgePart } from './edge-part.js'
import { outcomeOf } from './requests.js'

/** Refused status patches are tried again so often, at once. */
const PATCHES = 5

/** Makes the edge's Node and reports its status from then on. */
export class Registration {
  readonly #part: EdgePart
  /** The process dies. */
  readonly #panic: (reason: string) => void

  constructor(part: EdgePart, panic: (reason: string) => void) {
    this.#part = part
    this.#panic = panic
  }

  async run(): Promise<void> {
    const { node, store, clock, signal, times, emit } = this.#part
    for (let waitMs = times.registerMs; ; waitMs = Math.min(2 * waitMs, times.longestRegisterMs)) {
      if (!(await sleep(clock, waitMs, signal))) return
      if (await this.#register()) break
    }
    emit({ kind: 'registered' })
    await this.#patch('{}')
    let sentAt = clock.now()
    while (await sleep(clock, times.nodeLookMs, signal)) {
      const isWrong = isUnready(store.get(nodeResource(node)))
      if (!isWrong && clock.now() - sentAt < times.nodeStatusMs) continue
      sentAt = clock.now()
      await this.#patch(isWrong ? nodeStatusPatch(clock.wall()) : nodePatch(clock.wall()))
    }
  }

  async #register(): Promise<boolean> {
    const { node, ip, clock, store, ask } = this.#part
    const resource = nodeResource(node)
    const body = nodeBody(node, ip, clock.wall())
    const outcome = outcomeOf(await ask({ operation: 'insert', resource }, body))
    if (outcome.ok && outcome.object === null) {
      this.#panic('the answer to the registration has neither a Node nor an error')
      return false
    }
    if (outcome.ok) {
      store.set(resource, outcome.object)
      return true
    }
    // It has registered before: what the store knows of it must do.
    return outcome.code === 409 && store.get(resource) !== undefined
  }

  async #patch(text: string): Promise<void> {
    const { node, signal, ask } = this.#part
    const resource = `null/nodepatch/${node}`
    for (let i = 0; i < PATCHES && !signal.aborted; i++) {
      const outcome = outcomeOf(await ask({ operation: 'patch', resource }, text))
      if (outcome.ok || outcome.code === 0) return
    }
  }
}
