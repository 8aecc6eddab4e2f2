// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { fromJson } from '../../../wrapper/wire/from-json.js'
import type { Kind } from '../../../wrapper/wire/kinds.js'
import { openEnvelope, splitList } from '../../../wrapper/wire/envelope.js'
import { hasOnlyKnownFields } from '../../../wrapper/wire/known-fields.js'
import { Sink } from '../../../wrapper/wire/sink.js'
import { realBodies } from '../real-bodies.js'

t.test('an object has only known fields unless a newer apiserver adds some, at any depth', t => {
  const slice = {
    metadata: { name: 'a', labels: { x: 'y' }, annotations: { z: '' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['1.0.0.1'], conditions: { ready: true }, nodeName: 'n' }],
    ports: [{ name: 'http', port: 80 }],
  }
  const raw = fromJson('EndpointSlice', slice)
  t.equal(hasOnlyKnownFields('EndpointSlice', raw), true)
  t.equal(hasOnlyKnownFields('EndpointSlice', new Uint8Array(0)), true)
  const outside = new Sink(64).copy(raw).text(100, 'new').take()
  t.equal(hasOnlyKnownFields('EndpointSlice', outside), false)
  // Another endpoint, with a field that is not known.
  const endpoint = new Sink(64).text(1, '1.0.0.2').text(100, 'new').take()
  t.equal(
    hasOnlyKnownFields('EndpointSlice', new Sink(64).copy(raw).bytes(2, endpoint).take()),
    false,
  )
  const broken = Uint8Array.of(0x0a, 0x7f)
  t.throws(() => hasOnlyKnownFields('EndpointSlice', broken), { name: 'WireError' })
  t.end()
})

t.test('JSON has all that a real apiserver says', t => {
  let count = 0
  for (const { name, protobuf } of realBodies.lists) {
    const { kind, raw, apiVersion } = openEnvelope(protobuf)
    if (apiVersion.endsWith('v1beta1')) continue
    for (const item of splitList(raw).items) {
      count++
      t.equal(hasOnlyKnownFields(kind.replace(/List$/, '') as Kind, item), true, name)
    }
  }
  t.ok(count > 5, `${count} objects of ${realBodies.from}`)
  t.end()
})
