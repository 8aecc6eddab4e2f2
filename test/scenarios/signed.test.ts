// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { writeIdentity } from '../../agent/identity/annotation.js'
import { generateNodeKeys } from '../../agent/identity/node-keys.js'
import { KubeStatusError } from '../../core/errors.js'
import { parseNodeName } from '../../core/ids.js'
import { share } from '../../testkit/share.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const IDENTITY = 'edge-health/identity'
const REQUIRE = ['--identity=require']
const PREFER = ['--identity=prefer']

const noteOf = (world: World, index: number): string =>
  world.cluster.node(world.machine(index).name).annotations[IDENTITY] ?? ''

/** How old the newest record of a node is with whoever has the oldest, in seconds. */
const oldest = (world: World, index: number): number =>
  Math.max(
    ...world.indices
      .filter(other => other !== index && world.machine(other).agent !== undefined)
      .map(other => world.machine(other).agent?.views.node(`n${index}`)?.recordAgeSeconds ?? 9e9),
  )
/** Everybody believes of everybody what that one signs, and nothing else. */
const allSign = (world: World): boolean =>
  world.machines.every(({ name, agent }) =>
    world.machines.every(
      other => other.name === name || agent!.views.node(other.name)?.peer?.isSigned === true,
    ),
  )
/** What the agents of a zone know a node's keys by: one fingerprint where they agree. */
const fingerprintsOf = (world: World, index: number): readonly unknown[] => [
  ...new Set(world.machines.map(({ agent }) => agent!.views.node(`n${index}`)?.keyFingerprint)),
]
const allHeard = (world: World, t: Test, what: string): void => {
  for (const index of world.indices) {
    if (world.machine(index).agent === undefined) continue
    const seconds = oldest(world, index)
    t.ok(seconds < 45, `${what}: n${index} is heard everywhere, ${seconds.toFixed(1)} s at most`)
  }
}

t.test('a zone that requires identities marks who dies and takes the mark off again', async t => {
  for (const size of share(t, [5, 2, 3, 10], 2, 'sizes'))
    await scenario(t, { what: `N=${size}`, size, seed: size, flags: REQUIRE }, async world => {
      await world.settled()
      t.strictSame(world.writesSince(0), [], 'a healthy zone writes nothing but its identities')
      t.equal(world.cluster.identityWrites.size, size)
      for (const index of world.indices) t.match(noteOf(world, index), /^1 1 /)
      allHeard(world, t, 'at rest')
      const dead = size - 1
      world.crash(dead)
      // Of two nodes one must be told by its Lease, which it has not renewed for 20 s.
      const [seenMs, moreMs] = size === 2 ? [20_000, 25_000] : [14_000, 20_000]
      await world.run(seenMs)
      t.ok(world.allSee(dead), 'every local view shows it')
      await world.run(moreMs)
      t.strictSame(world.condemned(), [`n${dead}`])
      const note = noteOf(world, dead)
      world.repair(dead)
      await world.run(60_000)
      t.strictSame(world.condemned(), [])
      t.ok(world.allSee())
      t.equal(noteOf(world, dead), note, 'it has the keys that it had')
    })
})

t.test('a node that lost its disk is heard with keys of the next generation', async t => {
  await scenario(t, { what: 'N=5', size: 5, flags: REQUIRE }, async world => {
    await world.settled()
    const [before, ...others] = fingerprintsOf(world, 4)
    t.match(before, /^[0-9a-f]{16}$/)
    t.strictSame(others, [], 'all know it by the same keys')
    t.notSame(fingerprintsOf(world, 3), [before], 'another node has other keys')
    world.killAgent(4)
    world.machine(4).disk.clear()
    world.boot(4)
    await world.run(60_000)
    t.match(noteOf(world, 4), /^1 2 /)
    t.ok(oldest(world, 4) > 60, 'not before its old keys were silent for long enough')
    t.equal(fingerprintsOf(world, 4).length, 2, 'itself and the others disagree until then')
    await world.run(120_000)
    allHeard(world, t, 'then')
    t.ok(world.allSee())
    t.equal(fingerprintsOf(world, 4).length, 1)
    t.notSame(fingerprintsOf(world, 4), [before])
  })
})

t.test('with prefer a node that lost its disk is heard as soon as it says so', async t => {
  const zones = [
    [5, 0.05],
    [2, 0],
    [3, 0],
    [10, 0],
  ] as const
  for (const [size, loss] of share(t, zones, 2, 'zones'))
    await scenario(t, { what: `N=${size}`, size, loss, flags: PREFER }, async world => {
      await world.settled()
      const lost = size - 1
      world.killAgent(lost)
      world.machine(lost).disk.clear()
      const at = world.clock.now()
      world.boot(lost)
      const isHeard = (): boolean => oldest(world, lost) < (world.clock.now() - at) / 1000
      const heardMs = await world.until(isHeard, 60_000)
      t.ok((heardMs ?? Infinity) < (loss > 0 ? 30_000 : 15_000), `heard after ${heardMs} ms`)
      t.match(noteOf(world, lost), /^1 2 /)
      await world.run(60_000)
      allHeard(world, t, 'then')
      t.ok(allSign(world))
      t.strictSame(world.condemned(), [])
    })
})

/** One of three comes back without its disk and reaches a member alone that is cut from the cloud. @returns who is marked then */
const markedBehindCut = async (t: Test, mode: string): Promise<readonly string[]> => {
  let marked: readonly string[] = []
  const zone = { what: mode, size: 3, seed: 6, flags: [`--identity=${mode}`] } as const
  await scenario(t, zone, async world => {
    await world.settled()
    world.crash(2)
    await world.run(30_000)
    t.strictSame(world.condemned(), ['n2'])
    const [far, , lost] = world.machines.map(({ address }) => address)
    world.network.cut(lost!, far!)
    world.network.cut(far!, lost!)
    world.cutCloud(1)
    world.machine(2).disk.clear()
    world.repair(2)
    await world.run(180_000)
    marked = world.condemned()
    t.strictSame(world.downFrom(1), [], 'the one that it reaches shows it up')
    world.healCloud(1)
    const ms = await world.until(() => world.condemned().length === 0, 60_000)
    t.ok(ms !== undefined, `no mark ${ms} ms after the link is back`)
  })
  return marked
}

t.test('behind a member that is cut from the cloud a lost disk keeps a mark', async t => {
  t.strictSame(await markedBehindCut(t, 'off'), [])
  t.strictSame(await markedBehindCut(t, 'prefer'), ['n2'])
})

/** Another one of three dies just after a node lost its disk while the apiserver refused; ms until it is marked. */
const markedAfterLoss = async (t: Test, mode: string): Promise<number> => {
  let markedMs: number | undefined
  const zone = { what: mode, size: 3, profile: 'fast', flags: [`--identity=${mode}`] } as const
  await scenario(t, zone, async world => {
    await world.settled(20_000)
    const refusal = { status: 503, reason: 'ServiceUnavailable', message: '', retryAfterMs: 30_000 }
    world.cluster.onCall = ({ what }) =>
      what === 'ping' ? undefined : new KubeStatusError(what, refusal)
    await world.run(5_000)
    world.killAgent(0)
    world.machine(0).disk.clear()
    world.boot(0)
    await world.run(1_000)
    world.cluster.onCall = undefined
    await world.run(7_000)
    world.crash(1)
    markedMs = await world.until(() => world.condemned().includes('n1'), 60_000)
    world.repair(1)
    await world.run(60_000)
    t.strictSame(world.condemned(), [])
    t.ok(world.allSee())
  })
  return markedMs ?? Infinity
}

t.test('a node that lost its disk is heard no later with prefer than with off', async t => {
  const [off, prefer] = [await markedAfterLoss(t, 'off'), await markedAfterLoss(t, 'prefer')]
  t.ok(off < 30_000, `off: another one that died was marked after ${off} ms`)
  t.ok(prefer <= off + 1_000, `prefer: after ${prefer} ms`)
})

t.test('agents whose role does not let them publish their keys vote as without', async t => {
  const zones = [
    [3, [0]],
    [5, [0, 1, 2]],
  ] as const
  for (const [size, refused] of share(t, zones, 1, 'zones')) {
    const zone = { what: `${refused.length} of ${size}`, size, seed: 4, flags: PREFER }
    await scenario(t, zone, async world => {
      world.cluster.onCall = ({ by, what }) =>
        what === `patch ${by}` && refused.some(index => by === `n${index}`)
          ? new KubeStatusError(what, {
              status: 403,
              reason: 'Forbidden',
              message: 'cannot patch',
              isFromApi: true,
            })
          : undefined
      await world.settled()
      allHeard(world, t, 'at rest')
      for (const index of refused) {
        const { log, agent } = world.machine(index)
        t.match(agent!.views.status().identity, {
          ...{ mode: 'prefer', generation: null, members: 0 },
          trouble: /refuses the write: .*403 Forbidden: cannot patch/,
        })
        const warned = log.lines.filter(({ message }) => message.includes('refuses the identity'))
        t.equal(warned.length, 1, 'it is logged, once')
      }
      const dead = size - 1
      world.crash(dead)
      const ms = await world.until(() => world.condemned().includes(`n${dead}`), 30_000)
      t.ok(ms !== undefined, `marked after ${ms} ms`)
      world.repair(dead)
      await world.run(60_000)
      t.strictSame(world.condemned(), [])
      world.cluster.onCall = undefined
      await world.run(620_000)
      t.ok(allSign(world), 'all sign once they may publish their keys')
      allHeard(world, t, 'then')
    })
  }
})

t.test('a zone goes back to a version without identities, one node at a time', async t => {
  await scenario(t, { what: 'N=5', size: 5, seed: 9, flags: PREFER }, async world => {
    await world.settled()
    const notes = world.indices.map(index => noteOf(world, index))
    // It does not know of the annotation, and leaves it where it is.
    world.cluster.onCall = ({ by, what }) =>
      what === `patch ${by}`
        ? new KubeStatusError(what, {
            status: 403,
            reason: 'Forbidden',
            message: '',
            isFromApi: true,
          })
        : undefined
    for (const index of [0, 1, 2, 3]) {
      const machine = world.machine(index)
      machine.flags = ['--identity=off']
      await world.restartAgent(index, 500)
      // Who restarted is refused until what it signed before is old.
      await world.run(40_000)
      allHeard(world, t, `n${index} went back`)
    }
    await world.run(60_000)
    allHeard(world, t, 'four went back')
    world.crash(2)
    await world.run(35_000)
    t.strictSame(world.condemned(), ['n2'])
    world.repair(2)
    await world.run(60_000)
    t.strictSame(world.condemned(), [])
    t.ok(world.allSee())
    world.indices.forEach(index => t.equal(noteOf(world, index), notes[index]))
  })
})

t.test(
  "who writes to a live node's Node, past the policies, does not take its identity",
  async t => {
    const thief = generateNodeKeys()
    const subject = { clusterId: '', node: parseNodeName('n4'), uid: 'uid-n4' }
    const notes = [writeIdentity(subject, 9, thief), undefined]
    for (const flags of [PREFER, REQUIRE])
      for (const note of share(t, notes, 1, 'notes'))
        await scenario(t, { what: `${flags.join()}, ${note}`, size: 5, flags }, async world => {
          const heard: Uint8Array[] = []
          world.network.onWire = (body, _, kind, { from }) => {
            if (kind === 'request' && from === world.machine(4).address) heard.push(body.slice())
          }
          await world.settled()
          const { metadata } = world.cluster.raw('node', 'n4')
          const annotations = note === undefined ? {} : { [IDENTITY]: note }
          world.cluster.edit('node', 'n4', { metadata: { ...metadata, annotations } })
          // Something in its name that it did not sign: its Node is read again.
          const altered = Buffer.from(heard.at(-1)!)
          altered[altered.length - 1]! ^= 1
          for (const { address } of world.machines.slice(0, 4))
            world.network.inject(world.machine(4).address, address, 'gossip', altered)
          for (let step = 0; step < 12; step++) {
            await world.run(10_000)
            allHeard(world, t, 'all the while')
            t.ok(allSign(world), 'its own keys go on to count')
          }
          t.strictSame(world.condemned(), [])
        })
  },
)

t.test("a node whose disk is a copy of another's has keys of its own", async t => {
  await scenario(t, { what: 'N=5', size: 5, flags: REQUIRE }, async world => {
    await world.settled()
    world.crash(4)
    await world.run(20_000)
    const copy = world.machine(4).disk
    copy.clear()
    for (const [name, text] of world.machine(3).disk) copy.set(name, text)
    world.repair(4)
    await world.run(180_000)
    const keysOf = (index: number): readonly string[] => noteOf(world, index).split(' ').slice(2, 4)
    t.match(noteOf(world, 3), /^1 1 /, 'whose disk it was has the keys that it had')
    t.strictSame(
      keysOf(4).filter(key => keysOf(3).includes(key)),
      [],
    )
    allHeard(world, t, 'both')
    t.strictSame(world.condemned(), [])
  })
})

t.test('a node whose Node was made again publishes its identity again, and is heard', async t => {
  for (const mode of ['prefer', 'require'])
    await scenario(t, { what: mode, size: 3, flags: [`--identity=${mode}`] }, async world => {
      await world.settled()
      const { name } = world.machine(2)
      const object = world.cluster.raw('node', name)
      const { labels } = object.metadata
      world.cluster.remove('node', name)
      await world.run(5_000)
      world.cluster.put('node', name, { ...object, metadata: { uid: 'again', labels } })
      await world.run(15_000)
      t.match(noteOf(world, 2), /^1 \d+ /, 'it says again which keys it has')
      await world.run(25_000)
      t.ok(oldest(world, 2) < 30, `heard ${oldest(world, 2)} s ago`)
      t.strictSame(world.condemned(), [])
    })
})

t.test('a node that comes back to its zone is heard before anybody reads its Node', async t => {
  for (const flags of [PREFER, REQUIRE]) {
    const zone = { what: flags.join(), size: 5, flags, zone: 'here' } as const
    await scenario(t, zone, async world => {
      await world.settled()
      world.leave(4)
      await world.run(20_000)
      world.cluster.onCall = ({ by, what }) =>
        by !== 'n4' && what.startsWith('get n') && what !== `get ${by}`
          ? new KubeStatusError(what, { status: 500, reason: 'InternalError', message: '' })
          : undefined
      world.join(4)
      await world.run(30_000)
      t.ok(oldest(world, 4) < 25, `heard ${oldest(world, 4)} s ago`)
      t.ok(allSign(world))
      world.cluster.onCall = undefined
      await world.run(30_000)
      t.strictSame(world.condemned(), [])
    })
  }
})

t.test('identities on disk are enough to vote after a boot without the cloud', async t => {
  await scenario(t, { what: 'N=5', size: 5, flags: REQUIRE }, async world => {
    await world.settled()
    world.cutCloud(...world.indices)
    await world.run(20_000)
    for (const index of [0, 1, 2]) {
      world.killAgent(index)
      world.boot(index)
    }
    await world.run(40_000)
    allHeard(world, t, 'without the cloud')
    world.crash(4)
    await world.run(20_000)
    t.ok(world.allSee(4))
  })
})

const SHARED_KEY = ['--identity=off']

t.test('a zone of ten moves to identities and back, one node at a time, under faults', async t => {
  const what = { what: 'N=10', size: 10, seed: 4, loss: 0.05, flags: SHARED_KEY }
  await scenario(t, what, async world => {
    await world.settled()
    const notes = (): string[] => world.indices.map(index => noteOf(world, index))
    t.ok(
      notes().every(note => note === ''),
      'it begins with the shared key alone',
    )
    const crashed = async (index: number): Promise<void> => {
      world.crash(index)
      await world.run(35_000)
      t.strictSame(world.condemned(), [`n${index}`], `n${index} died`)
      world.repair(index)
      await world.run(50_000)
      t.strictSame(world.condemned(), [], `n${index} is back`)
    }
    const move = async (mode: string): Promise<void> => {
      for (const index of world.indices) {
        const machine = world.machine(index)
        machine.flags = [`--identity=${mode}`]
        await world.restartAgent(index, 500)
        await world.run(12_000)
        if (index === 4) {
          await crashed(7)
          world.cutCloud(2)
        }
      }
      world.healCloud(2)
      await world.run(90_000)
      allHeard(world, t, mode)
      t.equal(allSign(world), mode !== 'off', `${mode}: all sign, or nobody`)
      await crashed(3)
    }
    // A share of them begins with prefer, too, and goes no further.
    const modes = ['prefer', 'require', 'prefer', 'off']
    for (const mode of share(t, modes, 1, 'moves')) await move(mode)
    const isBack = world.machine(0).flags.join() === SHARED_KEY.join()
    t.ok(
      notes().every(note => (note === '') === isBack),
      'identities are published while they are used',
    )
  })
})
