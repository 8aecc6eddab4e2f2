// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { KubeStatusError } from '../../core/errors.js'
import { share } from '../../testkit/share.js'
import { diesMarked, scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

interface Sent {
  readonly at: number
  readonly client: string
  readonly what: string
}

const isAboutNodes = (what: string): boolean => /^(get|patch) n\d|^create event/.test(what)

/** From now on reads and writes of Nodes, and Events, are refused while `isRefusing` says so; returns what was sent. */
const refuse = (
  world: World,
  answer: { readonly status: number; readonly retryAfterMs?: number },
  isRefusing: (what: string) => boolean = () => true,
): Sent[] => {
  const sent: Sent[] = []
  world.cluster.onCall = ({ by: client, what }) => {
    if (!isAboutNodes(what) || client.startsWith('kubelet/')) return undefined
    sent.push({ at: world.clock.now(), client, what })
    return isRefusing(what)
      ? new KubeStatusError(what, { reason: '', message: '', isFromApi: true, ...answer })
      : undefined
  }
  return sent
}

const within = (sent: readonly Sent[], ms: number): readonly Sent[] =>
  sent.filter(({ at }) => at < (sent[0]?.at ?? 0) + ms)

const clients = (sent: readonly Sent[]): number => new Set(sent.map(({ client }) => client)).size

t.test('FA7: an apiserver that refuses sees one patient writer', async t => {
  const rows = [
    // Reads of the node are refused, or its patches alone: then each try is two requests.
    { answer: { status: 503, retryAfterMs: 30_000 }, only: /./, in10s: 1, in55s: 2, in5min: 30 },
    { answer: { status: 503, retryAfterMs: 30_000 }, only: /patch/, in10s: 2, in55s: 4 },
    { answer: { status: 429 }, only: /./, in10s: 6, in55s: 9 },
    // It is this account that is refused, by a policy: others may have more luck, each after a minute and more.
    { answer: { status: 403 }, only: /patch/, in10s: 12, in55s: 18, in5min: 120 },
    { answer: { status: 422 }, only: /patch/, in10s: 12, in55s: 18, in5min: 120 },
  ]
  for (const { answer, only, in10s, in55s, in5min } of share(t, rows, 1, 'refusals')) {
    const what = `${answer.status} to ${only.source}, Retry-After ${answer.retryAfterMs ?? '-'}`
    await scenario(t, { what, size: 12, seed: 41 }, async world => {
      await world.settled()
      let isRefusing = true
      const sent = refuse(world, answer, asked => isRefusing && only.test(asked))
      world.crash(3)
      await world.until(() => sent.length > 0, 30_000)
      await world.run(56_000)
      const [early, late] = [within(sent, 10_000).length, within(sent, 55_000).length]
      t.ok(early <= in10s, `${what}: ${early} requests in 10 s`)
      t.ok(late <= in55s, `${what}: ${late} in 55 s`)
      t.equal(clients(within(sent, 55_000)), 1, `${what}: from one agent`)
      if (in5min !== undefined) {
        await world.run(240_000)
        // Four by the clock; who is not heard for long in a quiet zone may be taken for silent.
        t.ok(clients(sent) <= 6, `${what}: ${clients(sent)} agents have tried in five minutes`)
        t.ok(sent.length <= in5min, `${what}: ${sent.length} requests in five minutes`)
      }
      t.strictSame(world.condemned(), [])
      isRefusing = false
      const ms = await world.until(() => world.condemned().includes('n3'), 70_000)
      t.ok(ms !== undefined, `${what}: written ${ms} ms after the apiserver is well again`)
      await world.run(30_000)
      t.equal(world.writesSince(0).length, 1, 'once')
    })
  }
})

t.test(
  'FA7: who renews Leases waits as long as it is asked to, but no node is lost for it',
  async t => {
    const rows = [
      { retryAfterMs: 30_000, forMs: 15_000, in15s: 4, in5min: 60 },
      { retryAfterMs: 30_000, forMs: 300_000, in15s: 4, in5min: 60 },
      { retryAfterMs: undefined, forMs: 300_000, in15s: 24, in5min: 120 },
    ]
    for (const { retryAfterMs, forMs, in15s, in5min } of share(t, rows, 1, 'refusals')) {
      const what = `Retry-After ${retryAfterMs ?? '-'}, for ${forMs} ms`
      await scenario(t, { what, size: 12, seed: 44 }, async world => {
        await world.settled()
        world.cutCloud(0, 1)
        await world.run(60_000)
        const refusedFrom = world.clock.now()
        const sent: Sent[] = []
        world.cluster.onCall = ({ by: client, what: asked }) => {
          if (!asked.includes('lease') || client.startsWith('kubelet/')) return undefined
          sent.push({ at: world.clock.now(), client, what: asked })
          const answer = { status: 503, reason: '', message: '', retryAfterMs }
          return world.clock.now() < refusedFrom + forMs
            ? new KubeStatusError(asked, answer)
            : undefined
        }
        await world.until(() => sent.length > 0, 30_000)
        await world.run(forMs)
        const [early, late] = [within(sent, 15_000).length, within(sent, 300_000).length]
        t.ok(early <= in15s, `${what}: ${early} requests in 15 s, for two nodes`)
        if (forMs >= 300_000) t.ok(late <= in5min, `${what}: ${late} in five minutes`)
        await world.run(60_000)
        for (const node of ['n0', 'n1']) {
          const times = world.cluster.writes
            .filter(write => write.kind === 'lease' && write.node === node)
            .filter(({ at, by }) => at >= refusedFrom - 20_000 && !by.startsWith('kubelet/'))
            .map(({ at }) => at)
          const gapMs = Math.max(...times.slice(1).map((at, place) => at - times[place]!))
          if (forMs < 30_000)
            t.ok(gapMs < 40_000, `${what}: ${node} was renewed within ${gapMs} ms`)
          t.ok(times.at(-1)! > world.clock.now() - 20_000, `${what}: ${node} is renewed again`)
        }
      })
    }
  },
)

t.test('FA7: a link that is cut again and again is no reason to ask more often', async t => {
  const zone = { what: 'flapping link', size: 5, seed: 45, profile: 'fast' } as const
  await scenario(t, zone, async world => {
    await world.settled(20_000)
    const sent: Sent[] = []
    world.cluster.onCall = ({ by: client, what }) => {
      if (what === 'ping' || client.startsWith('kubelet/')) return undefined
      sent.push({ at: world.clock.now(), client, what })
      const answer = { status: 503, reason: '', message: '', retryAfterMs: 30_000 }
      return new KubeStatusError(what, answer)
    }
    for (let cut = 0; cut < 4; cut++) {
      world.cutCloud(2)
      await world.run(18_000)
      world.healCloud(2)
      await world.run(7_000)
    }
    for (const { name } of world.machines) {
      const own = sent.filter(({ client }) => client === name)
      // The first one, which is asked to wait, and one for each cut, before the node is given up.
      t.ok(own.length <= 5, `${own.length} requests of ${name}: ${own.map(({ at }) => at).join()}`)
    }
  })
})

t.test('FA7: a refused writer that falls silent is succeeded', async t => {
  await scenario(t, { what: 'dies', size: 12, seed: 41 }, async world => {
    await world.settled()
    const answer = { status: 503, retryAfterMs: 30_000 }
    // Whoever comes first is refused, and nobody else.
    const sent = refuse(world, answer, () => sent.at(-1)?.client === sent[0]?.client)
    world.crash(3)
    await world.until(() => sent.length > 0, 30_000)
    world.killAgent(Number(sent[0]!.client.slice(1)))
    const ms = await world.until(() => world.condemned().includes('n3'), 20_000)
    t.ok(ms !== undefined, `another one writes ${ms} ms later`)
  })
})

t.test('FA7: one Node that is always refused holds up no other', async t => {
  await scenario(t, { what: 'one bad', size: 12, seed: 42 }, async world => {
    await world.settled()
    refuse(world, { status: 500 }, what => what.includes('n3'))
    world.crash(3)
    world.crash(4)
    world.crash(5)
    const ms = await world.until(() => world.condemned().length === 2, 40_000)
    t.ok(ms !== undefined, 'the other two are written')
    t.strictSame(world.condemned(), ['n4', 'n5'])
  })
})

t.test('FA7: Events that are refused are not repeated', async t => {
  await scenario(t, { what: 'events', size: 5, seed: 43 }, async world => {
    await world.settled()
    const sent = refuse(world, { status: 429, retryAfterMs: 5_000 }, what => what.includes('event'))
    await diesMarked(t, world, 3, 90_000)
    t.equal(sent.filter(({ what }) => what === 'create event').length, 1)
  })
})

t.test('a write is checked against the present right before it leaves', async t => {
  /** Hold back the answer to the first read of n3 by its writer; `meanwhile` happens before it comes. */
  const held = async (
    zone: { readonly what: string; readonly seed: number },
    meanwhile: (world: World, writer: number) => Promise<void>,
  ): Promise<void> =>
    scenario(t, { ...zone, size: 7, zone: 'a' }, async world => {
      await world.settled()
      let release: () => void = () => undefined
      let writer: string | undefined
      world.cluster.onCall = ({ by: client, what }) => {
        if (what !== 'get n3' || client.startsWith('kubelet/') || writer !== undefined)
          return undefined
        writer = client
        return new Promise(resolve => (release = resolve))
      }
      world.crash(3)
      await world.until(() => writer !== undefined, 30_000)
      await meanwhile(world, Number(writer!.slice(1)))
      const releasedAt = world.clock.now()
      release()
      await world.run(5_000)
      const late = world.writesSince(releasedAt).filter(write => write.startsWith(`${writer}>`))
      t.strictSame(late, [], `${zone.what}: nothing leaves`)
    })
  await held({ what: 'the node is back', seed: 51 }, async world => {
    world.repair(3)
    await world.run(40_000)
  })
  await held({ what: 'the majority is lost', seed: 52 }, async (world, writer) => {
    world.partition(
      [writer],
      world.indices.filter(index => index !== writer),
    )
    await world.run(40_000)
  })
  await held({ what: 'the writer has left the zone', seed: 53 }, async (world, writer) => {
    world.leave(writer)
    await world.run(1_000)
  })
  await held({ what: 'the writer’s Node is deleted', seed: 54 }, async (world, writer) => {
    world.removeNode(writer)
    await world.run(1_000)
  })
  await held({ what: 'the writer stops', seed: 55 }, async (world, writer) => {
    void world.machine(writer).agent?.stop()
    await world.run(100)
  })
})

t.test('a write that meets a conflict is planned anew from what is true then', async t => {
  await scenario(t, { what: 'conflict', size: 5, seed: 56 }, async world => {
    await world.settled()
    let isMet = false
    world.cluster.onCall = ({ by: client, what }) => {
      if (isMet || !what.startsWith('patch n3') || client.startsWith('kubelet/')) return undefined
      isMet = true
      const { metadata } = world.cluster.raw('node', 'n3')
      // Somebody else marks the node just before our patch arrives.
      const annotations = { nodeunhealth: 'yes', theirs: 'kept' }
      world.cluster.edit('node', 'n3', { metadata: { ...metadata, annotations } })
      return undefined
    }
    world.crash(3)
    await world.run(40_000)
    t.ok(isMet)
    t.match(world.cluster.raw('node', 'n3').metadata, { annotations: { theirs: 'kept' } })
    t.equal(world.writesSince(0).length, 1, world.writesSince(0).join())
    t.match(world.cluster.node('n3').annotations['edge-health/reason'], /cannot reach/)
  })
})

t.test(
  'while the apiserver refuses writes the stage write fails and says which, and no other',
  async t => {
    await scenario(t, { what: 'stage write', size: 5, seed: 57 }, async world => {
      const stagesOf = (index: number) => world.machine(index).agent!.views.zone().stages
      const failing = () =>
        [0, 1, 2, 4].flatMap(index => stagesOf(index).filter(({ state }) => state !== 'ok'))
      await world.settled()
      t.strictSame(failing(), [])
      const quiet = stagesOf(0)[4]
      t.match(quiet, { name: 'write', detail: 'all is written' })
      let isRefusing = true
      refuse(world, { status: 403 }, what => isRefusing && what.startsWith('patch n3'))
      world.crash(3)
      await world.until(() => failing().length > 0, 40_000)
      const [shown, ...others] = failing()
      t.strictSame(others, [], 'of one agent, and of no stage else')
      t.match(shown, { name: 'write', state: 'failing', detail: /^n3: dead: refused: .*patch n3/ })
      t.ok(shown!.rounds > 0 && shown!.lastAt! >= quiet!.lastAt!, 'with its own last round')
      isRefusing = false
      await world.until(() => world.condemned().includes('n3'), 90_000)
      await world.run(10_000)
      t.strictSame(failing(), [], 'it works again when the write was taken')

      isRefusing = true
      world.repair(3)
      await world.until(() => failing().length > 0, 60_000)
      t.match(failing(), [{ name: 'write', detail: /^n3: healthy: refused/ }])
      await diesMarked(t, world, 3, 120_000)
      t.strictSame(failing(), [], 'nor does it fail for what is not wanted any more')
    })
  },
)

t.test(
  'a cut link is no failure of the stage write, a Lease that cannot be renewed is',
  async t => {
    await scenario(t, { what: 'cut link', size: 5, seed: 58 }, async world => {
      await world.settled()
      world.cutCloud(0)
      await world.run(60_000)
      t.match(world.machine(0).agent!.views.zone().stages[4], {
        ...{ name: 'write', state: 'ok', detail: 'nothing is written: no link to the apiserver' },
      })
      const failing = () =>
        world.indices
          .map(index => world.machine(index).agent!.views.zone().stages[4]!)
          .filter(({ state }) => state === 'failing')
      t.strictSame(failing(), [], 'nor of those who vouch for it')
      world.cluster.onCall = ({ by, what }) =>
        what.includes('lease') && !by.startsWith('kubelet/')
          ? new KubeStatusError(what, { status: 403, reason: '', message: '', isFromApi: true })
          : undefined
      await world.until(() => failing().length > 0, 60_000)
      t.match(failing()[0], { detail: /^n0: renew the Lease in its place: refused: / })
    })
  },
)
