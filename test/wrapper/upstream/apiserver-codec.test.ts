// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { BrokenStreamError } from '../../../kube/client/codec.js'
import { ROWS } from '../../../wrapper/store/resources.js'
import { makeVersions } from '../../../wrapper/store/versions.js'
import { apiserverCodec } from '../../../wrapper/upstream/apiserver-codec.js'
import { makeItemCodec } from '../../../wrapper/upstream/item-codec.js'

const codec = apiserverCodec(makeItemCodec(ROWS.services))
const OURS = String(makeVersions(0).newest)
const TYPE = 'application/json'

const page = (resourceVersion: string): Buffer =>
  Buffer.from(JSON.stringify({ kind: 'ServiceList', metadata: { resourceVersion }, items: [] }))

const line = (type: string, resourceVersion: string): Buffer =>
  Buffer.from(`${JSON.stringify({ type, object: { metadata: { name: 's', resourceVersion } } })}\n`)

t.test('a list of a wrapper’s is no list of the apiserver’s', t => {
  for (const version of ['1', '999999999999999'])
    t.equal(codec.parsePage('/s', { type: TYPE, bytes: page(version) }).version, version)
  t.throws(() => codec.parsePage('/s', { type: TYPE, bytes: page(OURS) }), {
    message: `GET /s: the server must be the apiserver, but resourceVersion ${OURS} is a wrapper's`,
  })
  t.end()
})

t.test('nor is an event or a bookmark', t => {
  for (const type of ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']) {
    const reader = codec.makeReader('services', TYPE)
    const both = Buffer.concat([line(type, '7'), line(type, OURS)])
    const taken: string[] = []
    const read = (): unknown => {
      try {
        for (const event of reader.push(both)) taken.push(event.version)
        return undefined
      } catch (error) {
        return error
      }
    }
    t.type(read(), BrokenStreamError, type)
    t.strictSame(taken, ['7'], 'what came before is the apiserver’s')
  }
  const reader = codec.makeReader('services', TYPE)
  t.strictSame([...reader.push(Buffer.from('{"ty'))], [])
  t.equal(reader.pending, 4)
  t.end()
})
