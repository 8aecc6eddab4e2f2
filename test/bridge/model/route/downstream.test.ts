// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import { deleteMessage, updateMessage } from '../../../../bridge/model/route/downstream.js'
import { parseNodeName } from '../../../../core/ids.js'

const node = parseNodeName('shop-1')
const pod = { node, type: 'pod', namespace: 'default', name: 'web' } as const
const stamp = { id: 'm1', at: 9 }
const route = (operation: string, resource: string) => ({
  ...{ source: 'edgecontroller', group: 'resource', operation, resource },
})

t.test('an object as it is', t => {
  const object = { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web', resourceVersion: '5' } }
  t.strictSame(JSON.parse(frameOf(updateMessage(pod, stamp, object))), {
    header: { msg_id: 'm1', timestamp: 9, resourceversion: '5' },
    route: route('update', 'default/pod/web'),
    content: object,
  })
  t.equal(updateMessage(pod, stamp, {}).resourceVersion, undefined)
  t.equal(updateMessage(pod, stamp, { metadata: {} }).resourceVersion, undefined)
  t.end()
})

t.test('an object that is gone', t => {
  t.strictSame(JSON.parse(frameOf(deleteMessage(pod, stamp, 'u1'))), {
    header: { msg_id: 'm1', timestamp: 9 },
    route: route('delete', 'default/pod/web'),
    content: {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { namespace: 'default', name: 'web', uid: 'u1' },
      spec: { nodeName: 'shop-1' },
    },
  })
  const own = { node, type: 'node', namespace: '', name: 'shop-1' } as const
  t.strictSame(JSON.parse(frameOf(deleteMessage(own, stamp, 'u2'))), {
    header: { msg_id: 'm1', timestamp: 9 },
    route: route('delete', 'null/node/shop-1'),
    content: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'shop-1', uid: 'u2' } },
  })
  t.end()
})
