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
  { ms = 0, code = 200, stage = 'ResponseComplete' } = {},
): string =>
  JSON.stringify({
    ...{ auditID: id, verb, requestURI, stage, responseStatus: { code } },
    requestReceivedTimestamp: new Date(START + ms).toISOString(),
  })

const log = (...lines: string[]): string => lines.map(text => `${text}\n`).join('')

const NODES = '/api/v1/nodes'
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
  ['the own Node', 'get', `${NODES}/a`, 'other'],
]
for (const [what, verb, uri, ask] of rows)
  t.test(what, async t => {
    t.strictSame(parseAudit(log(line('1', verb, uri))), [
      { at: START, ask, code: 200, path: uri.replace(/\?.*/, '') },
    ])
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
      line('after', 'watch', list, { ms: 3_000 }),
    ),
  )
  const figures = figuresOf(asked, { from: START, to: START + 3_000 })
  t.strictSame(figures.perSecond, [2, 0, 1])
  t.match(figures, { peak: 2, spreadS: 2, refused: { 403: 1 }, refusedLists: 1 })
  t.equal(listsOf(figures), 2)
  t.strictSame(figures.counts, { 'list not older': 2, 'sign of life': 1, watch: 1 })
})

t.test('nothing was asked', async t => {
  const figures = figuresOf([], { from: START, to: START + 2_000 })
  t.strictSame(figures.perSecond, [0, 0])
  t.equal(figures.peak, 0)
  t.ok(Number.isNaN(figures.spreadS))
})

t.test('what clients of ours must not do', async t => {
  const measured = (more: Partial<Measured>): Measured => ({
    ...{ program: 'edge-health', occasion: 'restart', counts: {}, refused: {}, perSecond: [] },
    ...{ refusedLists: 0, peak: 0, spreadS: NaN, relists: {}, sentBytes: 0, receivedBytes: 0 },
    ...{ serverCpuS: 0, clientsCpuS: 0 },
    ...more,
  })
  const relists = { 'status 410': 3 }
  const table: [what: string, measured: Partial<Measured>, faults: readonly RegExp[]][] = [
    ['a list that had to be', { counts: { 'list not older': 3 }, relists }, []],
    ['one more', { counts: { 'list not older': 4 }, relists }, [/^restart: 1 lists .* resume$/]],
    [
      'one more, of which a client says why',
      { counts: { 'list not older': 4 }, relists: { ...relists, silence: 1 } },
      [/^restart: 1 lists .* \(1 × silence\)$/],
    ],
    ['one that was refused', { counts: { 'list not older': 4 }, relists, refusedLists: 1 }, []],
    ['back in time', { counts: { 'list of any state': 1 }, relists }, [/back in time/]],
    ['first lists', { occasion: 'start', counts: { 'list of any state': 9 } }, []],
    ['first lists of ours', { occasion: 'start', counts: { 'list not older': 1 } }, [/first/]],
    ['not ours', { program: 'client-go', counts: { 'list not older': 3 } }, []],
  ]
  for (const [what, one, expected] of table) t.match(faultsOf([measured(one)]), expected, what)
  for (const [what, one, expected] of table)
    t.equal(faultsOf([measured(one)]).length, expected.length, what)
})
