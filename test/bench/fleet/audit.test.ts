// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { figuresOf, listsOf, parseAudit } from '../../../bench/fleet/audit.js'
import { faultsOf } from '../../../bench/fleet/report.js'
import type { Measured } from '../../../bench/fleet/run.js'

const START = Date.parse('2026-11-22T10:00:00.000Z')

const line = (
  id: string,
  verb: string,
  requestURI: string,
  { ms = 0, code = 200, stage = 'ResponseComplete', client = 'one', userAgent = 'x' } = {},
): string =>
  JSON.stringify({
    ...{ auditID: id, verb, requestURI, stage, responseStatus: { code }, userAgent },
    user: { extra: { 'authentication.kubernetes.io/credential-id': [client] } },
    requestReceivedTimestamp: new Date(START + ms).toISOString(),
  })

const log = (...lines: string[]): string => lines.map(text => `${text}\n`).join('')

const NODES = '/api/v1/nodes'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const rows: [what: string, verb: string, uri: string, ask: string][] = [
  ['the first list of ours', 'list', `${NODES}?resourceVersion=0`, 'list of any state'],
  [
    'a later one of ours',
    'list',
    `${NODES}?resourceVersion=7&resourceVersionMatch=NotOlderThan`,
    'list not older',
  ],
  ['a later one of client-go', 'list', `${NODES}?resourceVersion=7`, 'list not older'],
  ['the first of some pages', 'list', `${NODES}?limit=500`, 'list of the newest'],
  ['another page', 'list', `${NODES}?limit=500&continue=x`, 'further page'],
  ['a watch', 'watch', `${NODES}?watch=true&resourceVersion=7`, 'watch'],
  ['a list as a stream', 'watch', `${NODES}?watch=true&sendInitialEvents=true`, 'streamed list'],
  ['a sign of life', 'get', '/livez', 'sign of life'],
  ['the own Node', 'get', `${NODES}/a`, 'read'],
  ['its keys', 'patch', `${NODES}/a`, 'write'],
  ['a renewal that is tried', 'patch', `${LEASES}/a?dryRun=All&fieldManager=x`, 'sign of life'],
  [
    'keys of members',
    'list',
    `${NODES}?labelSelector=kubernetes.io%2Fhostname+in+%28a%2Cb%29&resourceVersion=0`,
    'list of names',
  ],
]
for (const [what, verb, uri, ask] of rows)
  t.test(what, async t => {
    t.match(parseAudit(log(line('1', verb, uri))), [
      { at: START, ask, code: 200, path: uri.replace(/\?.*/, '') },
    ])
  })

t.test('how far the store is, is asked by a list that is none', async t => {
  const userAgent = 'edge-health-store-version'
  const [asked] = parseAudit(log(line('1', 'list', NODES, { userAgent })))
  t.match(asked, { ask: 'version of the store', after: undefined })
})

t.test('what a client had asked for the same objects before it lists them', async t => {
  const list = `${NODES}?fieldSelector=metadata.name%3Da&resourceVersion=7`
  const table: [what: string, before: string[], after: string][] = [
    ['nothing', [], 'nothing'],
    ['others', [line('0', 'list', NODES)], 'nothing'],
    ['another client', [line('0', 'list', list, { client: 'two' })], 'nothing'],
    ['an answer', [line('0', 'list', list)], 'an answered list'],
    ['a refusal', [line('0', 'list', list, { code: 429 })], 'a refused list'],
    [
      'a page that is gone',
      [line('0', 'list', list), line('1', 'list', `${list}&continue=x`, { code: 410 })],
      'a refused list',
    ],
    ['a watch', [line('0', 'list', list), line('1', 'watch', list)], 'a watch'],
    [
      'a refused watch',
      [line('0', 'list', list), line('1', 'watch', list, { code: 410 })],
      'a watch',
    ],
  ]
  for (const [what, before, after] of table) {
    const asked = parseAudit(log(...before, line('last', 'list', list)))
    t.equal(asked.at(-1)!.after, after, what)
  }
})

t.test('a version that a client was never told', async t => {
  const list = `${NODES}?resourceVersion=7&resourceVersionMatch=NotOlderThan`
  const table: [what: string, before: string[], isGuess: boolean][] = [
    ['nothing was asked', [], true],
    ['a list', [line('0', 'list', `${NODES}?fieldSelector=x&resourceVersion=0`)], false],
    ['the list of another', [line('0', 'list', NODES, { client: 'two' })], true],
    ['a refused list', [line('0', 'list', NODES, { code: 403 })], true],
    ['one object', [line('0', 'get', `${NODES}/a`)], false],
    ['one that is not there', [line('0', 'get', `${NODES}/a`, { code: 404 })], true],
    ['another resource', [line('0', 'list', '/api/v1/services')], true],
  ]
  for (const [what, before, isGuess] of table) {
    const asked = parseAudit(log(...before, line('last', 'list', list)))
    t.equal(asked.at(-1)!.isGuess === true, isGuess, what)
  }
})

t.test(
  'a watch counts once, when it begins; a line that is not whole yet does not count',
  async t => {
    const uri = `${NODES}?watch=true`
    const text = log(
      line('2', 'get', '/livez', { ms: 900 }),
      line('1', 'watch', uri, { stage: 'ResponseStarted', ms: 100 }),
      line('1', 'watch', uri, { ms: 100 }),
    )
    const asked = parseAudit(`${text}{"auditID"`)
    t.strictSame(
      asked.map(({ ask }) => ask),
      ['watch', 'sign of life'],
    )
  },
)

t.test('requests of each second, and signs of life apart', async t => {
  const list = `${NODES}?resourceVersion=7`
  const asked = parseAudit(
    log(
      line('before', 'list', list, { ms: -1 }),
      line('a', 'list', list, { ms: 100, code: 403 }),
      line('b', 'list', list, { ms: 200 }),
      line('c', 'get', '/livez', { ms: 300 }),
      line('d', 'watch', list, { ms: 2_100 }),
      line('e', 'list', list, { ms: 2_200 }),
      line('after', 'watch', list, { ms: 3_000 }),
    ),
  )
  const figures = figuresOf(asked, { from: START, to: START + 3_000 })
  t.strictSame(figures.perSecond, [2, 0, 2])
  t.match(figures, { peak: 2, spreadS: 2.1, refused: { 403: 1 } })
  t.match(figures, { unheard: 1, afterWatch: 1, guesses: 0 }, 'a refused list comes again')
  t.equal(listsOf(figures), 3)
  t.strictSame(figures.counts, { 'list not older': 3, 'sign of life': 1, watch: 1 })
})

t.test('nothing was asked', async t => {
  const figures = figuresOf([], { from: START, to: START + 2_000 })
  t.strictSame(figures.perSecond, [0, 0])
  t.equal(figures.peak, 0)
  t.ok(Number.isNaN(figures.spreadS))
})

const measured = (more: Partial<Measured>): Measured => ({
  ...{ program: 'edge-health', occasion: 'restart', counts: {}, refused: {}, perSecond: [] },
  ...{ afterWatch: 0, unheard: 0, guesses: 0, peak: 0, spreadS: NaN, relists: {} },
  ...{ sentBytes: 0, receivedBytes: 0, serverCpuS: 0, clientsCpuS: 0 },
  ...more,
})

t.test('a list may come in the occasion after the one that made it necessary', async t => {
  const expired = (count: number) => ({ relists: { 'status 410': count } })
  const occasions = [
    measured({ afterWatch: 3, ...expired(5) }),
    measured({ occasion: 'outage', afterWatch: 4, ...expired(1) }),
  ]
  t.match(faultsOf(occasions), [/^outage: 1 lists/])
  t.strictSame(faultsOf([occasions[0]!, { ...occasions[1]!, afterWatch: 3 }]), [])
  const others = { ...occasions[0]!, program: 'client-go' as const }
  t.match(faultsOf([others, occasions[1]!]), [/^outage: 3 lists/], 'of the same clients')
  t.match(
    faultsOf([measured({ afterWatch: 9 }), { ...occasions[1]!, ...expired(4) }]),
    [/^restart: 9/],
    'what was too much before counts once',
  )
})

t.test('what clients of ours must not do', async t => {
  const relists = { 'status 410': 3 }
  const table: [what: string, measured: Partial<Measured>, faults: readonly RegExp[]][] = [
    ['a list that had to be', { afterWatch: 3, relists }, []],
    ['one more', { afterWatch: 4, relists }, [/^restart: 1 lists .* resume$/]],
    [
      'one more, of which a client says why',
      { afterWatch: 4, relists: { ...relists, silence: 1 } },
      [/^restart: 1 lists .* \(1 × silence\)$/],
    ],
    ['one at the start', { occasion: 'start', afterWatch: 1 }, [/^start: 1 lists .* resume$/]],
    [
      'one that was refused or not heard, again',
      { counts: { 'list not older': 9 }, unheard: 1 },
      [],
    ],
    ['back in time', { counts: { 'list of any state': 1 } }, [/back in time/]],
    ['first lists', { occasion: 'start', counts: { 'list of any state': 9 } }, []],
    ['a version that was never told', { occasion: 'start', guesses: 1 }, [/cannot know/]],
    ['a write', { counts: { write: 1 } }, [/nothing to write/]],
    ['not ours', { program: 'client-go', afterWatch: 3, guesses: 1, counts: { write: 1 } }, []],
  ]
  for (const [what, one, expected] of table) t.match(faultsOf([measured(one)]), expected, what)
  for (const [what, one, expected] of table)
    t.equal(faultsOf([measured(one)]).length, expected.length, what)
})
