// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { parseLabOptions, UsageError } from './options.js'
import { chooseCells } from './run-cells.js'

const refused: readonly (readonly [why: string, args: readonly string[], rule: RegExp])[] = [
  ['one node is no zone', ['--nodes', '1'], /--nodes must be .* from 2 to 50, got 1/],
  ['more than 50 nodes', ['--nodes', '51', '--profile', 'default'], /from 2 to 50, got 51/],
  ['many nodes with the fast profile', ['--nodes', '25'], /above 24 needs --profile default/],
  ['Pods that bear it for ever', ['--toleration', '3601'], /--toleration must be .* got 3601/],
  ['an unknown word', ['play'], /one of cells, .* got play/],
  ['a merge of nothing', ['merge', '--report', 'x'], /merge takes folders/],
  ['no agent of SuperEdge', ['superedge'], /superedge needs --agent PATH/],
  [
    'an agent that is not there',
    ['superedge', '--agent', '/none'],
    /--agent must be a program \(ENOENT.*\), got \/none/,
  ],
  ['an agent that is a folder', ['superedge', '--agent', '/tmp'], /\(not a file\), got \/tmp/],
  [
    'an agent for nobody',
    ['cells', '--agent', '/none'],
    /--agent goes with superedge, not with cells/,
  ],
  [
    'a mixed zone of three',
    ['superedge', '--agent', process.execPath, '--nodes', '3'],
    /from 4 to 50, got 3/,
  ],
  ['an unknown identity', ['--identity', 'on'], /--identity must be one of off, .* got on/],
  [
    'SuperEdge, who signs nothing',
    ['superedge', '--agent', process.execPath, '--identity', 'require'],
    /superedge goes with --identity off or prefer, got require/,
  ],
  [
    'another version for nobody',
    ['grids', '--other', 'x'],
    /--other goes with cells, not with grids/,
  ],
  ['a merge to nowhere', ['merge', 'a', 'b'], /and --report/],
]
for (const [why, args, rule] of refused)
  t.test(`refused: ${why}`, async t => {
    const error = t.throws(() => parseLabOptions(args), { message: rule })
    t.type(error, UsageError)
  })

t.test('grace and toleration follow the profile', async t => {
  t.match(parseLabOptions([]), { graceMs: 12_000, tolerationMs: 3_000, nodes: 5 })
  const real = parseLabOptions(['--profile', 'default', '--nodes', '50'])
  t.match(real, { graceMs: 50_000, tolerationMs: 300_000, nodes: 50 })
})

t.test('a zone gets the cells that fit it', async t => {
  const namesFor = (...args: string[]): readonly string[] =>
    chooseCells(parseLabOptions(args)).map(cell => cell.name)
  t.notOk(namesFor('--nodes', '2').includes('partition'), 'two nodes have no majority side')
  t.ok(namesFor('--nodes', '2').includes('sigkill'))
  t.notOk(namesFor('--nodes', '10').includes('default-kept'), 'real grace times are asked for')
  t.ok(namesFor('--nodes', '10', '--profile', 'default').includes('default-kept'))
  const named = (...args: string[]) => {
    return () => namesFor(...args)
  }
  t.throws(named('--nodes', '2', '--cells', 'partition'), { message: /needs --nodes 3 or more/ })
  t.throws(named('--cells', 'default-off'), { message: /needs --profile default/ })
  t.throws(named('--cells', 'rogue-condemns'), { message: /needs --identity off, got require/ })
  t.ok(namesFor('--identity', 'off').includes('rogue-condemns'))
  t.ok(namesFor().includes('insider-condemns'), 'nodes sign unless it is asked for')
  t.ok(namesFor('--identity', 'prefer').includes('insider-condemns'), 'as with require')
  t.throws(named('--cells', 'unsigned-votes', '--identity', 'off'), {
    message: /needs --identity prefer or require, got off/,
  })
  t.equal(parseLabOptions(['superedge', '--agent', process.execPath]).identity, 'prefer')
  t.notOk(namesFor().includes('webhook-kept'), 'peers must be faster than the control plane')
  t.ok(namesFor('--grace', '20').includes('webhook-kept'))
  t.throws(named('--cells', 'webhook-kept'), { message: /needs --grace 20 or more, got 12/ })
  t.notOk(namesFor().includes('upgrade'), 'it needs a second version')
  t.ok(namesFor('--other', process.execPath).includes('upgrade'))
  t.throws(named('--cells', 'upgrade'), { message: /upgrade needs --other WHICH/ })
  t.throws(named('--cells', 'nonsense'), { message: /--cells must be of .*, got nonsense/ })
})
