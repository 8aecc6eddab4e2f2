// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { CoreZone } from '../../testkit/zone/core-zone.js'
import { memberOf } from '../../testkit/zone/core-agent.js'
import { VERDICT } from '../../vote/quorum.js'

/** What an agent's judgement of the dead node came to, by `Clock.now`. */
interface Wait {
  readonly pendingAt: number
  readonly backedAt: number
}

t.test('in a zone of rings the writer hears of its majority within a second', async t => {
  const size = 160
  const zone = new CoreZone(size, { seed: 2, latencyMs: 5, jitterMs: 5, profile: 'default' })
  zone.bootAll()
  await zone.clock.advance(30_000)
  for (const victim of [17, 44]) {
    const { name } = memberOf(victim)
    const waits = new Map<number, Wait>()
    let writer: number | undefined
    zone.watcher = {
      vote: (by, { roster, judgement }) => {
        const index = roster.indexOf(name)!
        const [pendingAt, backedAt] = [judgement.pendingAt[index]!, judgement.backedAt[index]!]
        const isWaiting = judgement.pending[index] === VERDICT.unhealthy
        if (isWaiting && backedAt !== Infinity) waits.set(by, { pendingAt, backedAt })
      },
      wrote: ({ by, node, isDead }) => {
        if (node === victim && isDead) writer ??= by
      },
    }
    zone.crash(victim)
    for (let second = 0; second < 20 && writer === undefined; second++)
      await zone.clock.advance(1_000)
    const { pendingAt, backedAt } = waits.get(writer!)!
    t.ok(backedAt - pendingAt <= 1_000, `${name}: after ${Math.round(backedAt - pendingAt)} ms`)
  }
  await zone.stop()
})
