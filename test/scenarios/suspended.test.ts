// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Suspension } from '../support/process-clock.js'
import { scenario } from '../support/scenario.js'
import type { World } from '../support/world.js'

const size = 5
const AWAY_MS = 180_000
const RENEW_MS = 10_000
/** When the voucher is suspended, from the moment at which its next renewal is due: before it, with the Lease on its way, with the renewal on its way. */
const MOMENTS = [-300, 5, 25]

const leaseWrites = (world: World, node: string, since: number): string[] =>
  world.cluster.writes
    .filter(({ kind, node: of, at }) => kind === 'lease' && of === node && at >= since)
    .map(({ by, at }) => `${by} after ${at - since} ms`)

/** The last renewal of a node's Lease: by whom, and when. */
const lastRenewal = (
  world: World,
  node: string,
): { readonly voucher: number; readonly at: number } => {
  const { by, at } = world.cluster.writes.filter(w => w.kind === 'lease' && w.node === node).at(-1)!
  return { voucher: world.machines.findIndex(({ name }) => name === by), at }
}

const rows: readonly (readonly [how: Suspension, what: string])[] = [
  ['stopped', 'SIGSTOP'],
  ['asleep', 'a closed lid'],
  ['paused', 'a paused VM whose clock is set afterwards'],
]
for (const [how, what] of rows)
  t.test(`FA10: after ${what} a voucher does not renew for who died meanwhile`, async t => {
    for (const [seed, moment] of MOMENTS.entries())
      await scenario(t, { what: `${what}, ${moment} ms`, size, seed }, async world => {
        await world.settled()
        world.cutCloud(0)
        await world.run(60_000)
        const { voucher, at } = lastRenewal(world, 'n0')
        t.ok(voucher > 0, 'a peer vouches for n0')
        await world.run(at + RENEW_MS + moment - world.clock.now())
        world.freeze(voucher, how)
        world.crash(0)
        await world.run(AWAY_MS)
        t.strictSame(world.condemned(), ['n0', world.machine(voucher).name].sort())
        const backAt = world.clock.now()
        if (how === 'paused') world.machine(voucher).wall.offsetMs += AWAY_MS
        world.thaw(voucher)
        await world.run(60_000)
        t.strictSame(leaseWrites(world, 'n0', backAt), [], 'nobody renews the Lease of the dead')
        t.strictSame(world.condemned(), ['n0'], 'the one that slept is back, the dead stays marked')
        t.equal(world.machine(voucher).agent?.views.counts().suspensions, 1, 'noticed once')
      })
  })
