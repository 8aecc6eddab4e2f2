// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { objectSyncOf, readObjectSync } from '../../../../bridge/model/record/object-sync.js'
import type { JsonMap } from '../../../../core/json.js'

const sync = (more: { name?: unknown; spec?: unknown; status?: unknown } = {}): JsonMap => ({
  apiVersion: 'reliablesyncs.kubeedge.io/v1alpha1',
  kind: 'ObjectSync',
  metadata: { name: 'name' in more ? more.name : 'shop.north.u-1', namespace: 'till' },
  spec: more.spec ?? { objectAPIVersion: 'v1', objectKind: 'pod', objectName: 'web' },
  status: 'status' in more ? more.status : { objectResourceVersion: '17' },
})
const web = { type: 'pod', namespace: 'till', name: 'web', version: '17', print: '' } as const

t.test("cloudcore's account of what an edge keeps", t => {
  const of = (held: object) => ({ node: 'shop.north', uid: 'u-1', held })
  const rows: [claim: string, raw: JsonMap, is: unknown][] = [
    ['a pod', sync(), of(web)],
    [
      'a kind with capitals',
      sync({ spec: { objectKind: 'ConfigMap', objectName: 'a' } }),
      of({ ...web, type: 'configmap', name: 'a' }),
    ],
    [
      'sent, no word yet',
      sync({ status: { objectResourceVersion: '0' } }),
      of({ ...web, version: '0' }),
    ],
    ['no status', sync({ status: undefined }), of({ ...web, version: '0' })],
    [
      'a Node',
      sync({ spec: { objectKind: 'node', objectName: 'n' } }),
      of({ ...web, type: 'node', name: 'n', namespace: '' }),
    ],
    ['a kind that is not ours', sync({ spec: { objectKind: 'rule', objectName: 'n' } }), undefined],
    ['no kind', sync({ spec: 7 }), undefined],
    ['no name of an object', sync({ spec: { objectKind: 'pod' } }), undefined],
    ...['a b', 'a\np u-2 till web 1 ', '../secrets/a', 'A', '-a', 'a'.repeat(254)].map(
      (objectName): [string, JsonMap, undefined] => [
        `no object is called ${JSON.stringify(objectName.slice(0, 20))}`,
        sync({ spec: { objectKind: 'pod', objectName } }),
        undefined,
      ],
    ),
    ['no dot', sync({ name: 'u-1' }), undefined],
    ['no uid', sync({ name: 'shop.' }), undefined],
    ['no name', sync({ name: undefined }), undefined],
  ]
  for (const [claim, raw, is] of rows) t.strictSame(readObjectSync(raw), is, claim)
  t.end()
})

t.test('records as ObjectSyncs, for a return to cloudcore', t => {
  const one = { node: 'shop.north', uid: 'u-1', held: web }
  t.strictSame(objectSyncOf(one), sync())
  const own = { ...one, held: { ...web, type: 'node', namespace: '' } as const }
  t.match(objectSyncOf(own), { kind: 'ClusterObjectSync', metadata: { name: 'shop.north.u-1' } })
  for (const synced of [one, own]) t.strictSame(readObjectSync(objectSyncOf(synced)), synced)
  t.end()
})
