// SPDX-License-Identifier: Apache-2.0
// Spoiled messages against every peer route: nothing crashes, nothing is believed, memory stays bounded. The bulk
// goes to the engine's receive in this process, with a clock that lets the rate limiter pass each message; a part
// goes over sockets to a real agent process, from as many members' addresses as keep below its limits.
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import type { StatusView } from '../../agent/http/status-view.js'
import { Engine } from '../../agent/stages/exchange/engine.js'
import { makeKeyRing } from '../../agent/key-ring.js'
import { encodeResult } from '../../agent/stages/exchange/superedge/result-body.js'
import type { Route } from '../../agent/ports/transport.js'
import { systemClock } from '../../core/clock.js'
import { parseNodeName, parseZoneName } from '../../core/ids.js'
import { makeRoster, type Member } from '../../core/roster.js'
import { makeApiClient } from '../../sandbox/api-client.js'
import { startApi } from '../../sandbox/api/server.js'
import { NODES } from '../../sandbox/node-object.js'
import { createZoneObjects, kubeconfigText, ZONE_LABEL } from '../../sandbox/zone-objects.js'
import { AGENT_FLAGS } from '../../sandbox/image.js'
import { buildBundle, eventually, startBundle } from '../../testkit/bundle.js'
import { exchangeOptions, ExchangeZone } from '../../testkit/zone/exchange-zone.js'
import { FakeClock } from '../../testkit/fake-clock.js'
import { get } from './process-zone.js'
import { fuzzRoute, sendRaw, spoil } from '../../testkit/http/raw-http.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { seededRandom } from '../../testkit/seeded-random.js'
import { shareOf } from '../../testkit/share.js'

t.setTimeout(240_000)

const BULK = shareOf(t, 100_000, 5_000, 'bodies')
/** Over the sockets, per route; the whole 10⁵ takes some minutes. */
const SOCKET = Number(process.env['FUZZ_BODIES'] ?? shareOf(t, 3_000, 1_000, 'bodies over sockets'))
const ROUTES: readonly Route[] = ['gossip', 'vote', 'result']
const PATHS: Readonly<Record<Route, readonly [method: string, path: string]>> = {
  gossip: ['POST', '/v1/gossip'],
  vote: ['POST', '/v1/vote'],
  result: ['PUT', '/result'],
}

const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Results of both dialects, rightly formed, signed with keys that are not the zone's. */
const foreignResults = (addresses: readonly string[]): readonly Buffer[] => {
  const isUp = new Map(addresses.map((address, i) => [address, i % 2 === 0]))
  return ['another-key-0123456789', 'hSZbJsKAVmWTxRPi'].flatMap(text => {
    const { key } = makeKeyRing(text, undefined, { allowDefaultKey: true }).primary
    return addresses.flatMap(from => [
      encodeResult(from, isUp, 'v0.6', key),
      encodeResult(from, isUp, 'v0.9', key),
    ])
  })
}

const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((all, count) => all + count, 0)

t.test(`${BULK} spoiled bodies for each route, in this process`, async t => {
  const zone = new ExchangeZone(5, 7).startAll({ o: { superedgePeers: 'on' } })
  const { engine } = zone.agents[0]!
  const captured: Record<Route, Uint8Array[]> = { gossip: [], vote: [], result: [] }
  const receive = engine.receive.bind(engine)
  engine.receive = (route, body, from) => {
    captured[route].push(Uint8Array.from(body))
    return receive(route, body, from)
  }
  await zone.clock.advance(60_000)
  for (const voter of [1, 2, 3]) zone.agents[voter]!.vote(4, true)
  await zone.clock.advance(20_000)
  engine.receive = receive
  for (const agent of zone.agents) agent.kill()
  await zone.clock.advance(5_000)
  t.ok(captured.gossip.length > 10 && captured.vote.length > 0, 'true messages to begin with')
  captured.result.push(...foreignResults(zone.members.map(({ address }) => address)))

  const { table } = engine
  const known = (): string =>
    JSON.stringify(
      [table.hb, table.producedAt, table.flags, table.bits, table.downVotes].map(String),
    )
  const before = known()
  const evidenceBefore = zone.agents[0]!.evidence
  const rssBefore = process.memoryUsage.rss()
  const random = seededRandom(20261121)
  for (const route of ROUTES) {
    const refusedBefore = { ...engine.status().refusals }
    for (let i = 0; i < BULK; i++) {
      // Five members in turn: each sends 20 messages in a second, which is what the limiter grants.
      if (i % 100 === 0) await zone.clock.advance(1_000)
      receive(route, spoil(random, captured[route]), zone.members[i % 5]!.address)
    }
    const refusals = engine.status().refusals as Record<string, number>
    const by = Object.fromEntries(
      Object.entries(refusals)
        .map(
          ([why, count]) => [why, count - ((refusedBefore as typeof refusals)[why] ?? 0)] as const,
        )
        .filter(([, count]) => count > 0),
    )
    t.equal(sum(by), BULK, `${route}: every one is refused`)
    t.equal(by['too-fast'] ?? 0, 0, `${route}: by the parser, not by the limiter`)
    t.ok((by['bad-signature'] ?? 0) > BULK / 20, `${route}: many get as far as the signature`)
    t.comment(`${route}: ${JSON.stringify(by)}`)
  }
  t.equal(known(), before, 'no record has changed')
  t.equal(zone.agents[0]!.evidence, evidenceBefore, 'nobody was told of news')
  const grown = process.memoryUsage.rss() - rssBefore
  t.ok(grown < 100 * 2 ** 20, `RSS grew by ${mib(grown)}`)
})

const GHOSTS = 60
const KEY = 'a key of this test, long enough'

/** The counters of the exchange, by the agent's own /metrics. */
const exchangeOf = async (
  url: string,
): Promise<{ readonly received: number; readonly refused: Readonly<Record<string, number>> }> => {
  const text = (await get(`${url}/metrics`))?.text ?? ''
  const received = /exchange_messages_total\{result="received"\} (\d+)/.exec(text)?.[1]
  const refused = [...text.matchAll(/exchange_refused_total\{reason="([^"]+)"\} (\d+)/g)]
  return {
    received: Number(received),
    refused: Object.fromEntries(
      refused.map(([, why = '', count]) => [why, Number(count)] as const),
    ),
  }
}

/** True messages of the other members to the agent, sealed with the zone's key. */
const trueMessages = async (members: readonly Member[]): Promise<Record<Route, Uint8Array[]>> => {
  const captured: Record<Route, Uint8Array[]> = { gossip: [], vote: [], result: [] }
  const clock = new FakeClock()
  for (const self of members.slice(1, 6)) {
    const engine = new Engine(
      { ...exchangeOptions, clusterId: '' },
      {
        roster: makeRoster(parseZoneName('fuzz'), self.name, members),
        keys: makeKeyRing(KEY),
        savedHeartbeat: undefined,
      },
      {
        transport: {
          send: (_, route, body) => {
            captured[route].push(Uint8Array.from(body))
            return Promise.reject(new Error('captured'))
          },
          close: () => undefined,
        },
        clock,
        random: seededRandom(captured.gossip.length + 1),
        log: recordingLog(),
        onEvidence: () => undefined,
        onSuspect: () => undefined,
        onSuspended: () => undefined,
        saveHeartbeat: () => undefined,
        saveEpoch: () => undefined,
        onUnknownIdentity: () => undefined,
        localUp: () => true,
      },
    )
    engine.start()
    engine.setOwnVote(0, 'down', 2)
    engine.suspect(1)
    await clock.advance(30_000)
    await engine.stop()
  }
  captured.result.push(...foreignResults(members.slice(0, 6).map(({ address }) => address)))
  return captured
}

const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024

t.test(`${SOCKET} spoiled bodies for each route, over sockets to an agent process`, async t => {
  const script = buildBundle(t)
  const seams = { clock: systemClock, log: recordingLog() }
  const api = await startApi({ host: '127.0.0.1', port: 0, ...seams })
  const admin = makeApiClient({ server: api.url, token: api.addClient('admin') }, systemClock)
  const { signal } = new AbortController()
  t.teardown(() => {
    admin.close()
    return api.stop()
  })
  const members: readonly Member[] = Array.from({ length: GHOSTS + 1 }, (_, i) => ({
    name: parseNodeName(`n${i}`),
    address: `127.36.0.${i + 1}`,
  }))
  await createZoneObjects(admin, KEY, signal)
  for (const { name, address } of members) {
    const metadata = { name, labels: { [ZONE_LABEL]: 'fuzz' } }
    await admin.post(NODES, { apiVersion: 'v1', kind: 'Node', metadata, spec: {} }, signal)
    const status = { addresses: [{ type: 'InternalIP', address }] }
    await admin.patch(`${NODES}/${name}/status`, 'strategic-merge', { status }, signal)
  }
  const folder = t.testdir()
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'n0', api.addClient('agent:n0')))
  const host = '127.36.0.1'
  const url = `http://${host}:51006`
  const args = [
    'agent',
    '--node-name=n0',
    `--node-address=${host}`,
    `--local-address=${host}`,
    '--local-port=51006',
    `--kubeconfig=${kubeconfig}`,
    `--state-dir=${join(folder, 'state')}`,
    '--superedge-peers=on',
    '--log-level=error',
  ]
  const agent = startBundle(t, [...AGENT_FLAGS, script], args)
  const statusNow = async (): Promise<StatusView['nodes']> =>
    (JSON.parse((await get(`${url}/status`))?.text ?? '{"nodes":[]}') as StatusView).nodes
  const believed = async (): Promise<unknown> =>
    (await statusNow())
      .filter(({ isSelf }) => !isSelf)
      .map(({ name, verdict, local, votes, cloudCutSince, kubelet }) => ({
        // The agent's own look at it counts at most once, and on a busy machine it may not come about.
        ...{ name, verdict, local, cloudCutSince, kubelet },
        ...{ up: votes.up, isOwnVoteAlone: votes.down <= 1 },
      }))
  // Nobody but this agent lives: it probes the others, in vain, and decides nothing.
  await eventually('it has probed everybody', 240_000, async () => {
    const nodes = await statusNow()
    return nodes.length > GHOSTS && nodes.every(node => node.isSelf || node.local === 'down')
  })
  const before = await believed()
  const samples = await trueMessages(members)
  t.ok(samples.gossip.length >= 5 && samples.vote.length >= 5, 'true messages to begin with')
  const first = await exchangeOf(url)
  t.equal(first.received, 0)
  const rssBefore = rssOf(agent.pid)

  const statuses = new Map<number, number>()
  await Promise.all(
    members.slice(1).map(async ({ address }, i) => {
      const route = ROUTES[i % ROUTES.length]!
      const [method, path] = PATHS[route]
      const target = { port: 51005, path, method, host, localAddress: address, periodMs: 51 }
      const count = Math.ceil(SOCKET / (GHOSTS / ROUTES.length))
      const found = await fuzzRoute(target, count, seededRandom(1_000 + i), samples[route])
      for (const [status, times] of found) statuses.set(status, (statuses.get(status) ?? 0) + times)
    }),
  )
  const after = await exchangeOf(url)
  const total = [...statuses.values()].reduce((all, times) => all + times, 0)
  t.ok(total >= 3 * SOCKET, `${total} bodies were answered`)
  t.equal(statuses.get(0) ?? 0, 0, 'no connection was cut')
  t.equal(statuses.get(500) ?? 0, 0, 'none was an internal error')
  t.comment(`statuses ${JSON.stringify([...statuses])}; refused ${JSON.stringify(after.refused)}`)
  const tooLarge = statuses.get(413) ?? 0
  // A body that a busy machine brought after the listener's time limit never reached the exchange.
  const tooLate = statuses.get(408) ?? 0
  t.equal(
    after.received,
    total - tooLarge - tooLate + (after.refused['too-large'] ?? 0),
    `all were read; statuses ${JSON.stringify([...statuses])}`,
  )
  t.equal(sum(after.refused), after.received, 'zero accepted: as many refusals as messages')
  t.ok((after.refused['too-fast'] ?? 0) < total / 50, 'the limiter took next to none of them')

  const at = { host, port: 51005 }
  const head = (method: string, path: string, more: string): string =>
    `${method} ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${more}\r\n\r\n`
  const rows: [why: string, more: (path: string) => string, answer: RegExp][] = [
    [
      'chunked',
      path => head('POST', path, 'Transfer-Encoding: chunked') + '1\r\na\r\n0\r\n\r\n',
      / 411 /,
    ],
    ['far too long', path => head('POST', path, 'Content-Length: 99999999999'), / 413 /],
    ['no number', path => head('POST', path, 'Content-Length: 1e3'), / 400 /],
    [
      'two lengths',
      path => head('POST', path, 'Content-Length: 1\r\nContent-Length: 2') + 'ab',
      / 400 /,
    ],
    ['no HTTP', () => `${'\0'.repeat(64)}\r\n\r\n`, / 400 /],
    ['a head without end', () => `POST /v1/gossip HTTP/1.1\r\nX: ${'y'.repeat(20_000)}`, / 431 /],
  ]
  for (const [why, text, answer] of rows)
    for (const [, path] of Object.values(PATHS))
      t.match(await sendRaw(at, text(path)), answer, `${path}: ${why}`)
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
    for (const [, path] of [PATHS.gossip, PATHS.vote])
      t.match(
        await sendRaw(at, head(method, path, 'Content-Length: 0')),
        / 404 /,
        `${method} ${path}`,
      )
  // Bodies that never come: the sockets are closed by us, by the dozen.
  await Promise.all(
    Array.from(
      { length: 200 },
      (_, i) =>
        new Promise<void>(resolve => {
          const [method, path] = PATHS[ROUTES[i % 3]!]
          const socket = connect(51005, host, () => {
            socket.write(`${method} ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\nabc`)
            setTimeout(() => socket.destroy(), 20)
          })
          socket.on('error', () => undefined)
          socket.on('close', () => resolve())
        }),
    ),
  )

  t.strictSame(await believed(), before, 'verdicts and votes are as before')
  const nodes = await statusNow()
  t.ok(
    nodes.every(
      node =>
        node.isSelf || (node.recordAgeSeconds === null && node.peer?.lastHeardSeconds === null),
    ),
    'nobody was ever heard',
  )
  const rssAfter = rssOf(agent.pid)
  t.ok(rssAfter < rssBefore + 60 * 2 ** 20, `RSS ${mib(rssBefore)} before, ${mib(rssAfter)} after`)
  agent.kill('SIGTERM')
  const { code, err } = await agent.ended
  t.equal(code, 0, 'it lives, and ends well')
  t.equal(err, '', 'no complaint')
})
