// SPDX-License-Identifier: Apache-2.0
import { createServer } from 'node:http'
import t, { type Test } from 'tap'
import { explainText } from '../../agent/text/explain-text.js'
import { equivocationText } from '../../agent/text/identity-words.js'
import { statusText } from '../../agent/text/status-text.js'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import type {
  ExplainView,
  NodeDetail,
  NodeIdentity,
  StatusView,
} from '../../agent/http/status-view.js'
import { systemClock } from '../../core/clock.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { runCli as run } from '../../testkit/run-cli.js'
import {
  FakeViews,
  nodeFixture,
  statusFixture,
  zoneFixture,
} from '../../testkit/zone/status-fixture.js'

const ESCAPE = '\u001b'

const serve = async (t: Test): Promise<{ views: FakeViews; url: string }> => {
  const views = new FakeViews()
  const seams = { clock: systemClock, log: recordingLog() }
  const listener = await openListener(
    makeLocalApp({
      views,
      localinfoTime: 'zero',
      metricsNodes: 'all',
      namespace: 'edge-system',
      ...seams,
    }),
  )
  t.teardown(() => listener.close())
  return { views, url: `http://127.0.0.1:${listener.port}` }
}

const deadNode = nodeFixture(2, {
  verdict: 'unhealthy',
  class: 'dead',
  since: '2026-01-01T09:59:37.000Z',
  local: 'down',
  votes: { down: 3, up: 0, notLooked: 0, needed: 3 },
  probe: {
    vote: 'down',
    score: 0,
    scoreLine: 100,
    failedRounds: 6,
    loss: 0.05,
    roundTripSeconds: null,
    lastRoundSeconds: 1,
    reason: 'connect ECONNREFUSED 10.0.0.2:10250',
    heldSeconds: 0,
  },
  recordAgeSeconds: 31,
  kubelet: 'unknown',
  peer: {
    state: 'silent',
    dialect: 'edge-health',
    lastHeardSeconds: 31,
    trouble: 'connect ETIMEDOUT',
    isSigned: false,
    keySet: '1a2b3c4d',
    isKeyRefused: false,
  },
  vouch: { state: 'idle', since: null, by: null, reason: 'the node is condemned' },
  lastWrite: {
    at: '2026-01-01T09:59:48.000Z',
    by: 'node-3',
    what: 'annotation nodeunhealth=yes',
    result: 'done',
  },
})

const cutNode = nodeFixture(3, {
  class: 'cloud-link-cut',
  since: '2026-01-01T09:55:00.000Z',
  cloudCutSince: '2026-01-01T09:54:30.000Z',
  vouch: {
    state: 'active',
    since: '2026-01-01T09:55:10.000Z',
    by: 'node-1',
    reason: 'peers reach it and its kubelet is well',
  },
  nextWrite: { what: 'renew its Lease', by: 'node-1', ownRank: 0, inSeconds: 4 },
})

const heldNode = nodeFixture(4, {
  verdict: 'healthy',
  pending: 'unhealthy',
  pendingSince: '2026-01-01T09:59:20.000Z',
  local: 'down',
  votes: { down: 3, up: 0, notLooked: 0, needed: 3 },
  guards: [{ kind: 'brake', text: '3 nodes look dead, at most 2 may be condemned' }],
  recordAgeSeconds: 45,
  kubelet: 'unknown',
  nextWrite: { what: 'annotation nodeunhealth=yes', by: 'node-5', ownRank: 1, inSeconds: null },
})

const portless = {
  kubelet: 'unknown',
  kubeletReason: 'connection refused, and it never answered (healthzPort: 0?)',
} as const

const brakeOn = { isOn: true, unhealthy: 3, limit: 2 }
const plain = (_colour: string, text: string): string => text

const voter = (
  number: number,
  change: Partial<NodeDetail['voters'][0]> = {},
): NodeDetail['voters'][0] => ({
  name: `node-${number}`,
  says: 'down',
  ageSeconds: number,
  counts: true,
  why: null,
  ...change,
})

t.test('status for people', t => {
  const view = statusFixture(
    { 2: deadNode, 3: cutNode, 4: heldNode },
    {
      brake: brakeOn,
      disruption: 'partial',
      roster: { source: 'disk', ageSeconds: 400, trouble: null },
    },
  )
  t.equal(
    statusText(view, plain),
    `zone shanghai: 5 nodes (zone label), seen from node-1, cloud link up for 52 min
1 dead · 1 pending dead · 1 cut · 2 healthy; disruption partial
the account of the agents is confined (checked 51 min ago)
! the brake holds: 3 of 5 nodes look dead, at most 2 may be condemned at one time
! the roster comes from disk and is 7 min old

NODE    CLASS           FOR     HERE  PROBE  DOWN/UP/NEED  RECORD  NOTE
node-2  dead            23 s    down  down   3/0/3         31 s    connect ECONNREFUSED 10.0.0.2:10250; written by node-3 12 s ago
node-4  healthy         52 min  down  up     3/0/3         45 s    pending dead: held by brake
node-3  cloud-link-cut  5 min   up    up     0/4/3         2 s     vouched for by node-1
node-1  healthy         52 min  up    self   0/4/3         0 s
node-5  healthy         52 min  up    up     0/4/3         2 s
`,
  )
  t.notOk(
    statusText(statusFixture({ 2: { name: 'a\u001b[31mb' } }), plain).includes(ESCAPE),
    'nothing from outside steers the terminal',
  )
  const rotating = { state: 'rotating', trouble: null, set: '1a2b3c4d', sharedBy: 2 } as const
  t.match(
    statusText({ ...statusFixture(), keys: rotating }, plain),
    /\n! key set 1a2b3c4d is shared by 2 of \d+ members\n/,
  )
  t.match(
    statusText(statusFixture({ 1: portless }), plain),
    /\nnode-1 .* kubelet unknown: connection refused, and it never answered \(healthzPort: 0\?\)\n/,
    'FA18: why nothing is said of the own kubelet',
  )
  const held = { guards: [{ kind: 'hold', text: 'waits another 3 s of --write-hold' }] } as const
  t.match(
    statusText(statusFixture({ 4: { ...heldNode, ...held } }), plain),
    /\n1 pending dead · 4 healthy; [^]* pending dead: waits for --write-hold\n/,
    'the counts agree with exit code 1',
  )
  const unknown = { name: '', members: 0, rule: '', trouble: null }
  t.match(
    statusText({ ...statusFixture({}, { zone: unknown }), nodes: [] }, plain),
    /\nno nodes; disruption normal\n[^\n]*\n$/,
  )
  t.end()
})

const signing = { peer: { ...nodeFixture(2).peer!, isSigned: true } }
const prefer = { mode: 'prefer', generation: 1, members: 3, trouble: null } as const

t.test('status says who has an identity', t => {
  const change = { 2: signing, 3: signing }
  const said = (
    identity: StatusView['identity'],
    changes: Parameters<typeof statusFixture>[0] = change,
  ): readonly string[] =>
    statusText(statusFixture(changes, { identity }), plain).split('\n\n')[0]!.split('\n').slice(3)
  t.strictSame(said({ ...prefer, mode: 'off' }), [])
  t.strictSame(said(prefer), [
    'identities of 3 of 5 members are known (--identity=prefer); not of node-4, node-5',
  ])
  t.strictSame(said({ ...prefer, mode: 'require' }), [
    'identities of 3 of 5 members are known (--identity=require)',
    '! members without a known identity do not count: node-4, node-5',
  ])
  const all = { ...change, 4: signing, 5: signing }
  t.strictSame(said({ ...prefer, mode: 'require', members: 5 }, all), [
    'identities of 5 of 5 members are known (--identity=require)',
  ])
  const unpublished = { generation: null, members: 0, trouble: null }
  t.strictSame(said({ ...unpublished, mode: 'prefer' }, {}), [
    "! the identity of this node is not published yet, and until then it signs with the zone's key alone",
  ])
  t.strictSame(said({ ...unpublished, mode: 'require' }, {}), [
    '! the identity of this node is not published yet, and until then it exchanges no votes',
  ])
  t.strictSame(said({ ...unpublished, mode: 'prefer', trouble: '403 Forbidden' }, {}), [
    "! the identity of this node is not published yet (403 Forbidden), and until then it signs with the zone's key alone",
  ])
  t.end()
})

t.test('status says whether the account is confined', t => {
  const said = (confinement: StatusView['confinement']): string =>
    statusText(statusFixture({}, { confinement }), plain).split('\n')[2]!
  const at = '2026-01-01T09:50:00.000Z'
  t.equal(
    said({ state: 'yes', reason: 'policies refuse', at }),
    'the account of the agents is confined (checked 10 min ago)',
  )
  t.equal(
    said({ state: 'no', reason: 'no policy in force refuses it', at }),
    '! the account of the agents is not confined: no policy in force refuses it',
  )
  t.equal(
    said({ state: 'unknown', reason: 'not asked yet', at: null }),
    'it is unknown whether the account of the agents is confined: not asked yet',
  )
  t.equal(
    said({ state: 'unknown', reason: 'could not be found out: 429', at }),
    'it is unknown whether the account of the agents is confined (checked 10 min ago): could not be found out: 429',
  )
  t.end()
})

const explained = (node: NodeDetail, zone: Partial<ExplainView> = {}): string =>
  explainText({ ...zoneFixture(zone), node }, plain)

t.test('explain: a dead node', t => {
  const voters = [
    voter(1),
    voter(3),
    voter(4),
    voter(5, { says: 'up', ageSeconds: 95, counts: false, why: 'too old' }),
  ]
  t.equal(
    explained({ ...deadNode, voters }),
    `node-2 (10.0.0.2) is dead: a majority of its peers cannot reach it (3 down, 0 up, 3 needed).

verdict      unhealthy, class dead, since 2026-01-01T09:59:37.000Z (23 s ago)
here         down: services on this node avoid it (/localinfo of node-1)
guards       none holds
own probes   down, score 0 (line 100), last round 1 s ago, 6 failed in a row: connect ECONNREFUSED 10.0.0.2:10250, loss 5 %
own record   it said 31 s ago: kubelet unknown, no trouble with its cloud link
exchange     silent, speaks edge-health, last heard 31 s ago: connect ETIMEDOUT
written      annotation nodeunhealth=yes, by node-3 12 s ago: done
next write   nothing
vouching     not needed: the node is condemned

votes: 3 down and 0 up count; 3 of 5 members decide
  VOTER   SAYS  AGE   COUNTS
  node-1  down  1 s   yes
  node-3  down  3 s   yes
  node-4  down  4 s   yes
  node-5  up    95 s  no: too old
`,
  )
  t.end()
})

t.test('explain: a node whose cloud link is cut', t => {
  const text = explained({
    ...cutNode,
    voters: [1, 2, 4, 5].map(number => voter(number, { says: 'up' })),
  })
  t.equal(
    text.split('\n\nvotes')[0],
    `node-3 (10.0.0.3) is alive: only its own link to the cloud is cut, for 6 min by its own word; its peers vouch for it.

verdict      healthy, class cloud-link-cut, since 2026-01-01T09:55:00.000Z (5 min ago)
here         up: services on this node use it (/localinfo of node-1)
guards       none holds
own probes   up, score 100 (line 100), last round 4 s ago, loss 5 %
own record   it said 2 s ago: kubelet well, cloud link cut since 2026-01-01T09:54:30.000Z (6 min ago)
exchange     ok, speaks edge-health, last heard 2 s ago
written      nothing by this agent since it started
next write   renew its Lease, by node-1 in 4 s (this agent is number 1 in the order of writers)
vouching     by node-1, since 2026-01-01T09:55:10.000Z (5 min ago): peers reach it and its kubelet is well`,
  )
  t.end()
})

t.test('explain: a node that the brake holds', t => {
  const text = explained({ ...heldNode, voters: [] }, { brake: brakeOn })
  t.equal(
    text.split('\n').slice(0, 6).join('\n'),
    `node-4 (10.0.0.4) looks dead (3 down, 0 up, 3 needed), but the brake holds: 3 of 5 nodes look dead, at most 2 may be condemned at one time; nothing is written about any of them.

verdict      healthy, class healthy, since 2026-01-01T09:08:00.000Z (52 min ago)
             pending unhealthy, since 2026-01-01T09:59:20.000Z (40 s ago)
here         down: services on this node avoid it (/localinfo of node-1)
guards       brake: 3 nodes look dead, at most 2 may be condemned`,
  )
  t.match(
    text,
    /next write {3}annotation nodeunhealth=yes, by node-5 once no guard holds \(this agent is number 2/,
  )
  t.match(text, /nobody votes on it\n$/)
  t.end()
})

t.test('explain: whether a node is believed without its own signature', t => {
  const line = (identity: ExplainView['identity'], change = {}): string => {
    const text = explained({ ...nodeFixture(2), ...change, voters: [] }, { identity })
    return /^exchange +(.*)$/m.exec(text)![1]!
  }
  const known = 'ok, speaks edge-health, believed only when it signs, last heard 2 s ago'
  const required = { ...prefer, mode: 'require' } as const
  t.equal(line({ ...prefer, mode: 'off' }), 'ok, speaks edge-health, last heard 2 s ago')
  t.equal(line({ ...prefer, generation: null }), 'ok, speaks edge-health, last heard 2 s ago')
  t.equal(line(prefer, signing), known)
  t.equal(line(required, signing), known)
  t.match(line(prefer), /edge-health, does not sign, last heard/)
  t.match(line(required), /does not sign, so its votes do not count, last heard/)
  t.end()
})

t.test('explain: every class has a first line that says it', t => {
  const first = (change: Partial<NodeDetail>): string =>
    explained({ ...nodeFixture(2), voters: [], ...change }).split('\n')[0]!
  t.match(first({}), /is healthy \(0 down, 4 up/)
  t.match(
    first({ class: 'undecided', verdict: 'undecided' }),
    /is undecided: neither side has a majority/,
  )
  t.match(
    first({ class: 'zone-link-cut' }),
    /is alive: the link between the whole zone and the cloud is cut/,
  )
  t.match(first({ class: 'kubelet-sick', verdict: 'unhealthy' }), /its kubelet does not work/)
  t.match(
    first({
      pending: 'unhealthy',
      guards: [
        { kind: 'hold', text: '' },
        { kind: 'no-quorum', text: '' },
      ],
    }),
    /looks dead .*, but that is not final yet; what holds it: --write-hold, no-quorum\.$/,
  )
  t.match(explained({ ...nodeFixture(1), voters: [] }), /own probes {3}this is the own node/)
  const known = explained({ ...nodeFixture(2), voters: [], keyFingerprint: '0123456789abcdef' })
  t.match(known, /^keys {9}fingerprint 0123456789abcdef$/m)
  t.notMatch(explained({ ...nodeFixture(2), voters: [] }), /fingerprint/)
  const earlier: Partial<NodeDetail> = { ...nodeFixture(2), voters: [] }
  delete (earlier as { keyFingerprint?: unknown }).keyFingerprint
  delete (earlier as { identity?: unknown }).identity
  t.notMatch(explained(earlier as NodeDetail), /fingerprint|identity/, 'of an earlier version')
  const equivocated: NodeIdentity = {
    ...{ state: 'signed', counts: true, signedSeconds: 3.21, equivocations: 2 },
    ...{ silentSeconds: null, changeAfterSeconds: null },
  }
  const keys = { voters: [], keyFingerprint: '3f2a456789abcdef', identity: equivocated }
  const twice = explained({ ...nodeFixture(2), ...keys })
  t.match(twice, /^identity {5}signed by identity 3f2a…, made 3\.2 s ago$/m)
  t.match(twice, /^ {13}signed different statements for one time \(2\): its keys are on two/m)
  const trouble = equivocationText(2)
  const peer = { ...nodeFixture(2).peer!, trouble }
  const once = explained({ ...nodeFixture(2), ...keys, peer })
  t.equal(once.split(trouble).length, 2, 'it is said once')
  t.match(
    explained({ ...nodeFixture(1, portless), voters: [] }),
    /kubelet unknown \(connection refused, and it never answered \(healthzPort: 0\?\)\), no trouble/,
    'FA18: and why nothing is said of its kubelet',
  )
  t.end()
})

t.test('status and explain against an agent: texts, JSON and exit codes', async t => {
  const { views, url } = await serve(t)
  const more = { env: { EDGE_HEALTH_AGENT: url } }
  t.match(await run(['status'], more), { code: 0, err: '', out: /^zone shanghai: 5 nodes/ })
  views.view = statusFixture({ 2: deadNode })
  views.details = [
    { ...deadNode, voters: [] },
    { ...nodeFixture(3), voters: [] },
  ]
  t.match(await run(['status', '--agent', url]), { code: 1, out: /node-2 {2}dead/ })
  const json = await run(['status', '-o', 'json'], more)
  t.equal(json.code, 1)
  t.strictSame(JSON.parse(json.out), views.view)
  t.match(await run(['explain', 'node-2'], more), { code: 1, out: /^node-2 \(10.0.0.2\) is dead/ })
  t.match(await run(['explain', 'node-3'], more), { code: 0 })
  t.match(JSON.parse((await run(['explain', 'node-3', '-o', 'json'], more)).out), {
    node: { name: 'node-3' },
  })
  t.strictSame(await run(['explain', 'nod-2'], more), {
    code: 2,
    out: '',
    err: 'edge-health: NODE must be one of the 5 nodes of zone "shanghai" (did you mean node-2?), got "nod-2"\n',
  })
  const coloured = await run(['status'], { ...more, isTTY: true })
  t.match(coloured.out, `${ESCAPE}[31mdead`)
  const without = await run(['status'], { env: { ...more.env, NO_COLOR: '1' }, isTTY: true })
  t.notOk(without.out.includes(ESCAPE))
  views.view = statusFixture({ 4: heldNode })
  t.equal((await run(['status'], more)).code, 1, 'a node that the brake holds is dead too')
})

t.test('status --watch shows each change until the signal', async t => {
  const { views, url } = await serve(t)
  const stop = new AbortController()
  let shown = 0
  const { code, out } = await run(['status', '--watch', '--agent', url], {
    signal: stop.signal,
    onOut: all => {
      const views_ = all.split('zone shanghai').length - 1
      if (views_ === shown) return
      shown = views_
      if (shown === 1) {
        views.view = statusFixture({ 2: deadNode })
        views.changed()
      } else if (all.includes('dead  ')) stop.abort()
    },
  })
  t.equal(code, 1)
  t.match(out, /3 healthy|5 healthy/)
  t.match(out, /node-2 {2}dead/)
  t.notOk(out.includes(ESCAPE), 'no screen control where there is no terminal')
})

t.test('status --watch on a terminal leaves what it showed before as it was', async t => {
  const { url } = await serve(t)
  const stop = new AbortController()
  const { out } = await run(['status', '--watch', '--agent', url], {
    ...{ isTTY: true, signal: stop.signal },
    onOut: all => all.includes('node-5') && stop.abort(),
  })
  t.ok(out.startsWith(`${ESCAPE}[?1049h`), 'it has a screen of its own')
  t.notOk(out.includes(`${ESCAPE}[3J`), 'and clears no scrollback')
  const [, after = ''] = out.split(`${ESCAPE}[?1049l`)
  t.match(after, /^zone shanghai: 5 nodes/, 'the last view stays, below what was there')
})

t.test('an agent that cannot be reached is exit 3 and says how to look', async t => {
  const closed = createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => closed.once('listening', resolve))
  const { port } = closed.address() as { port: number }
  await new Promise(resolve => closed.close(resolve))
  for (const argv of [['status'], ['status', '--watch'], ['explain', 'a']]) {
    const { code, err } = await run([...argv, '--agent', `http://127.0.0.1:${port}`])
    t.equal(code, 3)
    t.match(err, `edge-health: no agent answers at http://127.0.0.1:${port}: connect ECONNREFUSED`)
    t.match(err, /kubectl -n edge-system get pods/)
  }
  const other = createServer((_request, response) => response.end('{"hello":1}')).listen(
    0,
    '127.0.0.1',
  )
  await new Promise(resolve => other.once('listening', resolve))
  t.teardown(() => other.close())
  const { port: wrong } = other.address() as { port: number }
  t.match(await run(['status', '--agent', `http://127.0.0.1:${wrong}`]), {
    code: 3,
    err: /what answers is not an agent of this version/,
  })
})
