// SPDX-License-Identifier: Apache-2.0
// Frames of edges that somebody has spoiled.
import { frameOf } from '../../bridge/model/message/frame.js'
import type { Random } from '../../core/random.js'
import { configVolume, pod } from './model/objects.js'

const frame = (operation: string, resource: string, content: unknown, source = 'edged'): string =>
  frameOf({
    ...{ id: '0b1f', parentId: 'c0', timestamp: 1_790_000_000_000, resourceVersion: undefined },
    ...{ source, group: 'meta', operation, resource, content },
  })
const status = { conditions: [{ type: 'Ready', status: 'True' }] }
const SAMPLES = [
  frame('keepalive', 'node', 'ping', 'websocket'),
  frame('get', 'membership/detail', '{"event_id":"x"}', 'twin'),
  frame('query', 'kube-node-lease/lease/shop-1', null),
  frame('update', 'kube-node-lease/lease/shop-1', { spec: { leaseDurationSeconds: 40 } }),
  frame('insert', 'null/node/shop-1', { metadata: { labels: { a: 'b' } }, status }),
  frame('update', 'null/node/shop-1', { metadata: { annotations: { a: 'b' } } }),
  frame('patch', 'null/nodepatch/shop-1', JSON.stringify({ status })),
  frame(
    'patch',
    'till/podpatch/web',
    Buffer.from('{"metadata":{"uid":"uid-web"}}').toString('base64'),
  ),
  frame('delete', 'till/pod/web', '22f9d1aa-8c6e-4b4b-9a60-3f6a5d1c0e77'),
  frame('insert', 'till/pod/web', pod('web', { volumes: [configVolume('prices')] })),
  frame('query', 'till/configmap/prices', null),
  frame('query', 'till/persistentvolume/pv', { spec: { claimRef: { name: 'x' } } }),
  frame('query', 'till/serviceaccounttoken/cashier', { spec: { boundObjectRef: { kind: 'Pod' } } }),
  frame('insert', 'till/event/web.1', {
    involvedObject: { kind: 'Pod', name: 'web' },
    source: { component: 'kubelet', host: 'shop-1' },
  }),
  frame('response', 'till/configmap/prices', 'OK', 'edgecontroller'),
  frame('null', 'null', { Key: '/core/v1/nodes/null/shop-1', Verb: 'get' }, 'metaserver'),
]
/** What stands where something else stood. */
const BITS = [
  ...[
    '"',
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '\\',
    '/',
    '..',
    'null',
    '0',
    '-1',
    '1e999',
    '""',
    '{}',
    '[]',
    '\u0000',
  ],
  ...[
    '"$patch":"replace",',
    '"__proto__":{"a":1},',
    '[[[[[[[[',
    '\\ud800',
    '"PeerHealth"',
    'node/x/',
    '=',
  ],
]

/** A frame as an edge writes it, changed at up to three places. */
export const spoiledFrame = (random: Random): string => {
  let text = SAMPLES[random.below(SAMPLES.length)]!
  for (let edits = random.below(4); edits > 0; edits--) {
    const at = random.below(text.length)
    text = text.slice(0, at) + BITS[random.below(BITS.length)]! + text.slice(at + random.below(6))
  }
  return text
}
