// SPDX-License-Identifier: Apache-2.0
import {
  encodeResult,
  openResult,
  answerTo,
} from '../../agent/stages/exchange/superedge/result-body.js'
import { makeKeyRing, type KeyRing } from '../../agent/key-ring.js'
import type { Dialect } from '../../agent/stages/exchange/peer-state.js'
import { sleep, type Clock } from '../../core/clock.js'
import type { MemoryNetwork } from '../../testkit/zone/memory-network.js'

const PERIOD_MS = 10_000
const TIMEOUT_MS = 3_000
/** Sends and listens here; what is probed is the kubelet, which is the world's. */
const PORT = 51_005

/**
 * A SuperEdge agent as its peers notice it: it probes everybody every ten seconds, sends its whole result to
 * everybody, answers `PUT /result` in the words of its version, and 404 to all else.
 */
export class SuperEdgeAgent {
  /** Rows that peers sent: by sender, whom it calls up. */
  readonly received = new Map<string, ReadonlyMap<string, boolean>>()
  readonly #end = new AbortController()
  readonly #unlisten: () => void

  constructor(
    self: { readonly address: string; readonly dialect: Dialect; readonly key: string },
    zone: {
      readonly addresses: readonly string[]
      readonly clock: Clock
      readonly network: MemoryNetwork
    },
  ) {
    const { address, dialect } = self
    const keys = makeKeyRing(self.key)
    this.#unlisten = zone.network.listen(address, (route, body) => {
      if (route !== 'result') return { status: 404, body: Buffer.from('404 page not found\n') }
      const opened = openResult(body, keys, dialect)
      // Each version can only sign its own form of the rows.
      const isRead = opened.ok && opened.dialect === dialect
      if (isRead) this.received.set(opened.sourceIP, opened.isUp)
      const answer = answerTo(
        isRead ? opened : { ok: false, dialect, refusal: 'bad-signature', error: '' },
      )
      return { status: answer.status, body: Buffer.from(answer.text) }
    })
    void this.#loop(self, keys, zone)
  }

  stop(): void {
    this.#end.abort()
    this.#unlisten()
  }

  async #loop(
    self: { readonly address: string; readonly dialect: Dialect },
    keys: KeyRing,
    zone: {
      readonly addresses: readonly string[]
      readonly clock: Clock
      readonly network: MemoryNetwork
    },
  ): Promise<void> {
    const { address, dialect } = self
    const { addresses, clock, network } = zone
    const transport = network.transport(address)
    while (await sleep(clock, PERIOD_MS, this.#end.signal)) {
      const isUp = new Map(addresses.map(to => [to, network.canReach(address, to)]))
      const body = encodeResult(address, isUp, dialect, keys.primary.key)
      for (const to of addresses) {
        if (to === address) continue
        const limit = new AbortController()
        const cancel = clock.after(TIMEOUT_MS, () => limit.abort(new Error('timeout')))
        transport
          .send({ name: to, address: to, port: PORT }, 'result', body, limit.signal)
          .then(cancel, cancel)
      }
    }
  }
}
