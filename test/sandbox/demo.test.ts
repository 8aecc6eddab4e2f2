// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:net'
import t from 'tap'
import { addressesFrom, aliasLines, checkPlaces } from '../../sandbox/addresses.js'
import type { AgentStatus, LocalInfo } from '../../sandbox/agent-view.js'
import { describe } from '../../sandbox/demo/describe.js'
import { chooseScenes, SCENES } from '../../sandbox/demo/scenes.js'
import { plainScreen, terminalScreen } from '../../sandbox/demo/screen.js'
import type { NodeSnapshot, ZoneSnapshot } from '../../sandbox/demo/snapshot.js'
import {
  type Audience,
  type ClaimResult,
  type Limits,
  play,
  type Scene,
  type Stage,
  type Step,
} from '../../sandbox/demo/stage.js'
import { colours, drawResults, drawZone, noColours } from '../../sandbox/demo/table.js'
import type { Sites, SitesView } from '../../sandbox/demo/sites.js'
import type { NodeWrite } from '../../sandbox/node-writes.js'
import { FakeClock } from '../../testkit/fake-clock.js'

const limits: Limits = {
  startMs: 30_000,
  seenMs: 10_000,
  writtenMs: 15_000,
  graceMs: 11_000,
  quietMs: 2_500,
}

interface Fake {
  state: NodeSnapshot['state']
  isCut: boolean
  ready: 'True' | 'Unknown'
  taints: { key: string; effect: 'NoSchedule' | 'NoExecute' }[]
  isAnnotated: boolean
  peerHealth: string
}

type AgentNode = AgentStatus['nodes'][number]

const freshNode = (): Fake => ({
  state: 'running',
  isCut: false,
  ready: 'True',
  taints: [],
  isAnnotated: false,
  peerHealth: '',
})

const fakeZone = (count: number) => {
  const names = Array.from({ length: count }, (_, i) => `edge-${i + 1}`)
  return { names, nodes: new Map(names.map(name => [name, freshNode()])) }
}

/** What would be seen of the fakes if agents knew everything at once. */
const snapshotOf = (nodes: ReadonlyMap<string, Fake>, signing = nodes.size): ZoneSnapshot => {
  const isUp = (fake: Fake): boolean => fake.state === 'running'
  const localinfo: LocalInfo = new Map([...nodes].map(([name, fake]) => [name, isUp(fake)]))
  const opinion = ([name, fake]: [string, Fake]): AgentNode => ({
    name,
    verdict: isUp(fake) ? 'healthy' : 'unhealthy',
    class: isUp(fake) ? (fake.isCut ? 'cloud-link-cut' : 'healthy') : 'dead',
    votes: { down: isUp(fake) ? 0 : 3, up: isUp(fake) ? 4 : 0, needed: 3 },
    guards: isUp(fake) ? [] : [{ kind: 'brake' }],
    cloudCutSince: fake.isCut ? '2026-01-01T00:00:00Z' : null,
    vouch: { state: fake.isCut ? 'active' : 'idle', by: fake.isCut ? 'edge-1' : null },
    recordAgeSeconds: 1,
    peer: { state: 'ok' },
    nextWrite: null,
    lastWrite: fake.isAnnotated ? { at: '', by: 'edge-1', what: 'annotation' } : null,
  })
  const status = (fake: Fake): AgentStatus => ({
    cloudLink: { state: fake.isCut ? 'cut' : 'up' },
    brake: { isOn: false },
    disruption: 'normal',
    zone: { members: nodes.size },
    keys: { state: 'ok', sharedBy: 3 },
    identity: { members: signing },
    nodes: [...nodes].map(opinion),
  })
  return {
    nodes: [...nodes].map(([name, fake]) => ({
      name,
      state: fake.state,
      isCut: fake.isCut,
      object: {
        metadata: {
          name,
          resourceVersion: '1',
          ...(fake.isAnnotated ? { annotations: { nodeunhealth: 'yes' } } : {}),
        },
        spec: { taints: fake.taints },
        status: {
          conditions: [
            { type: 'Ready', status: fake.ready },
            { type: 'PeerHealth', status: 'True', reason: fake.peerHealth },
          ],
        },
      },
      localinfo: isUp(fake) ? localinfo : undefined,
      status: isUp(fake) ? status(fake) : undefined,
    })),
  }
}

const UNREACHABLE = 'node.kubernetes.io/unreachable'
const CUT = { key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' as const }

interface Faults {
  /** One node publishes no keys. */
  readonly isUnsigned?: boolean
  /** Writes per condemned node; 1 is right. */
  readonly writes?: number
  readonly isVouchingBroken?: boolean
  readonly isBrakeBroken?: boolean
  readonly writesWithoutCloud?: boolean
  readonly isHoldBroken?: boolean
  readonly goesEverywhere?: boolean
  readonly deletesWithNode?: boolean
}

/** What a controller of grids and a wrapper would make of the nodes' labels; changes at `react`. */
const fakeSites = (names: readonly string[], faults: Faults, isUp: (name: string) => boolean) => {
  const siteOf = new Map<string, string | undefined>()
  const deployments = new Map<string, number>()
  let isMade = false
  let isHeld = false
  let sent: readonly string[] = []
  let uid = 0
  const react = (): void => {
    if (!isMade) return
    const present = new Set([...siteOf.values()].filter(site => site !== undefined))
    const gone = [...deployments.keys()].filter(site => !present.has(site))
    isHeld = gone.length > 0.4 * deployments.size && faults.isHoldBroken !== true
    for (const site of isHeld ? [] : gone) deployments.delete(site)
    if (faults.deletesWithNode === true && !names.every(isUp)) deployments.clear()
    for (const site of present) if (!deployments.has(site)) deployments.set(site, uid++)
    const isSent = (name: string): boolean =>
      isUp(name) && (faults.goesEverywhere === true || siteOf.get(name) === siteOf.get(names[0]!))
    sent = names.filter(isSent)
  }
  const look = (): SitesView | undefined =>
    isMade
      ? {
          deployments: [...deployments].map(([site, id]) => ({
            ...{ name: `web-${site}`, uid: String(id), site },
          })),
          ...{ topologyKeys: '["site"]', isHeld, sent },
        }
      : undefined
  const sites = (later: () => void): Sites => ({
    start: () => Promise.resolve(),
    create: async () => {
      isMade = true
      later()
    },
    move: async (name, site) => {
      siteOf.set(name, site)
      later()
    },
    stop: async () => {
      isMade = false
    },
  })
  return { sites, look, react }
}

/** A stage on which a well-behaved (or, if asked, ill-behaved) zone lives; it acts 2 s after each push. */
const fakeStage = (count: number, clock: FakeClock, faults: Faults = {}) => {
  const { names, nodes } = fakeZone(count)
  const of = (name: string): Fake => nodes.get(name)!
  let written: NodeWrite[] = []
  let flips: string[] = []
  let vouch = 'lease'
  let trouble: string | undefined
  const signing = names.length - (faults.isUnsigned === true ? 1 : 0)
  const write = (name: string, isAnnotated: boolean): void => {
    of(name).isAnnotated = isAnnotated
    flips.push(name)
    for (let i = 0; i < (faults.writes ?? 1); i++)
      written.push({ node: name, by: `edge-${i + 1}`, path: `/api/v1/nodes/${name}` })
  }
  const grids = fakeSites(names, faults, name => of(name).state === 'running')
  const isLinkUp = (): boolean =>
    faults.writesWithoutCloud === true || names.some(name => !of(name).isCut)
  /** What the zone and the control plane make of it, some time later. */
  const react = (): void => {
    grids.react()
    const dead = names.filter(name => of(name).state !== 'running')
    const isBraked = dead.length * 2 > names.length && faults.isBrakeBroken !== true
    for (const name of names) {
      const fake = of(name)
      const isDead = fake.state !== 'running'
      if (isLinkUp() && !isBraked && isDead !== fake.isAnnotated) write(name, isDead)
      const isKept = vouch === 'lease' && faults.isVouchingBroken !== true
      const isAlone = fake.isCut && !names.every(each => of(each).isCut)
      fake.peerHealth = isAlone && vouch === 'lease' ? 'CloudLinkCut' : ''
      fake.taints = isAlone && vouch === 'lease' ? [CUT] : []
      fake.ready = isAlone && !isKept ? 'Unknown' : 'True'
      if (fake.ready === 'Unknown')
        fake.taints.push(
          { key: UNREACHABLE, effect: 'NoSchedule' },
          { key: UNREACHABLE, effect: 'NoExecute' },
        )
    }
  }
  const later = (): void => void clock.after(2_000, react)
  const set = (name: string, change: Partial<Fake>): void => {
    Object.assign(of(name), change)
    later()
  }
  const stage: Stage = {
    names,
    limits,
    vouch: 'lease',
    sites: grids.sites(later),
    look: async () => ({ ...snapshotOf(nodes, signing), sites: grids.look() }),
    kill: async name => set(name, { state: 'killed' }),
    restart: name => set(name, { state: 'running' }),
    freeze: name => set(name, { state: 'frozen' }),
    thaw: name => set(name, { state: 'running' }),
    cut: name => set(name, { isCut: true }),
    heal: name => set(name, { isCut: false }),
    restartAgents: async how => {
      vouch = how
      later()
    },
    writes: () => written,
    flips: name => flips.filter(each => each === name).length,
    mark: () => {
      written = []
      flips = []
    },
    trouble: () => trouble,
  }
  return { stage, nodes, crash: (what: string) => (trouble = what) }
}

const silentAudience: Audience = {
  scene: () => undefined,
  act: () => undefined,
  claim: () => undefined,
  see: () => undefined,
}

/** Play to the end on a clock that runs by itself. */
const playAll = async (
  scenes: readonly Scene[],
  stage: Stage,
  clock: FakeClock,
  audience = silentAudience,
): Promise<ClaimResult[]> => {
  const results: ClaimResult[] = []
  for (const scene of scenes) {
    const signal = new AbortController().signal
    const ending = { isOver: false }
    const played = play(scene, stage, { clock, audience, signal, lookPeriodMs: 100 }).finally(
      () => {
        ending.isOver = true
      },
    )
    while (!ending.isOver) await clock.advance(100)
    results.push(...(await played))
  }
  return results
}

const failures = (results: readonly ClaimResult[]): string[] =>
  results.filter(result => !result.ok).map(result => `${result.scene}: ${result.claim}`)

t.test('the scenes', async t => {
  for (const count of [3, 5, 10]) {
    const clock = new FakeClock()
    const results = await playAll(SCENES, fakeStage(count, clock).stage, clock)
    t.strictSame(failures(results), [], `a good zone of ${count} shows every claim`)
    t.strictSame(
      new Set(results.map(result => result.scene)),
      new Set(SCENES.map(scene => scene.name)),
    )
  }
  const rows: [why: string, faults: Faults, scene: string, claim: string][] = [
    [
      'a node without keys',
      { isUnsigned: true },
      'healthy',
      'every agent knows the keys of every node',
    ],
    ['two writers', { writes: 2 }, 'dies', 'it was written once, by one writer'],
    [
      'nobody vouches',
      { isVouchingBroken: true },
      'cut-vouched',
      'edge-2 stays Ready and without unreachable taint past the grace time',
    ],
    ['no brake', { isBrakeBroken: true }, 'most-die', 'nothing is written to any Node'],
    [
      'writes behind a cut link',
      { writesWithoutCloud: true },
      'zone-cut',
      'nothing is written to any Node',
    ],
    ['no hold', { isHoldBroken: true }, 'grids', 'the grid says that it is held'],
    [
      'workloads that go with a node',
      { deletesWithNode: true },
      'grids',
      'a dead node takes no workload with it',
    ],
    [
      'traffic that leaves its site',
      { goesEverywhere: true },
      'grids',
      'kube-proxy on edge-1 is sent the endpoints of edge-1, edge-3, edge-4, edge-5: its site',
    ],
  ]
  for (const [why, faults, scene, claim] of rows) {
    const clock = new FakeClock()
    const { stage } = fakeStage(5, clock, faults)
    const results = await playAll(chooseScenes([scene], 'lease'), stage, clock)
    t.strictSame(failures(results), [`${scene}: ${claim}`], why)
  }
})

const step = (given: Partial<Step> & Pick<Step, 'kind'>): Step =>
  ({ claim: given.kind, what: '', act: () => undefined, ...given }) as unknown as Step
const sceneOf = (...steps: readonly Step[]): Scene => ({
  name: 's',
  proves: 'p',
  targets: () => [],
  steps: () => steps,
})

t.test('the runner', async t => {
  const clock = new FakeClock()
  const { stage, crash } = fakeStage(3, clock)
  const heard: string[] = []
  const audience: Audience = {
    scene: scene => heard.push(scene.name),
    act: what => heard.push(`> ${what}`),
    claim: result => heard.push(`${result.claim} ${result.ok ? 'ok' : 'no'} ${result.ms}`),
    see: () => undefined,
  }
  let isTrue = false
  const run = (...steps: readonly Step[]) => playAll([sceneOf(...steps)], stage, clock, audience)
  await run(
    step({
      kind: 'act',
      what: 'push',
      act: () => void clock.after(1_000, () => void (isTrue = true)),
    }),
    step({ kind: 'becomes', claim: 'comes', limitMs: () => 5_000, holds: () => isTrue }),
    step({
      kind: 'stays',
      claim: 'lasts',
      untilMs: () => 0,
      forMs: () => 2_000,
      holds: () => isTrue,
    }),
    step({ kind: 'becomes', claim: 'never', limitMs: () => 9_000, holds: () => false }),
    step({
      kind: 'act',
      what: 'not reached',
      act: () => void t.fail('a scene ends with its first failure'),
    }),
  )
  t.strictSame(heard, ['s', '> push', 'comes ok 1000', 'lasts ok 3000', 'never no 9100'])
  heard.length = 0
  isTrue = true
  await run(
    step({
      kind: 'act',
      what: 'push',
      act: () => void clock.after(700, () => void (isTrue = false)),
    }),
    step({
      kind: 'stays',
      claim: 'breaks',
      untilMs: () => 5_000,
      forMs: () => 0,
      holds: () => isTrue,
    }),
  )
  t.strictSame(heard.slice(2), ['breaks no 700'])
  heard.length = 0
  crash('agent edge-1 ended')
  await run(step({ kind: 'becomes', claim: 'x', limitMs: () => 9_000, holds: () => true }))
  t.strictSame(heard.slice(1), ['x no 0'], 'a crash breaks every claim at once')

  const stop = new AbortController()
  const seams = { clock, audience: silentAudience, signal: stop.signal, lookPeriodMs: 100 }
  const other = fakeStage(3, clock).stage
  const waiting = sceneOf(step({ kind: 'becomes', limitMs: () => Infinity, holds: () => false }))
  const played = play(waiting, other, seams)
  await clock.advance(500)
  stop.abort(new Error('interrupted'))
  await t.rejects(played, { message: 'interrupted' })
  await t.rejects(play(waiting, other, seams), { message: 'interrupted' })
})

t.test('which scenes', async t => {
  const names = (given: readonly string[], vouch: 'lease' | 'off' = 'lease') =>
    chooseScenes(given, vouch).map(scene => scene.name)
  t.strictSame(
    names([]),
    SCENES.map(scene => scene.name),
  )
  t.strictSame(names(['zone-heals', 'returns']), [
    'healthy',
    'dies',
    'returns',
    'zone-cut',
    'zone-heals',
  ])
  t.notOk(names([], 'off').includes('cut-vouched'))
  t.ok(names(['cut-vouched'], 'off').includes('cut-vouched'), 'who asks for it gets it')
})

t.test('the picture', async t => {
  const { nodes } = fakeZone(4)
  Object.assign(nodes.get('edge-2')!, { state: 'killed', isAnnotated: true, ready: 'Unknown' })
  Object.assign(nodes.get('edge-3')!, { isCut: true, taints: [CUT] })
  const snapshot = snapshotOf(nodes)
  const room = { columns: 200, rows: 20 }
  t.strictSame(drawZone(snapshot, room, noColours), [
    'NODE    PROCESS  /LOCALINFO  VERDICT                 VOTES                 CLOUD LINK  READY    WRITER          TAINTS',
    'edge-1  running  3 up        healthy                 4 up 0 down, needs 3  up          True     -               -',
    'edge-2  killed   3 down      unhealthy dead          0 up 3 down, needs 3  -           Unknown  edge-1          nodeunhealth=yes',
    'edge-3  running  3 up        healthy cloud-link-cut  4 up 0 down, needs 3  cut         True     edge-1 vouches  edge-health/cloud-link-cut:NoSchedule',
    'edge-4  running  3 up        healthy                 4 up 0 down, needs 3  up          True     -               -',
  ])
  t.ok(drawZone(snapshot, room, colours)[2]?.startsWith('\u001b[31medge-2'), 'what is dead is red')
  t.ok(
    drawZone(snapshot, { columns: 30, rows: 20 }, noColours).every(line => line.length <= 30),
    'no line is wider than the terminal',
  )
  t.strictSame(
    drawZone(snapshot, { columns: 80, rows: 20 }, noColours).slice(1, 4),
    [
      'edge-1  running  3 up        healthy                 4 up 0 down, needs 3',
      '  cloud link up, ready True',
      'edge-2  killed   3 down      unhealthy dead          0 up 3 down, needs 3',
    ],
    'what has no room stands below',
  )
  const low = drawZone(snapshot, { columns: 80, rows: 5 }, noColours)
  t.ok(low.length <= 5, `${low.length} lines`)
  t.equal(low.at(-1), '… and 3 more')
  const many = fakeZone(50)
  many.nodes.get('edge-44')!.state = 'frozen'
  const few = drawZone(snapshotOf(many.nodes), { columns: 200, rows: 12 }, noColours)
  t.equal(few.length, 3)
  t.match(few[1], /^edge-44 +frozen/, 'when there is no room the quiet ones are counted')
  t.equal(few[2], '… and 49 more')
  t.match(describe(snapshot, ['edge-2'])[0], /edge-2 \(killed\): up in 0 and down in 3 of 3/)
  t.match(describe({ nodes: [] }, ['edge-9'])[0], /edge-9 \(unknown\)/)
  const sites: SitesView = {
    deployments: [{ name: 'web-north', uid: '1', site: 'north' }],
    ...{ topologyKeys: '["site"]', isHeld: true, sent: ['edge-1'] },
  }
  t.equal(
    drawZone({ ...snapshot, sites }, room, noColours).at(-1),
    'grids: web-north, held; kube-proxy is sent edge-1',
  )
  t.equal(
    describe({ ...snapshot, sites }, []).at(-1),
    'grids: web-north (site=north); topologyKeys ["site"]; held; kube-proxy is sent [edge-1]',
  )
  const unknown = {
    nodes: [{ ...snapshot.nodes[0]!, object: undefined, status: undefined, localinfo: undefined }],
  }
  t.match(drawZone(unknown, room, noColours)[1], /edge-1 +starting +- +- +- +- +- +- +-/)
  t.strictSame(
    drawResults(
      [
        { scene: 'dies', claim: 'seen', kind: 'becomes', ok: true, ms: 1_234 },
        { scene: 'dies', claim: 'written once', kind: 'stays', ok: false, ms: 5_000 },
      ],
      noColours,
    ),
    [
      'SCENE  CLAIM         TIME',
      'dies   seen          1.2 s      ok',
      'dies   written once  for 5.0 s  FAILED',
    ],
  )
})

t.test('screens', async t => {
  const clock = new FakeClock()
  let out = ''
  const output = { write: (text: string) => (out += text), columns: 40, rows: 24 }
  const plain = plainScreen(output, clock, noColours)
  await clock.advance(1_500)
  plain.picture(() => {
    throw new Error('nothing is drawn')
  })
  plain.line('hello')
  plain.text('a summary')
  plain.end()
  t.equal(out, '   1.5 s  hello\na summary\n')
  out = ''
  const terminal = terminalScreen(output, clock, noColours)
  terminal.picture(() => ['one', 'two'])
  t.equal(out, 'one\ntwo\n')
  out = ''
  terminal.picture(() => ['one', 'two'])
  t.equal(out, '', 'an equal picture is not drawn again')
  terminal.picture(({ columns, rows }) => [`${columns} ${rows}`])
  t.equal(out, '\u001b[2A\u001b[J40 16\n', 'a new one replaces the old')
  out = ''
  terminal.line('hello')
  t.equal(out, '\u001b[1A\u001b[J   0.0 s  hello\n40 16\n', 'lines go above it')
  terminal.end()
  out = ''
  terminal.line('last')
  t.equal(out, '   0.0 s  last\n', 'at the end it stays')
})

t.test('places', async t => {
  t.strictSame(addressesFrom('127.7.0.11', 2), ['127.7.0.11', '127.7.0.12'])
  for (const bad of ['10.0.0.1', '127.0.0.251', '127.0.0.0', '127.0.300.1', 'x'])
    t.throws(() => addressesFrom(bad, 5), { code: 'INVALID_INPUT' }, bad)
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  t.match(await checkPlaces(['127.0.0.1'], [port]), {
    missing: [],
    taken: [`127.0.0.1:${port} (EADDRINUSE)`],
  })
  t.strictSame(
    (await checkPlaces(['192.0.2.1'], [0])).missing,
    ['192.0.2.1'],
    'an address that this machine does not have',
  )
  t.strictSame(aliasLines(['127.7.0.12']), ['sudo ifconfig lo0 alias 127.7.0.12 up'])
})
