// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { NodeStatus } from '../../../agent/http/status-view.js'
import { boardOf } from '../../../agent/text/board.js'
import { recipesFor } from '../../../agent/text/recipes.js'
import { statusText } from '../../../agent/text/status-text.js'
import { plain } from '../../../core/text.js'
import { worstFirst, zoneColour, zoneHeadline } from '../../../agent/text/standing.js'
import { nodeFixture, statusFixture } from '../../../testkit/zone/status-fixture.js'

const dead = { verdict: 'unhealthy', class: 'dead' } as const
const pending = { pending: 'unhealthy' } as const
const cut = { class: 'cloud-link-cut' } as const
const nodes = (...changes: Partial<NodeStatus>[]): NodeStatus[] =>
  changes.map((change, index) => nodeFixture(index + 1, change))

t.test('the zone in one line, the worst first', t => {
  const rows: [Partial<NodeStatus>[], string, string][] = [
    [[], 'no nodes', 'green'],
    [[{}, {}], '2 healthy', 'green'],
    [[{}, cut, dead, dead], '2 dead · 1 cut · 1 healthy', 'red'],
    [[pending, {}], '1 pending dead · 1 healthy', 'red'],
    [[{ class: 'dead', ...pending }], '1 pending dead', 'red'],
    [[{ verdict: 'unhealthy', class: 'kubelet-sick' }, cut], '1 kubelet sick · 1 cut', 'red'],
    [[{ class: 'zone-link-cut' }, { class: 'undecided' }], '1 undecided · 1 zone cut', 'yellow'],
  ]
  t.equal(zoneHeadline([], 3), 'nothing is judged yet')
  for (const [changes, line, colour] of rows) {
    t.equal(zoneHeadline(nodes(...changes)), line)
    t.equal(zoneColour(nodes(...changes)), colour, line)
  }
  t.end()
})

t.test('the worst first, then who turned last, then by name', t => {
  const at = (minute: number) => `2026-01-01T09:${String(minute).padStart(2, '0')}:00.000Z`
  const list = nodes(
    {},
    { ...cut, since: at(50) },
    { ...dead, since: at(10) },
    { ...dead, since: at(40) },
    { local: 'down' },
    { ...dead, since: null },
    { since: at(59) },
  )
  t.strictSame(
    worstFirst(list).map(({ name }) => name),
    ['node-4', 'node-3', 'node-6', 'node-2', 'node-5', 'node-1', 'node-7'],
  )
  t.end()
})

t.test('the board: what has something to tell has a row, the others a name', t => {
  const next = { what: 'dead', by: 'node-4', ownRank: 1, inSeconds: 3 }
  const view = statusFixture(
    { 2: { ...dead, nextWrite: next }, 3: { nextWrite: { ...next, inSeconds: null } }, 5: { votes: { down: 1, up: 3, notLooked: 0, needed: 3 } } }, // prettier-ignore
    { cloudLink: { state: 'cut', since: '2026-01-01T09:58:00.000Z' }, selfSuspect: true },
  )
  const board = boardOf(view, 7)
  t.match(board, { headline: '1 dead · 4 healthy', colour: 'red', lastEntry: 7, self: 'node-1' })
  t.strictSame(board.healthy, ['node-1', 'node-3', 'node-4'])
  t.match(board.rows, [
    {
      name: 'node-2',
      standing: 'dead',
      colour: 'red',
      age: '52 min',
      reason: /^is dead: a majority/,
    },
    { name: 'node-5', standing: 'healthy', colour: 'yellow', reason: '1 of 5 say down' },
  ])
  t.strictSame(
    board.facts.map(({ text, colour }) => `${colour}: ${text}`),
    [
      'green: brake off',
      'yellow: cloud link cut for 2 min: this agent writes nothing',
      'yellow: node-4 writes about node-2 in 3 s: dead, and about 1 more',
      "yellow: this agent suspects itself: its own probes fail where others' succeed",
    ],
  )
  const braked = boardOf(statusFixture({}, { brake: { isOn: true, unhealthy: 3, limit: 2 }, cloudLink: { state: 'unknown', since: null } }), 0) // prettier-ignore
  t.match(braked, { colour: 'red', rows: { length: 0 } })
  t.match(braked.facts, [
    { colour: 'red', text: /^the brake holds: 3 of 5/ },
    { colour: 'yellow', text: 'cloud link not known yet' },
    { colour: 'green', text: 'nothing to write' },
  ])
  t.end()
})

t.test(
  'an agent that is silent while its node answers is shown, in the table and on the page',
  t => {
    const note = (change: Partial<NodeStatus>): readonly [string, readonly string[]] => {
      const view = statusFixture({ 3: { isHeard: false, recordAgeSeconds: 130, ...change } })
      const [line = ''] = statusText(view, plain).split('\n').filter(text => text.startsWith('node-3 ')) // prettier-ignore
      return [line.trimEnd(), boardOf(view, 0).rows.map(({ name, reason }) => `${name}: ${reason}`)]
    }
    const [line, rows] = note({})
    t.match(line, /^node-3 +healthy .* agent not heard for 2 min$/)
    t.strictSame(rows, ['node-3: agent not heard for 2 min'])
    t.match(note({ recordAgeSeconds: null })[0], /agent never heard$/)
    t.notMatch(note({ isHeard: true })[0], /heard/)
    t.notMatch(note(dead)[0], /heard/, 'a dead one is silent, of course')
    t.end()
  },
)

t.test('lines to copy: a name is one word of a shell, whatever is in it', t => {
  const lines = (name: string, address: string) =>
    recipesFor({ ...nodeFixture(1), name, address }, 'edge-system').map(({ line }) => line)
  t.ok(lines('node-1', '10.0.0.1').includes('curl -ksm 3 https://10.0.0.1:10250/healthz'))
  t.ok(lines('node-1', 'fd00::1').includes("curl -ksm 3 https://'[fd00::1]':10250/healthz"))
  t.equal(lines("a'; reboot", '')[0], `kubectl describe node 'a'\\''; reboot'`)
  t.ok(lines('n', '-oProxyCommand=x').includes("ssh -- '-oProxyCommand=x'"), 'nor an option')
  t.end()
})
