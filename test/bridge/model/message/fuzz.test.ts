// SPDX-License-Identifier: Apache-2.0
// Frames of which nobody knows who wrote them, through everything that reads them. `FC_RUNS=1000000` with tap's `--timeout=0` tries more.
import t from 'tap'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import { leaseToWrite } from '../../../../bridge/model/merge/lease.js'
import { nodeToCreate, nodeUpdatePatch } from '../../../../bridge/model/merge/node.js'
import {
  contentDelete,
  contentObject,
  contentPatch,
} from '../../../../bridge/model/message/content.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import { checkRead, checkRight } from '../../../../bridge/model/right/right.js'
import { routeUpstream } from '../../../../bridge/model/route/upstream.js'
import { InvalidInputError } from '../../../../core/errors.js'
import { numberOf } from '../../../../testkit/properties.js'
import { seededRandom } from '../../../../testkit/seeded-random.js'
import { configVolume, pod, SHOP } from '../objects.js'

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
  frame('insert', 'till/event/web.1', { involvedObject: { kind: 'Pod', name: 'web' } }),
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

const locations = new LocationCache()
locations.setPod(pod('web', { volumes: [configVolume('prices')] }), SHOP)

/** Refusing what is no good is an answer; anything else that is thrown is not. */
const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch (error) {
    if (error instanceof InvalidInputError) return undefined
    throw error
  }
}

const readWhole = (text: string): boolean => {
  const message = attempt(() => parseMessage(text))
  if (message === undefined) return false
  frameOf(message)
  const upstream = routeUpstream(message, SHOP)
  const content = attempt(() => contentObject('content', message.content)) ?? {}
  attempt(() => contentPatch('patch', message.content))
  attempt(() => contentDelete('delete', message.content))
  attempt(() => leaseToWrite(content, SHOP, 0))
  nodeUpdatePatch(content, nodeToCreate(content, SHOP))
  if (upstream.kind !== 'request') return true
  const { resource, route } = upstream
  const question = { handler: route.handler, resource, content }
  checkRight(question, locations)
  checkRead(question, content, locations)
  return true
}

t.test('every frame is read or refused', t => {
  // A million frames take minutes.
  if (numberOf('FC_RUNS') !== undefined) t.setTimeout(0)
  const runs = numberOf('FC_RUNS') ?? 20_000
  const random = seededRandom(numberOf('FC_SEED') ?? 1)
  const before = process.memoryUsage().heapUsed
  let read = 0
  for (let run = 0; run < runs; run++) {
    let text = SAMPLES[random.below(SAMPLES.length)]!
    for (let edits = random.below(4); edits > 0; edits--) {
      const at = random.below(text.length)
      text = text.slice(0, at) + BITS[random.below(BITS.length)]! + text.slice(at + random.below(6))
    }
    if (readWhole(text)) read++
  }
  t.ok(read > runs / 10 && read < runs, `${read} of ${runs} are read, the others refused`)
  t.ok(process.memoryUsage().heapUsed < before + 256 * 1024 * 1024, 'nothing of them is kept')
  t.equal(({} as { a?: unknown }).a, undefined, 'nor put into what all objects share')
  t.end()
})
