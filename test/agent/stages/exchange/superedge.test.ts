// SPDX-License-Identifier: Apache-2.0
import { createHmac, createSecretKey } from 'node:crypto'
import t from 'tap'
import { goDecode, goString } from '../../../../agent/stages/exchange/superedge/go-json.js'
import { makeKeyRing } from '../../../../agent/key-ring.js'
import {
  answerTo,
  encodeResult,
  openResult,
  resultHmac,
} from '../../../../agent/stages/exchange/superedge/result-body.js'
import type { Answer } from '../../../../agent/ports/transport.js'
import {
  ExchangeZone,
  KEY_A,
  memberAt,
  type TestAgent,
} from '../../../../testkit/zone/exchange-zone.js'

type Dialect = 'v0.6' | 'v0.9'

/** As captured from running agents. */
const WIRE_KEY = 'peer-test-key-0123456789'
const CAPTURED = {
  'v0.6':
    '{"SourceIP":"10.123.0.12","ResultDetail":{"10.123.0.11":{"Normal":true,"Hamc":"","Time":"0001-01-01T00:00:00Z"},"10.123.0.12":{"Normal":true,"Hamc":"","Time":"0001-01-01T00:00:00Z"},"10.123.0.13":{"Normal":true,"Hamc":"","Time":"0001-01-01T00:00:00Z"}},"Hmac":"4a64d065d2fd05456f675c5f01c0e4efdee9d8bada9b57e483bb88dd458d398c"}',
  'v0.9':
    '{"sourceIP":"10.123.0.11","resultDetail":{"10.123.0.11":{"normal":true},"10.123.0.12":{"normal":true},"10.123.0.13":{"normal":true}},"hmac":"5c81dafb8d477bd46e8c2498d9624a417b2a8aca14691db84bca775d3f51655b"}',
} as const
const ring = makeKeyRing(WIRE_KEY)
const keyOf = (text: string) => createSecretKey(Buffer.from(text))
const openText = (text: string, otherwise: Dialect = 'v0.9') =>
  openResult(Buffer.from(text), ring, otherwise)

t.test('HMAC vectors of the specification', t => {
  const key = 'hSZbJsKAVmWTxRPi'
  const vectors: [string, string, string][] = [
    [
      key,
      '"10.0.0.1"{"10.0.0.1":{"normal":true},"10.0.0.2":{}}',
      'cb4d9bf1346b9a970f5d01d3e56611cb754a250abb564fb0777c8788318e6fa6',
    ],
    [
      key,
      '"10.0.0.1"{"10.0.0.10":{"normal":true},"10.0.0.2":{"normal":true}}',
      '04784b092a56fe0f28c1705186467a23cc78607c48edfcdaeb465a5920d20310',
    ],
    [
      key,
      '"10.0.0.1"{"10.0.0.1":{"Normal":true,"Hamc":"","Time":"0001-01-01T00:00:00Z"},"10.0.0.2":{"Normal":false,"Hamc":"","Time":"0001-01-01T00:00:00Z"}}',
      '79cf24a1eb8bc91a2600b52a518a565c7ec6716849ca3a4eecaf10ea92ac6bc2',
    ],
    ['12345', 'abcde', 'f8f78e4c506669fdd116876d08adf809ed7c33585078dcfd4e6fe863b7ea966a'],
    ['passkey', 'helloworld', 'b33350ac6988d60bf85739f71f73df3b2252a20ee650d271e34ca5799b8a5334'],
  ]
  for (const [secret, message, want] of vectors) t.equal(resultHmac(keyOf(secret), message), want)
  const up = (two: boolean) =>
    new Map([
      ['10.0.0.2', two],
      ['10.0.0.1', true],
    ])
  t.match(encodeResult('10.0.0.1', up(false), 'v0.9', keyOf(key)).toString(), vectors[0]![2])
  t.match(
    encodeResult(
      '10.0.0.1',
      new Map([
        ['10.0.0.2', true],
        ['10.0.0.10', true],
      ]),
      'v0.9',
      keyOf(key),
    ).toString(),
    vectors[1]![2],
  )
  t.match(encodeResult('10.0.0.1', up(false), 'v0.6', keyOf(key)).toString(), vectors[2]![2])
  t.end()
})

t.test('captured bodies: written byte for byte, and read', t => {
  for (const dialect of ['v0.6', 'v0.9'] as const) {
    const sourceIP = dialect === 'v0.6' ? '10.123.0.12' : '10.123.0.11'
    const isUp = new Map(['13', '11', '12'].map(last => [`10.123.0.${last}`, true]))
    t.equal(encodeResult(sourceIP, isUp, dialect, keyOf(WIRE_KEY)).toString(), CAPTURED[dialect])
    t.match(openText(CAPTURED[dialect]), { ok: true, dialect, sourceIP, isUp })
  }
  t.end()
})

t.test('the table of answers', t => {
  const bad = (text: string): string => text.replace(/"(Hmac|hmac)":"./, '"$1":"f')
  const rows: [string, string, Dialect, number, string][] = [
    ['right', CAPTURED['v0.6'], 'v0.9', 200, 'Received!\n'],
    ['right', CAPTURED['v0.9'], 'v0.6', 200, ''],
    ['wrong key', bad(CAPTURED['v0.6']), 'v0.9', 200, 'Received!\nHmac not match\n'],
    ['wrong key', bad(CAPTURED['v0.9']), 'v0.6', 403, 'Hmac not match\n'],
    ['broken', CAPTURED['v0.6'].slice(0, 90), 'v0.9', 402, 'unexpected EOF\n'],
    ['broken', CAPTURED['v0.9'].slice(0, 90), 'v0.6', 402, 'Invalid Body\n'],
    ['empty', '', 'v0.6', 402, 'EOF\n'],
    ['empty', '', 'v0.9', 402, 'Invalid Body\n'],
    ['no JSON', 'hello', 'v0.6', 402, "invalid character 'h' looking for beginning of value\n"],
    ['wrong types', '{"SourceIP":5}', 'v0.9', 402, 'json: cannot unmarshal value\n'],
    ['an array', '[]', 'v0.9', 402, 'Invalid Body\n'],
  ]
  for (const [why, body, otherwise, status, text] of rows)
    t.same(answerTo(openText(body, otherwise)), { status, text }, why)
  t.end()
})

t.test('what Go does not look at does not matter', t => {
  const same: [string, string][] = [
    [
      'order and case',
      CAPTURED['v0.9']
        .replace('"10.123.0.11":{"normal":true},', '')
        .replace('"10.123.0.13":{', '"10.123.0.11":{"NORMAL":true},"10.123.0.13":{'),
    ],
    [
      'unknown fields',
      CAPTURED['v0.9']
        .replace('{"normal":true}', '{"x":[1],"normal":true}')
        .replace('{"source', '{"Extra":null,"source'),
    ],
    [
      'the last duplicate wins',
      CAPTURED['v0.9'].replace('{"normal":true}', '{"Normal":false,"normal":true}'),
    ],
    ['what follows the first value', `${CAPTURED['v0.9']}\n{"sourceIP":"x"}`],
    ['space and escapes', CAPTURED['v0.9'].replace('"10.123.0.11",', '"10\\u002e123.0.11" ,\n')],
    ['a time zone of zero', CAPTURED['v0.6'].replace('00:00:00Z', '00:00:00.000+00:00')],
  ]
  for (const [why, body] of same) {
    t.not(body, CAPTURED['v0.9'])
    t.match(openText(body), { ok: true }, why)
  }
  t.match(
    openText(CAPTURED['v0.9'].replace('true', 'false')),
    { refusal: 'bad-signature' },
    'values do matter',
  )
  t.match(openText(CAPTURED['v0.6'].replace('"Hamc":""', '"Hamc":"x"')), {
    refusal: 'bad-signature',
  })
  // A time keeps its zone and its nanoseconds as they were signed.
  const detail =
    '{"10.0.0.2":{"Normal":true,"Hamc":"","Time":"2026-01-02T03:04:05.123456789+08:00"}}'
  const hmac = createHmac('sha256', WIRE_KEY).update(`"10.0.0.1"${detail}`).digest('hex')
  t.match(openText(`{"SourceIP":"10.0.0.1","ResultDetail":${detail},"Hmac":"${hmac}"}`), {
    ok: true,
  })
  t.equal(
    goString('<a>&\u2028"\\b\b\ud800'),
    '"\\u003ca\\u003e\\u0026\\u2028\\"\\\\b\\u0008\ufffd"',
  )
  t.match(goDecode('{"a":"}\\""} x'), { ok: true })
  t.match(goDecode('{"a":x}'), { ok: false })
  const nothing = createHmac('sha256', WIRE_KEY).update('"10.0.0.1"null').digest('hex')
  t.match(
    openText(`{"sourceIP":"10.0.0.1","hmac":"${nothing}"}`),
    { ok: true },
    'no map at all is null',
  )
  t.match(
    openText(`{"sourceIP":"10.0.0.1","resultDetail":{},"hmac":"${nothing}"}`),
    { refusal: 'bad-signature' },
    'an empty one is not',
  )
  t.end()
})

/** A SuperEdge agent of one version, written apart from our code: it reads, verifies and counts. */
const fakeSuperEdge = (zone: ExchangeZone, n: number, dialect: Dialect) => {
  const rows = new Map<string, Record<string, boolean>>()
  const is06 = dialect === 'v0.6'
  const names = is06
    ? ['SourceIP', 'ResultDetail', 'Hmac', 'Normal']
    : ['sourceIP', 'resultDetail', 'hmac', 'normal']
  const say = (status: number, text: string): Answer => ({ status, body: Buffer.from(text) })
  zone.network.listen(memberAt(n).address, (route, body) => {
    if (route !== 'result') return say(404, '404 page not found\n')
    const text = Buffer.from(body).toString()
    if (!is06 && text.includes('"0001-01-01')) return say(402, 'Invalid Body\n')
    const lower = Object.fromEntries(
      Object.entries(JSON.parse(text) as Record<string, unknown>).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]),
    ) as Record<string, unknown>
    const detail = lower['resultdetail'] as Record<string, Record<string, boolean>>
    const isUp = Object.fromEntries(
      Object.keys(detail)
        .sort()
        .map(ip => [ip, detail[ip]!['Normal'] ?? detail[ip]!['normal'] ?? false]),
    )
    const canonical = Object.fromEntries(
      Object.entries(isUp).map(([ip, up]) => [
        ip,
        is06 ? { Normal: up, Hamc: '', Time: '0001-01-01T00:00:00Z' } : up ? { normal: true } : {},
      ]),
    )
    const hmac = createHmac('sha256', KEY_A)
      .update(JSON.stringify(lower['sourceip']) + JSON.stringify(canonical))
      .digest('hex')
    if (hmac !== lower['hmac'])
      return is06 ? say(200, 'Received!\nHmac not match\n') : say(403, 'Hmac not match\n')
    rows.set(String(lower['sourceip']), isUp)
    return say(200, is06 ? 'Received!\n' : '')
  })
  const put = (to: TestAgent, down: readonly number[], key = KEY_A): Answer & { text: string } => {
    const detail = Object.fromEntries(
      zone.members
        .map((member, i) => [member.address, !down.includes(i)] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([ip, up]) => [
          ip,
          is06
            ? { Normal: up, Hamc: '', Time: '0001-01-01T00:00:00Z' }
            : up
              ? { normal: true }
              : {},
        ]),
    )
    const source = memberAt(n).address
    const hmac = createHmac('sha256', key)
      .update(JSON.stringify(source) + JSON.stringify(detail))
      .digest('hex')
    const body = JSON.stringify({ [names[0]!]: source, [names[1]!]: detail, [names[2]!]: hmac })
    const answer = to.engine.receive('result', Buffer.from(body), source)
    return { ...answer, text: Buffer.from(answer.body).toString() }
  }
  return { rows, put }
}

/** Own probes reach these members. */
const reach = (agent: TestAgent, ...members: readonly number[]): void => {
  for (const n of members) agent.vote(n, false)
}

t.test('a zone of three kinds of agents', async t => {
  const zone = new ExchangeZone(5, 53)
  const old = fakeSuperEdge(zone, 3, 'v0.6')
  const newer = fakeSuperEdge(zone, 4, 'v0.9')
  for (const n of [0, 1, 2])
    zone.start(n, {
      o: { superedgePeers: 'on' },
      localUp: target => zone.agents[n]!.index(2) !== target,
    })
  const [first, second] = zone.agents as [TestAgent, TestAgent]
  for (const agent of zone.agents) reach(agent, 3, 4)
  const putAll = (): void => {
    for (const agent of zone.agents.slice(0, 3)) {
      old.put(agent, [])
      newer.put(agent, [])
    }
  }
  for (let round = 0; round < 6; round++) {
    putAll()
    await zone.clock.advance(10_000)
  }
  for (const { rows } of [old, newer]) {
    for (const n of [0, 1]) {
      const row = rows.get(memberAt(n).address)
      t.same(
        row,
        Object.fromEntries(zone.members.map(({ address }, i) => [address, i !== 2])),
        `n${n} tells its local view`,
      )
    }
  }
  const speaks = (agent: TestAgent): unknown =>
    agent.engine
      .status()
      .peers.map(peer => [peer.name, peer.speaks])
      .sort()
  t.same(speaks(first), [
    ['n1', 'v1'],
    ['n2', 'v1'],
    ['n3', 'v0.6'],
    ['n4', 'v0.9'],
  ])
  const warnings = first.log.lines
    .filter(({ level }) => level === 'warn')
    .map(({ message }) => message)
  t.ok(
    warnings.includes('a SuperEdge agent votes: anybody who recorded its results can replay them'),
    warnings.join('; '),
  )
  t.match(old.put(first, [1]), { status: 200, text: 'Received!\n' })
  t.match(newer.put(first, [1, 2]), { status: 200, text: '' })
  t.ok(first.knows(3, 1) && first.knows(4, 1) && first.knows(4, 2) && !first.knows(3, 2))
  await zone.clock.advance(9_000)
  t.notOk(second.knows(3, 1) || second.knows(4, 1), 'it is passed on to nobody')
  t.match(newer.put(first, [], 'another-key-0123456'), { status: 403 })
  t.ok(first.knows(4, 1), 'a wrong key changes nothing')
  newer.put(first, [])
  t.notOk(first.knows(4, 1))
  // The peer is upgraded: it is found out, and its old words do not come back.
  zone.start(4, { o: { superedgePeers: 'on' } })
  const took = await zone.until(() => {
    const peer = first.engine.status().peers.find(({ name }) => name === 'n4')
    return peer?.speaks === 'v1'
  }, 90_000)
  t.ok(took < 70_000, `upgraded after ${took} ms`)
  newer.put(first, [1])
  t.notOk(first.knows(4, 1), 'a recorded result of its past is refused')
  t.equal(first.engine.status().refusals.superseded, 1)
  await zone.stop()
})

t.test('FA1: nobody who merely answers at an address gets anything that is signed', async t => {
  for (const superedgePeers of ['off', 'on'] as const) {
    const zone = new ExchangeZone(5, 54)
    for (const n of [0, 1, 2, 3]) zone.start(n, { o: { superedgePeers } })
    const collected: string[] = []
    zone.network.listen(memberAt(4).address, route => {
      if (route === 'result') collected.push(route)
      return { status: 404, body: Buffer.from('404 page not found\n') }
    })
    for (const agent of zone.agents.slice(0, 4)) reach(agent, 4)
    await zone.clock.advance(300_000)
    t.same(collected, [], `${superedgePeers}: no PUT in five minutes`)
    const speaks = zone.agents[0]!.engine.status().peers.find(({ name }) => name === 'n4')?.speaks
    t.equal(speaks, 'unknown', 'a 404 teaches nothing')
    await zone.stop()
  }
})

t.test('FA1: who spoke our protocol is never believed as a SuperEdge agent', async t => {
  const zone = new ExchangeZone(5, 55).startAll({ o: { superedgePeers: 'on' } })
  const [first] = zone.agents as [TestAgent]
  await zone.clock.advance(30_000)
  for (const n of [2, 3, 4]) zone.agents[n]!.kill()
  // Longer than a record counts; and one agent that was restarted knows it from the others.
  await zone.clock.advance(300_000)
  zone.agents[1]!.kill()
  const restarted = zone.start(1, { o: { superedgePeers: 'on' } })
  await zone.clock.advance(30_000)
  for (const agent of [first, restarted]) {
    reach(agent, 2, 3, 4)
    for (const n of [2, 3, 4]) {
      for (const dialect of ['v0.6', 'v0.9'] as const)
        t.equal(fakeSuperEdge(zone, n, dialect).put(agent, [0, 1]).status, 200)
      t.notOk(agent.knows(n, agent === first ? 1 : 0), `n${agent.n} does not believe n${n}`)
    }
    t.equal(agent.engine.status().refusals.superseded, 6)
  }
  await zone.stop()
})

t.test('FA1: a SuperEdge result counts for two periods, and for members that we reach', async t => {
  const zone = new ExchangeZone(4, 56)
  const other = fakeSuperEdge(zone, 3, 'v0.9')
  const agent = zone.start(0, { o: { superedgePeers: 'on', superedgePeriodMs: 10_000 } })
  zone.start(1, { o: { superedgePeers: 'on' } })
  const count = (): boolean => agent.engine.table.producedAt[agent.index(3)] !== -Infinity
  other.put(agent, [2])
  t.notOk(count(), 'not before a probe of our own')
  agent.vote(3, true)
  other.put(agent, [2])
  t.notOk(count(), 'nor while it fails')
  t.equal(agent.engine.status().refusals.unreached, 2)
  reach(agent, 3)
  other.put(agent, [2])
  t.ok(count() && agent.knows(3, 2))
  await zone.clock.advance(19_900)
  t.ok(count() && agent.knows(3, 2))
  const evidence = agent.evidence
  await zone.clock.advance(200)
  t.notOk(count() || agent.knows(3, 2), 'two periods after it came in it is over')
  t.ok(agent.evidence > evidence, 'and votes are counted again')
  other.put(agent, [2])
  t.ok(agent.knows(3, 2))
  agent.vote(3, true)
  t.notOk(count() || agent.knows(3, 2), 'it is over when our own probes fail')
  t.equal(agent.engine.table.downVotes[agent.index(2)], 0)
  other.rows.clear()
  await zone.clock.advance(60_000)
  t.equal(other.rows.size, 0, 'and it gets nothing of ours any more')
  await zone.stop()
  await zone.clock.advance(5_000)
  t.equal(zone.clock.waiting, 0)
})

t.test('results of strangers and in the own name are answered and not counted', async t => {
  const zone = new ExchangeZone(3, 59)
  const agent = zone.start(0, { o: { superedgePeers: 'on' } })
  const before = agent.engine.table.hb.join()
  t.match(fakeSuperEdge(zone, 9, 'v0.9').put(agent, [1]), { status: 200, text: '' })
  t.match(fakeSuperEdge(zone, 0, 'v0.6').put(agent, [1]), { status: 200, text: 'Received!\n' })
  t.equal(agent.engine.table.hb.join(), before)
  t.match(agent.engine.status().refusals, { 'unknown-sender': 1, 'own-id': 1 })
  const off = zone.start(1)
  t.match(fakeSuperEdge(zone, 2, 'v0.9').put(off, []), {
    status: 404,
    text: '404 page not found\n',
    nosniff: true,
    contentType: 'text/plain; charset=utf-8',
  })
  await zone.stop()
})
