// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  formerly,
  isNewerThan,
  labelsOf,
  watchDelete,
  watchedType,
  watchUpdate,
} from '../../../../bridge/model/application/watch-messages.js'
import type { NodeName } from '../../../../core/ids.js'

const stamp = { id: 'm', at: 9 }
const node = 'e1' as NodeName

t.test('what a watch brings', t => {
  const object = { kind: 'Node', metadata: { name: 'e2', resourceVersion: '7' } }
  t.strictSame(watchUpdate(stamp, { node, type: watchedType('nodes') }, object), {
    ...{ id: 'm', parentId: undefined, timestamp: 9, resourceVersion: '7' },
    ...{ source: 'dynamiccontroller', group: 'resource', operation: 'update' },
    ...{ resource: 'null/node/e2', content: object },
  })
  t.match(watchUpdate(stamp, { node, type: 'secret' }, { metadata: { namespace: 's', name: 'k' } }), {
    ...{ resource: 's/secret/k', resourceVersion: '' },
  }) // prettier-ignore
  const gone = { namespace: '', name: 'e2', uid: 'u', labels: new Map([['zone', 'a']]) }
  t.match(watchDelete(stamp, { node, type: 'node' }, gone, '8'), {
    ...{ operation: 'delete', resource: 'null/node/e2', resourceVersion: '8' },
    content: { kind: 'Node', metadata: { name: 'e2', namespace: undefined, uid: 'u', resourceVersion: '8', labels: { zone: 'a' } } },
  }) // prettier-ignore
  const map = { namespace: 's', name: 'c', uid: 'u', labels: new Map<string, string>() }
  t.match(watchDelete(stamp, { node, type: 'configmap' }, map, '8').content, {
    ...{ kind: 'ConfigMap', metadata: { namespace: 's' } },
  })
  t.end()
})

t.test('an object before its labels changed', t => {
  const labels = new Map([['zone', 'a']])
  const object = (resourceVersion: unknown, zone: string) => ({
    ...{ kind: 'Node', metadata: { name: 'e2', resourceVersion, labels: { zone } } },
  })
  for (const [version, older] of [
    ['1000', '998'],
    ['2', '2'],
    ['x', 'x'],
  ])
    t.strictSame(formerly(object(version, 'b'), labels), object(older, 'a'))
  t.end()
})

t.test('which versions are new to a watch', t => {
  const rows: [version: unknown, start: string, isNews: boolean][] = [
    ['7', '6', true],
    ['7', '7', false],
    ['10', '9', true],
    ['7', '', true],
    ['7', '0', true],
    ['x', '7', true],
    [undefined, '7', true],
  ]
  for (const [version, start, isNews] of rows)
    t.equal(isNewerThan(version, start), isNews, `${String(version)} after ${start}`)
  t.strictSame([...labelsOf({ metadata: { labels: { a: 'b', c: 1 } } })], [['a', 'b']])
  t.equal(labelsOf({}).size, 0)
  t.end()
})
