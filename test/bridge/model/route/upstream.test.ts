// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import type { Message } from '../../../../bridge/model/message/message.js'
import { routeUpstream, type Upstream } from '../../../../bridge/model/route/upstream.js'
import { parseNodeName } from '../../../../core/ids.js'
import fc from '../../../../testkit/properties.js'

const node = parseNodeName('shop-1')
const base: Message = {
  ...{ id: 'a', parentId: undefined, timestamp: 1, resourceVersion: undefined },
  ...{ source: 'edged', group: 'meta', operation: 'query', resource: 'default/configmap/x' },
  content: null,
}
const routed = (more: Partial<Message>): Upstream => routeUpstream({ ...base, ...more }, node)

t.test('requests about objects', t => {
  const rows: [
    resource: string,
    operation: string,
    handler: string,
    lane: string,
    reply: string,
    isReplyAcked: boolean,
  ][] = [
    ['kube-node-lease/lease/shop-1', 'query', 'read-lease', 'lease', 'answer', true],
    ['kube-node-lease/lease/shop-1', 'insert', 'create-lease', 'lease', 'answer', true],
    ['kube-node-lease/lease/shop-1', 'update', 'update-lease', 'lease', 'answer', true],
    ['null/node/shop-1', 'insert', 'create-node', 'request', 'answer', true],
    ['default/node/shop-1', 'query', 'read-object', 'request', 'object', true],
    ['default/node/shop-1', 'update', 'update-node', 'request', 'ok', true],
    ['null/nodepatch/shop-1', 'patch', 'patch-node-status', 'request', 'answer', false],
    ['default/podpatch/web', 'patch', 'patch-pod-status', 'request', 'answer', false],
    ['default/pod/web', 'delete', 'delete-pod', 'request', 'ok', false],
    ['default/pod/web', 'insert', 'create-pod', 'request', 'answer', true],
    ['default/configmap/x', 'query', 'read-object', 'request', 'object', true],
    ['default/secret/x', 'query', 'read-object', 'request', 'object', true],
    ['default/persistentvolumeclaim/x', 'query', 'read-object', 'request', 'object', true],
    ['default/persistentvolume/x', 'query', 'read-object', 'request', 'object', true],
    ['default/volumeattachment/x', 'query', 'read-object', 'request', 'object', true],
    ['default/serviceaccounttoken/default', 'query', 'create-token', 'request', 'object', true],
    ['default/event/web.17', 'insert', 'write-event', 'event', 'none', false],
    ['default/event/web.17', 'update', 'write-event', 'event', 'none', false],
    ['default/event/web.17', 'patch', 'write-event', 'event', 'none', false],
    ['default/certificatesigningrequest/x', 'insert', 'refuse', 'request', 'answer', false],
    ['default/certificatesigningrequest/x', 'query', 'refuse', 'request', 'answer', false],
  ]
  for (const [resource, operation, handler, lane, reply, isReplyAcked] of rows) {
    const is = routed({ resource, operation })
    const [type, name] = resource.split('/').slice(1)
    t.match(
      is,
      {
        kind: 'request',
        route: { handler, lane, reply, isReplyAcked },
        resource: { node, type, name },
      },
      `${operation} ${resource}`,
    )
    t.strictSame(
      routed({ resource: `node/other/${resource}`, operation }),
      is,
      'whatever node stands there, it is about the one that is connected',
    )
  }
  t.end()
})

t.test('everything else', t => {
  const rows: [claim: string, message: Partial<Message>, is: unknown][] = [
    [
      'a keepalive',
      { source: 'websocket', operation: 'keepalive', resource: 'node' },
      { kind: 'keepalive' },
    ],
    ["KubeEdge's ping", { operation: 'ping' }, { kind: 'control' }],
    ["KubeEdge's config", { operation: 'config' }, { kind: 'control' }],
    [
      'OK to what the cloud sent, with its own route',
      { source: 'edgecontroller', operation: 'response', parentId: 'm1', content: 'OK' },
      { kind: 'ack', of: 'm1' },
    ],
    [
      'not OK',
      { source: 'metamanager', operation: 'error', parentId: 'm1' },
      { kind: 'failed', of: 'm1' },
    ],
    [
      'OK to nothing',
      { operation: 'response' },
      { kind: 'ignored', reason: 'response that answers nothing, about default/configmap/x' },
    ],
    [
      'not OK to nothing',
      { operation: 'error' },
      { kind: 'ignored', reason: 'error that answers nothing, about default/configmap/x' },
    ],
    [
      'its devices',
      { source: 'twin', group: 'resource', operation: 'get', resource: 'membership/detail' },
      {
        kind: 'special',
        route: { handler: 'membership', lane: 'request', reply: 'membership', isReplyAcked: false },
      },
    ],
    [
      'the certificate of the cluster',
      { resource: 'k8s/ca.crt' },
      {
        kind: 'special',
        route: { handler: 'cluster-ca', lane: 'request', reply: 'text', isReplyAcked: false },
      },
    ],
    [
      "a request to the edge's own API",
      { source: 'metaserver', group: 'dynamiccontroller', operation: 'null', resource: 'null' },
      {
        kind: 'special',
        route: {
          handler: 'application',
          lane: 'request',
          reply: 'application',
          isReplyAcked: false,
        },
      },
    ],
    [
      'who speaks for the cloud',
      { source: 'edgecontroller', operation: 'update', resource: 'default/pod/web' },
      {
        kind: 'ignored',
        reason:
          'update of default/pod/web by edgecontroller: only the cloud speaks for this module',
      },
    ],
    [
      'a device twin',
      { source: 'twin', operation: 'update', resource: 'node/x/device/y' },
      { kind: 'ignored', reason: 'the bridge does not serve update of node/x/device/y by twin' },
    ],
    [
      'a message of a user',
      { source: 'eventbus', group: 'user', operation: 'upload', resource: 'a/b' },
      { kind: 'ignored', reason: 'the bridge does not serve upload of a/b by eventbus' },
    ],
    [
      "an answer to nobody's ping",
      { operation: 'pong' },
      { kind: 'ignored', reason: 'the bridge does not serve pong of default/configmap/x by edged' },
    ],
    [
      'a type that nobody knows',
      { resource: 'default/podlist/x' },
      { kind: 'unknown', reason: 'the bridge does not serve query of default/podlist/x by edged' },
    ],
    [
      'an operation that nobody knows',
      { operation: 'delete' },
      {
        kind: 'unknown',
        reason: 'the bridge does not serve delete of default/configmap/x by edged',
      },
    ],
    [
      'a name of an inner key',
      { resource: 'default/constructor/x' },
      {
        kind: 'unknown',
        reason: 'the bridge does not serve query of default/constructor/x by edged',
      },
    ],
    [
      'all of a namespace',
      { resource: 'default/secret' },
      { kind: 'unknown', reason: 'query of default/secret by edged must name an object' },
    ],
    [
      'no resource at all',
      { resource: 'null' },
      { kind: 'unknown', reason: 'resource must be <namespace>/<type>/<name>, got "null"' },
    ],
  ]
  for (const [claim, message, is] of rows) t.strictSame(routed(message), is, claim)
  t.end()
})

t.test('whatever an edge says, it is about that edge', t => {
  const word = fc.constantFrom(
    'node',
    'shop-2',
    'default',
    'pod',
    'lease',
    'secret',
    'null',
    'x',
    '..',
  )
  const resource = fc.array(word, { maxLength: 6 }).map(words => words.join('/'))
  const operation = fc.constantFrom('query', 'insert', 'update', 'delete', 'patch', 'response', '')
  fc.assert(
    fc.property(
      resource,
      operation,
      fc.constantFrom('edged', 'twin', 'router', ''),
      (resource, operation, source) => {
        const is = routed({ resource, operation, source })
        return is.kind !== 'request' || (is.resource.node === node && is.resource.name !== '')
      },
    ),
    { numRuns: 1000 },
  )
  t.end()
})
