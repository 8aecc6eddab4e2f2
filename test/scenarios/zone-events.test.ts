// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { statusText } from '../../agent/text/status-text.js'
import { explainText } from '../../agent/text/explain-text.js'
import { exitOf } from '../../cli/status.js'
import { KubeStatusError } from '../../core/errors.js'
import { plain } from '../../core/text.js'
import { scenario } from '../../testkit/zone/scenario.js'
import type { World } from '../../testkit/zone/world.js'

const eventsOf = ({ cluster }: World, ...reasons: readonly string[]) =>
  cluster.events.filter(({ reason }) => reasons.includes(reason))

t.test('the brake is one Event by one agent, and its end another', async t => {
  await scenario(t, { what: 'brake', size: 7, seed: 3, zone: 'a' }, async world => {
    await world.settled()
    for (const index of [0, 1, 2]) world.crash(index)
    await world.run(40_000)
    const on = eventsOf(world, 'ZoneBrakeOn')
    t.equal(on.length, 1, on.map(({ by }) => by).join())
    t.match(on[0], {
      type: 'Warning',
      note: /^the brake of zone a holds, nothing more is marked: 3 of 7 nodes look dead \(n\d, n\d, n\d\), at most 2 may/,
    })
    t.equal(
      on[0]!.node,
      on[0]!.reportingInstance,
      'an Event about its own Node, as the policy asks',
    )
    t.strictSame(eventsOf(world, 'ZoneBrakeOff'), [])
    for (const index of [0, 1, 2]) world.repair(index)
    await world.run(40_000)
    t.match(eventsOf(world, 'ZoneBrakeOff'), [
      { type: 'Normal', note: /^the brake of zone a lets go/ },
    ])
    t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1)
    t.strictSame(eventsOf(world, 'ZoneNotConfigured'), [])
  })
})

t.test('the brake is one Event where kubelets are silent and agents live on', async t => {
  for (const how of ['silent', 'sick'] as const)
    await scenario(t, { what: how, size: 5, seed: 3, zone: 'a' }, async world => {
      await world.settled()
      for (const index of [0, 1, 2]) world.machine(index).kubelet = how
      await world.run(120_000)
      const on = eventsOf(world, 'ZoneBrakeOn')
      t.equal(on.length, 1, `${how}: ${on.map(({ by }) => by).join()}`)
      for (const index of [0, 1, 2]) world.restartKubelet(index)
      await world.run(60_000)
      t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1, how)
      t.equal(eventsOf(world, 'ZoneBrakeOff').length, 1, how)
    })
})

t.test('a ConfigMap that is broken in ever new ways is ten Events of an agent', async t => {
  await scenario(t, { what: 'config', size: 3, seed: 3, zone: 'a' }, async world => {
    await world.settled()
    for (let version = 0; version < 30; version++) {
      const data = { TaintZoneAdmission: `broken ${version}` }
      world.cluster.put('configmap', 'edge-health-zone-config', { data })
      await world.run(1_000)
    }
    const counts = world.indices.map(
      index => eventsOf(world, 'ConfigRefused').filter(({ node }) => node === `n${index}`).length,
    )
    t.strictSame(counts, [10, 10, 10])
  })
})

t.test('a brake that begins while nobody reaches the apiserver is an Event afterwards', async t => {
  await scenario(t, { what: 'cut', size: 7, seed: 4, zone: 'a' }, async world => {
    await world.settled()
    world.cutCloud(...world.indices)
    await world.run(15_000)
    for (const index of [4, 5, 6]) world.crash(index)
    await world.run(20_000)
    t.strictSame(eventsOf(world, 'ZoneBrakeOn'), [])
    world.healCloud(...world.indices)
    await world.run(60_000)
    t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1)
  })
})

t.test('the brake is one Event, and its end one, whenever links are cut meanwhile', async t => {
  const dead = [4, 5, 6]
  // A switch fails: the uplink and three nodes at once. Long before its cut is noticed the brake is on.
  const rows = [
    ['fast', 0],
    ['default', 0],
    ['default', 10_000],
    ['default', 60_000],
  ] as const
  for (const [profile, leadMs] of rows)
    await scenario(
      t,
      { what: `${profile}, ${leadMs} ms`, size: 7, seed: 5, zone: 'a', profile },
      async world => {
        await world.settled(60_000)
        world.cutCloud(...world.indices)
        await world.run(leadMs)
        for (const index of dead) world.crash(index)
        await world.run(120_000)
        world.healCloud(...world.indices)
        await world.run(120_000)
        t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1, 'it came on')
        for (const index of dead) world.repair(index)
        await world.run(120_000)
        const off = eventsOf(world, 'ZoneBrakeOff')
        t.equal(off.length, 1, `it went off: ${off.map(({ by }) => by).join()}`)
        t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1)
      },
    )
})

t.test('the brake is one Event where the link of any one node is cut at the same time', async t => {
  for (const index of [0, 1, 2, 3])
    await scenario(t, { what: `n${index}`, size: 7, seed: 5, zone: 'a' }, async world => {
      await world.settled(60_000)
      world.cutCloud(index)
      for (const dead of [4, 5, 6]) world.crash(dead)
      await world.run(200_000)
      const on = eventsOf(world, 'ZoneBrakeOn')
      t.equal(on.length, 1, on.map(({ by }) => by).join())
    })
})

t.test(
  'the brake is one Event where the apiserver takes none for long, or answers late',
  async t => {
    const dead = [4, 5, 6]
    for (const [how, ms] of [
      ['refused', 1_200_000],
      ['late', 300_000],
    ] as const)
      await scenario(t, { what: how, size: 7, seed: 5, zone: 'a' }, async world => {
        await world.settled(60_000)
        const trouble = new KubeStatusError('create event', {
          ...{ status: 500, reason: 'InternalError', message: 'database space exceeded' },
        })
        // Where the answer is late the Event has been taken.
        const answer = () => (how === 'late' ? Promise.reject(trouble) : trouble)
        world.cluster.onCall = ({ what }) => (what === 'create event' ? answer() : undefined)
        for (const index of dead) world.crash(index)
        await world.run(ms)
        world.cluster.onCall = undefined
        await world.run(120_000)
        const on = eventsOf(world, 'ZoneBrakeOn')
        t.equal(on.length, 1, on.map(({ by, at }) => `${by} ${at}`).join())
      })
  },
)

t.test('a ConfigMap that is broken again and again leaves the brake its Event', async t => {
  await scenario(t, { what: 'config', size: 7, seed: 3, zone: 'a' }, async world => {
    await world.settled()
    for (let version = 0; version < 30; version++) {
      const data = { TaintZoneAdmission: `broken ${version}` }
      world.cluster.put('configmap', 'edge-health-zone-config', { data })
      await world.run(1_000)
    }
    for (const dead of [4, 5, 6]) world.crash(dead)
    await world.run(60_000)
    t.equal(eventsOf(world, 'ZoneBrakeOn').length, 1)
  })
})

t.test('several sites that are one zone by default: in the status, and in one Event', async t => {
  await scenario(t, { what: 'trap', size: 4, seed: 5 }, async world => {
    await world.settled()
    const status = () => world.machine(1).agent!.views.status()
    t.equal(status().zone.trouble, null)
    const [one, other] = [world.machine(0).address, world.machine(3).address]
    world.network.cut(one, other)
    world.network.cut(other, one)
    await world.run(180_000)
    t.equal(status().zone.trouble, null, 'a link that fails for some minutes is no sign')
    await world.run(150_000)
    t.match(status().zone.trouble, /though they do not all reach n0, n3: give each site a zone/)
    t.match(statusText(status(), plain), /^! no zone is configured, so all 4 nodes are one zone/m)
    t.match(eventsOf(world, 'ZoneNotConfigured'), [{ type: 'Warning', note: /do not all reach/ }])
    world.network.heal(one, other)
    world.network.heal(other, one)
    await world.run(30_000)
    t.equal(status().zone.trouble, null)
  })
})

t.test('a node in maintenance is judged, and alarms nobody', async t => {
  await scenario(t, { what: 'maintenance', size: 5, seed: 6, zone: 'a' }, async world => {
    await world.settled()
    const annotate = (value: string): void => {
      const { metadata } = world.cluster.raw('node', 'n2')
      const annotations = { 'edge-health/maintenance-until': value }
      world.cluster.edit('node', 'n2', { metadata: { ...metadata, annotations } })
    }
    annotate('2026-01-15T00:00:00Z')
    world.crash(2)
    await world.run(25_000)
    t.strictSame(world.condemned(), ['n2'], 'it is judged and marked')
    const { views } = world.machine(0).agent!
    const node = () => views.node('n2')!
    t.match(node(), {
      ...{ class: 'dead', maintenanceTrouble: null },
      maintenance: { by: 'annotation', until: '2026-01-15T00:00:00.000Z' },
    })
    t.equal(exitOf(views.status().nodes), 0)
    t.match(statusText(views.status(), plain), /^n2 .* in maintenance until 2026-/m)
    t.match(explainText({ ...views.zone(), node: node() }, plain), /^maintenance +until/m) // prettier-ignore
    annotate('next week')
    await world.run(2_000)
    t.equal(exitOf(views.status().nodes), 1)
    t.match(node().maintenanceTrouble, /must be an RFC 3339 time/)
    world.cluster.edit('node', 'n2', { spec: { unschedulable: true } })
    await world.run(2_000)
    t.strictSame(node().maintenance, { by: 'cordoned', until: null })
    t.match(statusText(views.status(), plain), /^n2 .* cordoned/m)
  })
})
