// SPDX-License-Identifier: Apache-2.0
import type { Agent } from '../../../agent/agent.js'
import { makeLocalInfo, type LocalInfo } from '../../../agent/http/local-info.js'
import type { Zone } from '../zone.js'

const STREAM_MS = 1_000
const RECONNECT_MS = 7_000

/** `/localinfo?stream=1` of one agent, served as its HTTP side does, and a client that connects anew at times. */
export class Follower {
  readonly agent: Agent
  readonly #clock: Zone['world']['clock']
  readonly #info: LocalInfo
  readonly #end: () => void
  #seen = new Map<string, boolean>()
  #changedAt = -Infinity
  #connectedAt = -Infinity

  constructor(agent: Agent, clock: Zone['world']['clock']) {
    this.agent = agent
    this.#clock = clock
    this.#info = makeLocalInfo(agent.views, 'omit', clock)
    this.#end = agent.views.subscribe(what => {
      if (what !== 'local') return
      const changes = this.#info.changes()
      if (changes !== undefined) this.#take(changes)
      this.#changedAt = clock.now()
    })
  }

  #take(text: string): void {
    const entries = JSON.parse(text) as Record<string, { readonly Normal: boolean } | null>
    for (const [name, entry] of Object.entries(entries)) {
      if (entry === null) this.#seen.delete(name)
      else this.#seen.set(name, entry.Normal)
    }
  }

  /** @returns what the client believes and the document denies, in words; undefined while they agree. */
  difference(): string | undefined {
    const now = this.#clock.now()
    if (now - this.#connectedAt > RECONNECT_MS) {
      this.#connectedAt = now
      this.#seen = new Map()
      this.#take(this.#info.snapshot())
    }
    if (now - this.#changedAt < STREAM_MS) return undefined
    const { nodes } = this.agent.views.localView()
    const wrong = nodes.filter(({ name, isUp }) => this.#seen.get(name) !== isUp)
    const gone = [...this.#seen.keys()].filter(name => !nodes.some(node => node.name === name))
    if (wrong.length + gone.length === 0) return undefined
    return `the stream is wrong about ${[...wrong.map(({ name }) => name), ...gone].join()}`
  }

  stop(): void {
    this.#end()
  }
}
