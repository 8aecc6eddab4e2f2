// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { ROWS } from '../../../wrapper/store/resources.js'
import { makeItemCodec } from '../../../wrapper/upstream/item-codec.js'

const codec = makeItemCodec(ROWS.services)

const parse = (list: object) =>
  codec.parsePage('/api/v1/services', {
    bytes: Buffer.from(JSON.stringify(list)),
    type: 'application/json',
    warning: undefined,
    date: undefined,
  })

const list = (kind?: string): object => ({
  ...(kind === undefined ? {} : { kind }),
  ...{ apiVersion: 'v1', metadata: { resourceVersion: '5' }, items: [] },
})

t.test('an empty list of another kind is no empty list of services', t => {
  for (const kind of ['PodList', 'ConfigMapList', 'EndpointSliceList'])
    t.throws(() => parse(list(kind)), { message: new RegExp(`the answer is a ${kind}`) })
  t.end()
})

t.test('a list of the kind, in the capitals of any server, or without a kind', t => {
  for (const kind of ['ServiceList', 'serviceList', undefined])
    t.match(parse(list(kind)), { items: [], version: '5' })
  t.end()
})
