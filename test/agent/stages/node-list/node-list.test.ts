// SPDX-License-Identifier: Apache-2.0
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseNodeName } from '../../../../core/ids.js'
import {
  makeRosterKeeper,
  type RosterKeeper,
} from '../../../../agent/stages/node-list/roster-keeper.js'
import { openStateFolder } from '../../../../agent/state-folder.js'
import type { ConfigProblem } from '../../../../agent/results.js'
import { makeResultStore, type ResultStore } from '../../../../agent/store.js'
import type { Found } from '../../../../agent/stages/node-list/zone-watch.js'
import { FakeClock } from '../../../../testkit/fake-clock.js'
import { FakeWatches, nodeView } from '../../fake-watches.js'
import { recordingLog } from '../../../../testkit/recording-log.js'

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
}

const makeWorld = async (
  t: Test,
  change: { dir?: string; edgeSelector?: string; nodeAddress?: string } = {},
): Promise<World> => {
  const dir = change.dir ?? mkdtempSync(join(tmpdir(), 'edge-health-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const clock = new FakeClock()
  const log = recordingLog()
  const store = makeResultStore(clock.now())
  const kube = new FakeWatches()
  const problems: ConfigProblem[] = []
  const keys: [Found, Found][] = []
  const stage = makeRosterKeeper(
    {
      nodeName: parseNodeName('n1'),
      nodeAddress: change.nodeAddress,
      namespace: 'edge-system',
      edgeSelector: change.edgeSelector ?? '',
      keySecret: 'edge-health-keys',
    },
    {
      kube,
      folder: openStateFolder(dir, log),
      store,
      clock,
      log,
      onKeys: (secret, hmac) => keys.push([secret, hmac]),
      onProblem: problem => problems.push(problem),
    },
  )
  await stage.start()
  return { kube, stage, store, problems, keys, log, dir }
}

const names = (world: World): string[] =>
  (world.store.nodeList.current.roster?.members ?? []).map(member => member.name).sort()

const noConfig = (kube: FakeWatches): void => {
  kube.showData('edge-health-zone-config', undefined)
  kube.showData('edge-health-config', undefined)
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
    world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    world.kube.showData('edge-health-zone-config', config)
    world.kube.showData('edge-health-config', undefined)
    t.strictSame(world.kube.selectors, selector === undefined ? [] : [selector], why)
    if (selector === undefined) t.strictSame(names(world), ['n1'], why)
    else {
      world.kube.showNodes(selector, [nodeView('n1', { labels }), nodeView('n2')])
      t.strictSame(names(world), ['n1', 'n2'], why)
    }
  }
})

t.test('unit mode; an empty pick is only me, never everybody or nobody', async t => {
  const rows: [why: string, config: Record<string, string>, own: string[], selector?: string][] = [
    ['off: all edge nodes', { 'unit-internal-check': 'false' }, [], NOT_MASTER],
    ['on, no units named: only me', { 'unit-internal-check': 'true' }, ['u1']],
    ['in none of the named units: only me', { 'check-units': 'u1' }, ['u9']],
    ['one unit', { 'check-units': 'u1, u2' }, ['u1'], `u1=${UNIT},${NOT_MASTER}`],
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
    world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'true' })
    world.kube.showData('edge-health-config', config)
    t.strictSame(world.kube.selectors, selector === undefined ? [] : [selector], why)
    if (selector === undefined) t.strictSame(names(world), ['n1'], why)
  }
})

t.test('control-plane nodes judge nobody; the edge selector narrows', async t => {
  const world = await makeWorld(t, { edgeSelector: 'superedge.io/node-edge=enable' })
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  t.strictSame(world.kube.selectors, [`${NOT_MASTER},superedge.io/node-edge=enable`])
  for (const role of ['master', 'control-plane']) {
    const labels = { [`node-role.kubernetes.io/${role}`]: '' }
    world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
    t.strictSame(names(world), ['n1'], role)
    t.match(world.store.nodeList.current.rule, /control-plane node/)
  }
})

t.test('a broken ConfigMap keeps the last good one and says so, once', async t => {
  const world = await makeWorld(t)
  const labels = { 'superedgehealth/topology-zone': 'a' }
  const selector = `superedgehealth/topology-zone=a,${NOT_MASTER}`
  world.kube.showNodes('name:n1', [nodeView('n1', { labels })])
  world.kube.showData('edge-health-config', undefined)
  world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'true' }, '1')
  world.kube.showNodes(selector, [nodeView('n1', { labels }), nodeView('n2', { labels })])
  world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'perhaps' }, '2')
  world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'perhaps' }, '2')
  t.strictSame(names(world), ['n1', 'n2'], 'the zone stays')
  t.equal(world.problems.length, 1, 'told once')
  const [problem] = world.store.nodeList.current.problems
  t.equal(
    problem?.problem,
    'ConfigMap edge-health-zone-config: TaintZoneAdmission must be "true" or "false", got "perhaps"',
  )
  t.equal(problem?.thing, 'ConfigMap edge-system/edge-health-zone-config')
  world.kube.showData('edge-health-zone-config', { TaintZoneAdmission: 'false' }, '3')
  t.strictSame(world.store.nodeList.current.problems, [], 'a good one clears it')
  t.strictSame(world.kube.selectors, [NOT_MASTER])
})

t.test('a ConfigMap without end keeps the last good one, too', async t => {
  const world = await makeWorld(t)
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  const units = Array.from({ length: 200_000 }, (_, i) => `u${i}`).join(',')
  world.kube.showData('edge-health-config', { 'check-units': units }, '2')
  t.strictSame(names(world), ['n1', 'n2'])
  t.match(world.store.nodeList.current.problems, [
    { problem: /check-units must list at most 256 label keys, got 200000$/ },
  ])
  world.kube.showData('edge-health-config', { 'unit-internal-check': 'x'.repeat(1 << 20) }, '3')
  t.match(world.store.nodeList.current.problems, [{ problem: /^.{0,200}$/ }])
  t.strictSame(names(world), ['n1', 'n2'])
})

t.test('broken from the start decides nothing, and the round says why', async t => {
  const world = await makeWorld(t)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showData('edge-health-zone-config', undefined)
  world.kube.showData('edge-health-config', { 'check-units': 'a b' })
  t.equal(world.store.nodeList.current.roster, undefined)
  t.throws(() => world.stage.round(), { code: 'INVALID_INPUT' })
})

t.test('zone and config outlive a restart without the cloud', async t => {
  const world = await makeWorld(t)
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2'), nodeView('n3')])
  await world.stage.stop()
  t.equal(statSync(join(world.dir, 'roster.json')).mode & 0o777, 0o600)

  const again = await makeWorld(t, { dir: world.dir })
  t.strictSame(names(again), ['n1', 'n2', 'n3'])
  t.equal(again.store.nodeList.current.source, 'disk')
  t.match(again.stage.round(), /waiting for the API; 3 nodes from disk/)

  again.kube.showNodes('name:n1', [nodeView('n1')])
  again.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
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
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showNodes(NOT_MASTER, [
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
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [])
  t.throws(() => world.stage.round(), { message: /own Node must exist in the API/ })
  world.kube.showNodes('name:n1', [nodeView('n1', { internalIPs: [] })])
  world.kube.showNodes(NOT_MASTER, [])
  t.throws(() => world.stage.round(), { message: /Node n1 must have an InternalIP/ })
})

t.test('an unchanged zone keeps its roster object; the file is written once', async t => {
  const world = await makeWorld(t)
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  const { roster } = world.store.nodeList.current
  world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2', { resourceVersion: '7' })])
  t.equal(world.store.nodeList.current.roster, roster)
  t.equal(world.store.nodeList.current.nodes.get('n2')?.resourceVersion, '7')
  t.equal(world.log.lines.filter(line => line.message === 'roster').length, 1)
  await world.stage.stop()
  t.match(readFileSync(join(world.dir, 'roster.json'), 'utf8'), /"n2"/)
})

t.test('a Node that only tells of itself is seen, and nobody is counted anew', async t => {
  const world = await makeWorld(t)
  noConfig(world.kube)
  world.kube.showNodes('name:n1', [nodeView('n1')])
  world.kube.showNodes(NOT_MASTER, [nodeView('n1'), nodeView('n2')])
  let published = 0
  world.store.nodeList.subscribe(() => published++)
  const seen = (name: string) => world.store.nodeList.current.nodes.get(name)?.resourceVersion

  world.kube.tellNode(NOT_MASTER, nodeView('n2', { resourceVersion: '7' }))
  t.equal(seen('n2'), '7')
  t.equal(published, 0)
  world.kube.tellNode('name:n1', nodeView('n1', { resourceVersion: '8' }))
  t.equal(seen('n1'), '8', 'the own Node decides the zone')
  t.ok(published > 0)

  world.kube.tellNode(NOT_MASTER, nodeView('n2', { internalIPs: ['10.0.0.9'] }))
  const moved = world.store.nodeList.current.roster
  t.not(moved?.indexOfAddress('10.0.0.9'), undefined, 'its address moved')
  world.kube.tellNode(NOT_MASTER, nodeView('n3'))
  t.strictSame(names(world), ['n1', 'n2', 'n3'], 'and a new one joins')
})

t.test('keys are handed on as found', async t => {
  const world = await makeWorld(t)
  world.kube.showData('edge-health-keys', { primary: 'k' })
  world.kube.showData('hmac-config', undefined)
  const [secret, hmac] = world.keys.at(-1)!
  t.equal(secret?.data['primary'], 'k')
  t.equal(hmac, null)
})
