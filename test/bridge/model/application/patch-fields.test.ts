// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { fieldTrouble } from '../../../../bridge/model/application/patch-fields.js'
import type { PatchType } from '../../../../bridge/model/application/application.js'

const FIELDS = [
  ['metadata', 'annotations', 'a/b'],
  ['spec', 'taints'],
]

t.test('a patch changes the fields that it may, and no other', t => {
  const set = (op: string, path: unknown): object => ({ op, path, value: 1 })
  const rows: [title: string, type: PatchType, value: unknown, trouble: string | undefined][] = [
    ['nothing', 'merge', {}, undefined],
    ['a field', 'merge', { metadata: { annotations: { 'a/b': 'x' } } }, undefined],
    ['a field taken away', 'merge', { metadata: { annotations: { 'a/b': null } } }, undefined],
    ['below a field', 'merge', { spec: { taints: [{ key: 'x' }] } }, undefined],
    ['another field', 'merge', { spec: { unschedulable: true } }, 'it must not change spec.unschedulable'],
    [
      'one of two',
      'strategic-merge',
      { metadata: { annotations: { 'a/b': 'x', c: 'y' } } },
      'it must not change metadata.annotations.c',
    ],
    ['all that holds it taken away', 'merge', { metadata: { annotations: null } }, 'it must not change metadata.annotations'],
    ['a list in its place', 'merge', { metadata: [] }, 'it must not change metadata'],
    ['no object', 'merge', [], 'it must not change everything'],
    ['an operation', 'json', [set('add', '/metadata/annotations/a~1b')], undefined],
    ['an operation below a field', 'json', [set('remove', '/spec/taints/0')], undefined],
    ['a test of anything', 'json', [set('test', '/status/x')], undefined],
    ['another operation', 'json', [set('replace', '/spec/x')], 'it must not change spec.x'],
    ['all at once', 'json', [set('replace', '')], 'it must not change everything'],
    ['all that holds it', 'json', [set('remove', '/spec')], 'it must not change spec'],
    ['what is taken from elsewhere', 'json', [set('move', '/spec/taints')], 'it must not move'],
    ['an operation that is none', 'json', [7], 'an operation has no op or no path'],
    ['an operation on nothing', 'json', [set('add', 7)], 'an operation has no op or no path'],
    ['operations that are none', 'json', {}, 'it must be a list of operations'],
    ['a directive', 'strategic-merge', { spec: { taints: [{ $patch: 'replace' }] } }, 'it must have no directives'],
    ['a directive above', 'strategic-merge', { $retainKeys: [], spec: {} }, 'it must have no directives'],
  ] // prettier-ignore
  for (const [title, type, value, trouble] of rows)
    t.equal(fieldTrouble({ type, value }, FIELDS), trouble, title)
  t.end()
})
