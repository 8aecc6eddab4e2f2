// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KubeStatusError } from '../../../../core/errors.js'
import { parseNodeName } from '../../../../core/ids.js'
import { RosterKeeper } from '../../../../agent/stages/node-list/roster-keeper.js'
import { ApiBackoff } from '../../../../agent/api-backoff.js'
import { openStateFolder } from '../../../../agent/state-folder.js'
import type { ConfigProblem } from '../../../../agent/results.js'
import { makeResultStore, type ResultStore } from '../../../../agent/store.js'
import type { Found } from '../../../../agent/stages/node-list/zone-watch.js'
import type { ListFrom } from '../../../../kube/client/list-pages.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { FakeWatches, nodeView } from '../../fake-watches.js'
import { recordingLog } from '../../../../testkit/recording-log.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'

const NOT_MASTER = '!node-role.kubernetes.io/master,!node-role.kubernetes.io/control-plane'
const UNIT = 'nodeunits.superedge.io'

interface World {
  readonly kube: FakeWatches
  readonly stage: RosterKeeper
  readonly store: ResultStore
  readonly problems: ConfigProblem[]
  readonly keys: [Found, Found][]
  readonly log: ReturnType<typeof recordingLog>
  readonly dir: string
  readonly clock: FakeClock
}

const makeWorld = async (
  t: Test,
  change: { dir?: string; edgeSelector?: string; nodeAddress?: string } = {},
): Promise<World> => {
  const dir = change.dir ?? mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  // A file may be saved meanwhile.
  t.teardown(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const clock = new FakeClock()
  const log = recordingLog()
  const store = makeResultStore(clock.now())
  const kube = new FakeWatches()
  const problems: ConfigProblem[] = []
  const keys: [Found, Found][] = []
  const stage = new RosterKeeper(
    {
      nodeName: parseNodeName('n1'),
      nodeAddress: change.nodeAddress,
      namespace: 'edge-system',
      edgeSelector: change.edgeSelector ?? '',
      keySecret: 'edge-health-keys',
      zoneWatchUpTo: 25,
      zonePollPeriodMs: 300_000,
    },
    {
      kube,
      folder: openStateFolder(dir, log),
      store,
      clock,
      random: seededRandom(1),
      apiBackoff: new ApiBackoff({ clock, random: seededRandom(2) }),
      log,
      onKeys: (secret, hmac) => keys.push([secret, hmac]),
      onProblem: problem => problems.push(problem),
    },
  )
  await stage.start()
  return { kube, stage, store, problems, keys, log, dir, clock }
}

const names = (world: World): string[] =>
  (world.store.nodeList.current.roster?.members ?? []).map(member => member.name).sort()

const ownAddress = ({ store }: World): string | undefined => {
  const { roster } = store.nodeList.current
  return roster?.members[roster.self]?.address
}

const noConfig = async (kube: FakeWatches): Promise<void> => {
  await kube.showData('edge-health-zone-config', undefined)
  await kube.showData('edge-health-config', undefined)
}

t.test('the four zone cases of the contract', async t => {
  const zone = (value: string) => ({ labels: { 'superedgehealth/topology-zone': value } })
  const rows: [
    why: string,
    config: Record<string, string> | undefined,
    own: Record<string, string>,
    selector: string | undefined,
  ][] = [
    ['no ConfigMap: all edge nodes', undefined, {}, NOT_MASTER],
    ['"false": all edge nodes', { TaintZoneAdmission: 'false' }, zone('a').labels, NOT_MASTER],
    [
      'on and labelled: the nodes of the zone',
      { TaintZoneAdmission: 'true' },
      zone('a').labels,
      `superedgehealth/topology-zone=a,${NOT_MASTER}`,
    ],
    [
      'a missing key is on, as in SuperEdge',
      { other: 'x' },
      zone('b').labels,
      `superedgehealth/topology-zone=b,${NOT_MASTER}`,
    ],
    ['on without a label: only me', { TaintZoneAdmission: 'true' }, {}, undefined],
  ]
  for (const [why, config, labels, selector] of rows) {
    const world = await makeWorld(t)
    await world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    await world.kube.showData('edge-health-zone-config', config)
    await world.kube.showData('edge-health-config', undefined)
    t.strictSame(world.kube.selectors, selector === undefined ? [] : [selector], why)
    if (selector === undefined) t.strictSame(names(world), ['n1'], why)
    else {
      await world.kube.showNodes(selector, [nodeView('n1', { labels }), nodeView('n2')])
      t.strictSame(names(world), ['n1', 'n2'], why)
    }
  }
})

t.test('unit mode; an empty pick is only me, never everybody or nobody', async t => {
  const rows: [why: string, config: Record<string, string>, own: string[], selector?: string][] = [
    ['off: all edge nodes', { 'unit-internal-check': 'false' }, [], NOT_MASTER],
    ['on, no units named: only me', { 'unit-internal-check': 'true' }, ['u1']],
    ['in none of the named units: only me', { 'check-units': 'u1' }, ['u9']],
    ['one unit', { 'check-units': 'u1, u2' }, ['u1'], `u1=${UNIT},${NOT_MASTER},u2!=${UNIT}`],
    ['a unit named twice', { 'check-units': 'u1,u1,' }, ['u1'], `u1=${UNIT},${NOT_MASTER}`],
    [
      'all shared units',
      { 'check-units': 'u2,u1' },
      ['u1', 'u2'],
      `u1=${UNIT},u2=${UNIT},${NOT_MASTER}`,
    ],
  ]
  for (const [why, config, units, selector] of rows) {
    const world = await makeWorld(t)
    const labels = Object.fromEntries(units.map(unit => [unit, UNIT]))
    await world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    await world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'true' })
    await world.kube.showData('edge-health-config', config)
    t.strictSame(world.kube.selectors, selector === undefined ? [] : [selector], why)
    if (selector === undefined) t.strictSame(names(world), ['n1'], why)
  }
})

t.test('control-plane nodes judge nobody; the edge selector narrows', async t => {
  const world = await makeWorld(t, { edgeSelector: 'superedge.io/node-edge=enable' })
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  t.strictSame(world.kube.selectors, [`${NOT_MASTER},superedge.io/node-edge=enable`])
  for (const role of ['master', 'control-plane']) {
    const labels = { [`node-role.kubernetes.io/${role}`]: '' }
    await world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    t.strictSame(names(world), ['n1'], role)
    t.match(world.store.nodeList.current.rule, /control-plane node/)
  }
})

t.test('a broken ConfigMap keeps the last good one and says so, once', async t => {
  const world = await makeWorld(t)
  const labels = { 'superedgehealth/topology-zone': 'a' }
  const selector = `superedgehealth/topology-zone=a,${NOT_MASTER}`
  await world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
  await world.kube.showData('edge-health-config', undefined)
  await world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'true' }, '1')
  await world.kube.showNodes(selector, [nodeView('n1', { labels }), nodeView('n2', { labels })])
  await world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'perhaps' }, '2')
  await world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'perhaps' }, '2')
  t.strictSame(names(world), ['n1', 'n2'], 'the zone stays')
  t.equal(world.problems.length, 1, 'told once')
  const [problem] = world.store.nodeList.current.problems
  t.equal(
    problem?.problem,
    'ConfigMap edge-health-zone-config: TaintZoneAdmission must be "true" or "false", got "perhaps"',
  )
  t.match(problem, { thing: 'ConfigMap edge-system/edge-health-zone-config', inForce: 'last-good' })
  await world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'false' }, '3')
  t.strictSame(world.store.nodeList.current.problems, [], 'a good one clears it')
  t.strictSame(world.kube.selectors, [NOT_MASTER])
})

t.test('a ConfigMap without end keeps the last good one, too', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  const units = Array.from({ length: 200_000 }, (_, i) => `u${i}`).join(',')
  await world.kube.showData('edge-health-config', { 'check-units': units }, '2')
  t.strictSame(names(world), ['n1', 'n2'])
  t.match(world.store.nodeList.current.problems, [
    { problem: /check-units must list at most 256 label keys, got 200000$/ },
  ])
  await world.kube.showData(
    'edge-health-config',
    { 'unit-internal-check': 'x'.repeat(1 << 20) },
    '3',
  )
  t.match(world.store.nodeList.current.problems, [{ problem: /^.{0,200}$/ }])
  t.strictSame(names(world), ['n1', 'n2'])
})

t.test('broken from the start decides nothing, and the round says why', async t => {
  const world = await makeWorld(t)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showData('edge-health-zone-config', undefined)
  await world.kube.showData('edge-health-config', { 'check-units': 'a b' })
  t.equal(world.store.nodeList.current.roster, undefined)
  t.throws(() => world.stage.round(), { code: 'INVALID_INPUT' })
  t.match(world.problems, [{ inForce: 'nothing' }])
})

t.test('zone and config outlive a restart without the cloud', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2'), nodeView('n3')])
  await world.stage.stop()
  t.equal(statSync(join(world.dir, 'roster.json')).mode & 0o777, 0o600)

  const again = await makeWorld(t, { dir: world.dir })
  t.strictSame(names(again), ['n1', 'n2', 'n3'])
  t.equal(again.store.nodeList.current.source, 'disk')
  t.match(again.stage.round(), /waiting for the API; 3 nodes from disk/)

  await again.kube.showNodes('name:n1', [nodeView('n1')])
  await again.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  t.equal(again.store.nodeList.current.source, 'api', 'the remembered config is enough to go on')
  t.strictSame(names(again), ['n1', 'n2'])
})

t.test('remembered state that is broken or about another node is not used', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  for (const text of [
    '{',
    '{"version":2}',
    '{"version":1,"zone":"","listedAt":1,"rule":"","members":[]}',
  ]) {
    writeFileSync(join(dir, 'roster.json'), text)
    const world = await makeWorld(t, { dir })
    t.equal(world.store.nodeList.current.roster, undefined, text)
    t.match(world.log.lines, [{ level: 'warn', message: 'remembered state is not used' }])
    writeFileSync(join(dir, 'roster.json'), text)
  }
})

t.test('members: identity is the name, the address the first InternalIP', async t => {
  const world = await makeWorld(t, { nodeAddress: 'fd00::1' })
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [
    nodeView('n1'),
    nodeView('n2', { internalIPs: ['10.0.0.2', 'fd00::2'] }),
    nodeView('n3', { internalIPs: [] }),
  ])
  const { roster, withoutAddress } = world.store.nodeList.current
  t.strictSame(
    roster?.members.map(({ name, address }) => `${name} ${address}`).sort(),
    ['n1 fd00::1', 'n2 10.0.0.2'],
    'one target per node',
  )
  t.strictSame(withoutAddress, ['n3'])
})

t.test('the own Node is missing, or has no address', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [])
  t.throws(() => world.stage.round(), { message: /own Node must exist in the API/ })
  await world.kube.showNodes('name:n1', [nodeView('n1', { internalIPs: [] })])
  await world.kube.showNodes(NOT_MASTER, [])
  t.throws(() => world.stage.round(), { message: /Node n1 must have an InternalIP/ })
})

t.test('an unchanged zone keeps its roster object, and its file is written once', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  const { roster } = world.store.nodeList.current
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2', { resourceVersion: '7' })])
  t.equal(world.store.nodeList.current.roster, roster)
  t.equal(world.log.lines.filter(line => line.message === 'roster').length, 1)
  await world.stage.stop()
  t.match(readFileSync(join(world.dir, 'roster.json'), 'utf8'), /"n2"/)
})

t.test(
  'a Node that only tells of itself moves nothing; one that moved, or is new, does',
  async t => {
    const world = await makeWorld(t)
    await noConfig(world.kube)
    await world.kube.showNodes('name:n1', [nodeView('n1')])
    await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
    let published = 0
    world.store.nodeList.subscribe(() => published++)
    const reads = world.kube.reads.length
    await world.kube.sendNode(NOT_MASTER, nodeView('n2', { resourceVersion: '7' }))
    await world.kube.sendNode('name:n1', nodeView('n1', { resourceVersion: '8' }))
    t.strictSame([published, world.kube.reads.length], [0, reads])

    await world.kube.sendNode(NOT_MASTER, nodeView('n2', { internalIPs: ['10.0.0.9'] }))
    const moved = world.store.nodeList.current.roster
    t.not(moved?.indexOfAddress('10.0.0.9'), undefined, 'its address moved')
    await world.kube.sendNode(NOT_MASTER, nodeView('n3'))
    t.strictSame(names(world), ['n1', 'n2', 'n3'], 'and a new one joins')
    await world.kube.showNodes('name:n1', [nodeView('n1', { internalIPs: ['10.0.0.8'] })])
    t.not(
      world.store.nodeList.current.roster?.indexOfAddress('10.0.0.8'),
      undefined,
      'the own, too',
    )
  },
)

t.test('the own Node is read when a label that decides its zone moved, and then only', async t => {
  const world = await makeWorld(t)
  const own = nodeView('n1', { labels: { 'superedgehealth/topology-zone': 'a', other: 'x' } })
  await world.kube.showNodes('name:n1', [own])
  await world.kube.showData('edge-health-zone-config', undefined)
  await world.kube.showData('edge-health-config', { 'check-units': 'u1,u2' })
  const [facts] = world.kube.facts
  const kept = [...NOT_MASTER.split(','), 'superedgehealth/topology-zone=a', '!u1', '!u2']
  t.strictSame(facts!.split(',').sort(), kept.sort(), 'its row is watched while these stay')
  const labels = { ...own.labels, u1: UNIT }
  await world.kube.showNodes('name:n1', [{ ...own, labels }])
  t.strictSame(world.kube.selectors, [`u1=${UNIT},${NOT_MASTER},u2!=${UNIT}`])
  t.strictSame(world.kube.facts.length, 1)
  t.match(world.kube.facts[0], new RegExp(`u1=${UNIT}`), 'now these')
})

t.test('at the start the own Node is read once and its row followed once', async t => {
  for (const first of ['Node', 'ConfigMaps']) {
    const world = await makeWorld(t)
    const node = () => world.kube.showNodes('name:n1', [nodeView('n1')])
    if (first === 'Node') await node()
    await noConfig(world.kube)
    if (first !== 'Node') await node()
    await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
    t.strictSame(names(world), ['n1', 'n2'])
    const followed = world.kube.members.filter(({ key }) => key === 'name:n1')
    t.strictSame([world.kube.reads, followed.length], [['n1'], 1], `${first} first`)
    await world.stage.stop()
  }
})

t.test(
  'other labels matter from now on: the Node is read again where they moved, and then only',
  async t => {
    const world = await makeWorld(t)
    const own = nodeView('n1')
    await noConfig(world.kube)
    await world.kube.showNodes('name:n1', [own])
    await world.kube.showData('edge-health-config', { 'check-units': 'u1' }, '2')
    t.match(world.kube.facts, [/!u1/])
    t.strictSame(world.kube.reads, ['n1'])
    // The Node has another of these labels by now, of which nothing was told: its row does not match.
    await world.kube.showNodes('name:n1', [{ ...own, labels: { u2: UNIT } }])
    await world.kube.showData('edge-health-config', { 'check-units': 'u1,u2' }, '3')
    const { sink } = world.kube.members.findLast(({ isOpen, key }) => isOpen && key === 'name:n1')!
    sink.replace([])
    await settle()
    t.strictSame(world.kube.selectors, [`u2=${UNIT},${NOT_MASTER},u1!=${UNIT}`])
    await world.stage.stop()
  },
)

t.test(
  'while the ConfigMaps do not come the own Node is followed from the next round on',
  async t => {
    const world = await makeWorld(t)
    await world.kube.showNodes('name:n1', [nodeView('n1')])
    t.strictSame(world.kube.facts, [])
    world.stage.round()
    t.strictSame(world.kube.facts, [''])
    t.equal(world.store.nodeList.current.isRegistered, true)
    await world.kube.showNodes('name:n1', [])
    t.throws(() => world.stage.round(), { message: /own Node must exist in the API/ })
    t.equal(world.store.nodeList.current.isRegistered, false, 'its end is seen')
    await world.stage.stop()
  },
)

t.test('the address that a row tells of the own Node counts while reads are refused', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  const moved = nodeView('n1', { internalIPs: ['10.0.0.8'] })
  world.kube.readRefusal = new KubeStatusError('n1', {
    ...{ status: 429, reason: 'TooManyRequests', message: '', retryAfterMs: 30_000 },
  })
  await world.kube.sendNode('name:n1', moved)
  t.equal(ownAddress(world), '10.0.0.8', 'at once')
  await world.kube.sendNode('name:n1', nodeView('n1', { internalIPs: [] }))
  t.throws(() => world.stage.round(), { message: /Node n1 must have an InternalIP/ })
  t.equal(ownAddress(world), '10.0.0.8', 'without one the last stays')
  world.kube.readRefusal = undefined
  await world.kube.showNodes('name:n1', [nodeView('n1', { internalIPs: ['10.0.0.9'] })])
  const { length } = world.kube.reads
  await world.clock.advance(70_000)
  t.ok(world.kube.reads.length > length, 'and it is read as soon as it may be')
  t.equal(ownAddress(world), '10.0.0.9')
  await world.stage.stop()
})

t.test('what a row tells while the own Node is read is newer than what is read', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1')])
  const { sink } = world.kube.members.find(({ isOpen, key }) => isOpen && key === 'name:n1')!
  const name = parseNodeName('n1')
  const { length } = world.kube.reads
  sink.upsert({ name, address: '10.0.0.8' })
  t.equal(world.kube.reads.length, length + 1, 'a read that finds the Node as it was')
  world.kube.readRefusal = new KubeStatusError('n1', {
    ...{ status: 429, reason: 'TooManyRequests', message: '', retryAfterMs: 30_000 },
  })
  sink.upsert({ name, address: '10.0.0.9' })
  await settle()
  t.equal(ownAddress(world), '10.0.0.9')
  await world.stage.stop()
})

t.test('a large zone is polled; who joins is seen at once, who left at the next poll', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  await world.kube.showNodes(NOT_MASTER, many)
  t.equal(names(world).length, 30)
  const [joins, ...others] = world.kube.selectors
  t.strictSame(others, [], 'one watch')
  t.match(joins, /,kubernetes\.io\/hostname notin \(n1,n10,.*,n9\)$/, 'of those who are not known')
  await world.kube.showNodes(joins!, [nodeView('n31')])
  t.equal(names(world).length, 31, 'a node joins')
  world.kube.lists.set(NOT_MASTER, many.slice(0, 28))
  await world.clock.advance(260_000)
  t.equal(names(world).length, 31)
  await world.clock.advance(80_000)
  t.equal(names(world).length, 28, 'who is not listed is gone')
  t.notMatch(world.kube.selectors[0], /n29/, 'and would be a new one')
  world.kube.lists.set(NOT_MASTER, many.slice(0, 20))
  await world.clock.advance(340_000)
  await world.kube.showNodes(NOT_MASTER, many.slice(0, 20))
  t.strictSame(world.kube.selectors, [NOT_MASTER], 'a zone that is small again is watched')
  t.equal(names(world).length, 20)
  await world.stage.stop()
  t.strictSame(world.kube.selectors, [])
})

t.test('a list that is refused is asked for again', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  await world.kube.showNodes(NOT_MASTER, many)
  world.kube.refusal = new KubeStatusError('nodes', {
    ...{ status: 429, reason: 'TooManyRequests', message: '', retryAfterMs: 100_000 },
  })
  await world.clock.advance(340_000)
  world.kube.refusal = undefined
  world.kube.lists.set(NOT_MASTER, many.slice(1))
  await world.clock.advance(80_000)
  t.equal(names(world).length, 30, 'not before it may be')
  await world.clock.advance(40_000)
  t.equal(names(world).length, 30, 'the own Node stays, listed or not')
  world.kube.lists.set(NOT_MASTER, many.slice(2))
  await world.clock.advance(340_000)
  t.equal(names(world).length, 29)
})

t.test('of a large zone who is doubted is asked for soon', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  await world.kube.showNodes(NOT_MASTER, many)
  world.stage.doubt('n4')
  world.stage.doubt('n5')
  world.stage.doubt('n6')
  world.stage.doubt('stranger')
  const moved = nodeView('n5', { internalIPs: ['10.9.9.9'] })
  world.kube.lists.set(NOT_MASTER, [many[3]!, moved])
  await world.clock.advance(3_000)
  t.strictSame(world.kube.looks, ['n4', 'n5', 'n6'], 'members alone, once each')
  const { roster } = world.store.nodeList.current
  t.equal(names(world).length, 29, 'the Node of n6 is gone')
  t.not(roster?.indexOfAddress('10.9.9.9'), undefined, 'n5 has another address')
  t.notMatch(world.kube.selectors[0], /n6[,)]/, 'n6 would be a new one')

  world.kube.refusal = new KubeStatusError('nodes', {
    ...{ status: 500, reason: '', message: '', retryAfterMs: undefined },
  })
  world.stage.doubt('n4')
  await world.clock.advance(3_000)
  world.kube.refusal = undefined
  world.kube.lists.set(NOT_MASTER, [])
  await world.clock.advance(30_000)
  t.equal(world.kube.looks.length, 5, 'asked again where that failed')
  t.equal(names(world).length, 28)

  world.kube.lists.set(NOT_MASTER, many.slice(0, 26))
  for (let i = 10; i < 20; i++) world.stage.doubt(`n${i}`)
  await world.clock.advance(33_000)
  t.equal(world.kube.looks.length, 5)
  t.equal(names(world).length, 26, 'many are one list')
})

t.test('what is learnt while all are listed is not undone by that list', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  await world.kube.showNodes(NOT_MASTER, many)
  const joins = world.kube.members.find(open => open.isOpen && open.key.includes('notin'))!.sink
  let answer!: () => void
  world.kube.held = new Promise(resolve => (answer = resolve))
  while (world.kube.known.length === 0) await world.clock.advance(1_000)
  world.kube.lists.set(NOT_MASTER, many.slice(0, 29))
  world.stage.doubt('n30')
  for (const name of ['n40', 'n41'].map(parseNodeName)) joins.upsert({ name, address: '10.0.0.99' })
  joins.remove('n41')
  await world.clock.advance(3_000)
  const seen = (): unknown => [names(world).length, names(world).includes('n40')]
  t.strictSame(seen(), [30, true])
  world.store.nodeList.subscribe(() => t.strictSame(seen(), [30, true]))
  answer()
  await world.clock.advance(1)
})

t.test('in a zone that is watched nobody needs to be doubted', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  world.stage.doubt('n2')
  await world.kube.showNodes('name:n1', [nodeView('n1')])
  await world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  world.stage.doubt('n2')
  await world.clock.advance(60_000)
  t.strictSame(world.kube.looks, [])
})

t.test('a poll never goes back in time, unless the server did', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  await world.kube.showNodes(NOT_MASTER, many)
  world.kube.lists.set(NOT_MASTER, many)
  const { known } = world.kube
  const nextPoll = async (): Promise<ListFrom> => {
    const { length } = known
    while (known.length === length) await world.clock.advance(1_000)
    return known.at(-1)
  }
  const joins = world.kube.members.find(({ isOpen, key }) => isOpen && key.includes('notin'))!
  joins.known!.reached('70')
  t.equal(await nextPoll(), '70', 'not older than what the watch told of')
  t.equal(await nextPoll(), '1', 'nor than the list before')
  world.kube.refusal = new KubeStatusError('nodes', {
    ...{ status: 504, reason: 'Timeout', message: 'too large version', retryAfterMs: undefined },
  })
  t.equal(await nextPoll(), '2')
  world.kube.refusal = undefined
  t.equal(
    await nextPoll(),
    null,
    'a cache that lags, or a store that was restored: what etcd has counts',
  )
})

t.test('who joins is not watched for where that is refused', async t => {
  const world = await makeWorld(t)
  await noConfig(world.kube)
  const many = Array.from({ length: 30 }, (_, i) => nodeView(`n${i + 1}`))
  await world.kube.showNodes('name:n1', [many[0]!])
  world.kube.watchLists = 0
  await world.kube.showNodes(NOT_MASTER, many)
  t.equal(world.kube.selectors.length, 1)
  world.kube.lists.set(NOT_MASTER, many)
  await world.clock.advance(335_000)
  t.strictSame(world.kube.selectors, [], 'a proxy does not take so long a selector')
  world.kube.lists.set(NOT_MASTER, [...many, nodeView('n31')])
  await world.clock.advance(335_000)
  t.equal(names(world).length, 31, 'the poll tells')
  t.equal(world.kube.selectors.length, 1, 'and then it is tried again')
})

t.test('keys are handed on as found', async t => {
  const world = await makeWorld(t)
  await world.kube.showData('edge-health-keys', { primary: 'k' })
  await world.kube.showData('hmac-config', undefined)
  const [secret, hmac] = world.keys.at(-1)!
  t.equal(secret?.data['primary'], 'k')
  t.equal(hmac, null)
})
