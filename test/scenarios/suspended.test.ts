// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Suspension } from '../../testkit/process-clock.js'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

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

interface Row {
  readonly how: Suspension
  readonly what: string
  readonly moments?: readonly number[]
  /** The machine's wall clock is set right when it goes on. */
  readonly isSet?: boolean
}

const rows: readonly Row[] = [
  { how: 'stopped', what: 'SIGSTOP' },
  { how: 'asleep', what: 'a closed lid' },
  { how: 'paused', what: 'a paused VM whose clock is set afterwards', isSet: true },
  // Nothing of its own tells it. A renewal that is leaving already, no answer before it can stop.
  { how: 'paused', what: 'a paused VM whose clocks show nothing', moments: [-300, 5] },
]
for (const { how, what, moments = MOMENTS, isSet = false } of rows)
  t.test(`FA10: after ${what} a voucher does not renew for who died meanwhile`, async t => {
    for (const [seed, moment] of share(t, [...moments.entries()], 1, 'moments'))
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
        if (isSet) world.machine(voucher).wall.offsetMs += AWAY_MS
        world.thaw(voucher)
        await world.run(60_000)
        t.strictSame(leaseWrites(world, 'n0', backAt), [], 'nobody renews the Lease of the dead')
        t.strictSame(world.condemned(), ['n0'], 'the one that slept is back, the dead stays marked')
        t.equal(world.machine(voucher).agent?.views.counts().suspensions, 1, 'noticed once')
      })
  })

for (const awayMs of share(t, [45_000, 10_000, AWAY_MS], 1, 'pauses'))
  t.test(
    `FA10: paused for ${awayMs} ms, a VM without the cloud learns it from its peers`,
    async t => {
      await scenario(t, { what: 'no cloud', size, seed: 9 }, async world => {
        await world.settled()
        world.cutCloud(...world.indices)
        await world.run(30_000)
        const { log } = world.machine(2)
        const counts = () => world.machine(2).agent?.views.counts()
        const isWarming = () => {
          const voters = world.machine(2).agent?.views.node('n1')?.voters
          return voters?.find(({ name }) => name === 'n2')?.counts === false
        }
        t.notOk(isWarming())
        world.freeze(2, 'paused')
        world.crash(0)
        // Its host drops what comes for it.
        world.partition([2], [0, 1, 3, 4])
        await world.run(awayMs)
        world.partition(world.indices)
        world.thaw(2)
        const ms = await world.until(() => counts()?.suspensions === 1, 20_000)
        t.ok(ms !== undefined, `noticed after ${ms} ms`)
        t.ok(isWarming(), 'it knows nothing any more')
        t.ok(log.lines.some(({ fields }) => fields['sign'] === 'peers'))
        await world.run(90_000)
        t.equal(counts()?.suspensions, 1, 'once')
        t.notOk(isWarming(), 'it has looked anew')
        t.strictSame(world.downFrom(2), ['n0'])
        t.ok(world.allSee(0))
        t.equal(world.machine(1).agent?.views.counts().suspensions, 0, 'nobody else was')
      })
    },
  )

t.test('FA10: who sets the clocks of all nodes again and again hides no death', async t => {
  const attacks: readonly (readonly [string, (world: World, step: number) => void])[] = [
    ['all at once', world => world.machines.forEach(({ wall }) => (wall.offsetMs += 30_000))],
    ['in turn', (world, step) => void (world.machine(step % size).wall.offsetMs += 30_000)],
    [
      'to and fro',
      (world, step) => {
        for (const { wall } of world.machines) wall.offsetMs += step % 3 === 2 ? -60_000 : 30_000
      },
    ],
  ]
  for (const [what, attack] of share(t, attacks, 1, 'attacks')) {
    await scenario(t, { what, size, seed: 77 }, async world => {
      await world.settled()
      world.crash(4)
      let found: number | undefined
      for (let step = 0; step < 36 && found === undefined; step++) {
        attack(world, step)
        found = await world.until(() => world.condemned().length > 0, 5_000)
      }
      t.strictSame(world.condemned(), ['n4'], `${what}: it is marked all the same`)
    })
  }
})
