// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { compareRecord, compareVersions, type Held } from '../../../../bridge/model/record/held.js'
import fc from '../../../../testkit/properties.js'

const held = (name: string, version: string, print = ''): Held => ({
  ...{ type: 'pod', namespace: 'till', name, version, print },
})

t.test('versions', t => {
  const rows: [version: string, than: string, order: string][] = [
    ['2', '10', 'older'],
    ['10', '2', 'newer'],
    ['7', '7', 'same'],
    ['007', '7', 'same'],
    ['9007199254740993', '9007199254740992', 'newer'],
    ['18446744073709551615', '18446744073709551614', 'newer'],
    ['18446744073709551616', '1', 'different'],
    ['18446744073709551616', '18446744073709551616', 'same'],
    ['', '1', 'different'],
    ['', '', 'same'],
    ['1e3', '1000', 'different'],
    ['-1', '1', 'different'],
    ['abc', 'abc', 'same'],
    ['1', 'abc', 'different'],
  ]
  for (const [version, than, order] of rows)
    t.equal(compareVersions(version, than), order, `${version} and ${than}`)
  t.end()
})

t.test('where an edge differs', t => {
  const rows: [
    claim: string,
    before: Held | undefined,
    wanted: Held | undefined,
    difference: unknown,
  ][] = [
    ['the same', held('a', '5'), held('a', '5'), { remove: [], send: [] }],
    ['new', undefined, held('a', '5'), { remove: [], send: ['u'] }],
    ['gone', held('a', '5'), undefined, { remove: ['u'], send: [] }],
    ['changed', held('a', '5'), held('a', '6'), { remove: [], send: ['u'] }],
    [
      'changed, but for nothing of interest',
      held('a', '5', 'p'),
      held('a', '6', 'p'),
      { remove: [], send: [] },
    ],
    [
      'changed in what matters',
      held('a', '5', 'p'),
      held('a', '6', 'q'),
      { remove: [], send: ['u'] },
    ],
    ['nobody knows what it was', held('a', '5'), held('a', '6', 'q'), { remove: [], send: ['u'] }],
    ['a cluster that was restored', held('a', '5'), held('a', '4'), { remove: [], send: ['u'] }],
    ['sent, and no word of it yet', held('a', '0'), held('a', '4'), { remove: [], send: ['u'] }],
  ]
  const mapOf = (one: Held | undefined) => new Map(one === undefined ? [] : [['u', one]])
  for (const [claim, before, wanted, difference] of rows)
    t.strictSame(compareRecord(mapOf(before), mapOf(wanted)), difference, claim)
  t.end()
})

t.test('after doing what a comparison says, nothing differs', t => {
  const map = fc.dictionary(
    fc.constantFrom('a', 'b', 'c', 'd'),
    fc
      .tuple(fc.constantFrom('0', '1', '2', 'x'), fc.constantFrom('', 'p', 'q'))
      .map(([v, p]) => held('n', v, p)),
  )
  fc.assert(
    fc.property(map, map, (before, wanted) => {
      const record = new Map(Object.entries(before))
      const goal = new Map(Object.entries(wanted))
      const { remove, send } = compareRecord(record, goal)
      for (const uid of remove) record.delete(uid)
      for (const uid of send) record.set(uid, goal.get(uid)!)
      t.strictSame([...record.keys()].sort(), [...goal.keys()].sort())
      t.strictSame(compareRecord(record, goal), { remove: [], send: [] })
    }),
  )
  t.end()
})
