// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import type { Message } from '../../../../bridge/model/message/message.js'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import {
  answerReply,
  applicationReply,
  approved,
  controlReply,
  errorReply,
  membershipReply,
  objectReply,
  okReply,
  refusalReply,
  rejected,
  textReply,
  watchesReply,
} from '../../../../bridge/model/message/reply.js'
import fc from '../../../../testkit/properties.js'

const asked: Message = {
  ...{ id: 'q1', parentId: undefined, timestamp: 5, resourceVersion: undefined },
  ...{ source: 'edged', group: 'meta', operation: 'query', resource: 'null/node/shop-1' },
  content: null,
}
const stamp = { id: 'r1', at: 99 }
const header = { msg_id: 'r1', parent_msg_id: 'q1', timestamp: 99 }
const route = {
  source: 'edgecontroller',
  group: 'resource',
  operation: 'response',
  resource: 'null/node/shop-1',
}
const object = { kind: 'Node', metadata: { name: 'shop-1', resourceVersion: '7' } }
const notFound = { status: 404, reason: 'NotFound', message: 'gone' }

t.test('each form of a reply, as it goes out', t => {
  const rows: [claim: string, reply: Message, header: unknown, route: unknown, content: unknown][] =
    [
      ['done', okReply(asked, stamp), header, route, 'OK'],
      [
        'an object',
        objectReply(asked, stamp, object),
        { ...header, resourceversion: '7' },
        route,
        object,
      ],
      [
        'a token has no version',
        objectReply(asked, stamp, { kind: 'TokenRequest' }),
        header,
        route,
        { kind: 'TokenRequest' },
      ],
      [
        'an answer with an object: no error',
        answerReply(asked, stamp, { object }),
        { ...header, resourceversion: '7' },
        route,
        { Object: object, Err: null },
      ],
      [
        'an answer without: a Status',
        answerReply(asked, stamp, { refusal: notFound }),
        header,
        route,
        {
          Object: null,
          Err: {
            ErrStatus: {
              metadata: {},
              status: 'Failure',
              message: 'gone',
              reason: 'NotFound',
              code: 404,
            },
          },
        },
      ],
      [
        'an error',
        errorReply(asked, stamp, 'not found'),
        header,
        { ...route, operation: 'error' },
        'error: not found',
      ],
      ['a text', textReply(asked, stamp, 'PEM'), header, route, 'PEM'],
      [
        'to a ping',
        controlReply({ ...asked, source: 'hub', group: 'x' }, stamp),
        header,
        { ...route, source: 'hub', group: 'x' },
        'ack',
      ],
      [
        'no devices',
        membershipReply({ ...asked, resource: 'membership/detail' }, stamp),
        header,
        { ...route, source: 'devicecontroller', group: 'twin', resource: 'membership/detail' },
        { event_id: '', timestamp: 99, devices: [] },
      ],
      [
        "to the edge's own API",
        applicationReply({ ...asked, resource: 'null' }, stamp, { ID: 'a', Status: 'Approved' }),
        header,
        {
          ...route,
          source: 'dynamiccontroller',
          operation: 'applicationResponse',
          resource: 'ignore/Application/ignore',
        },
        { ID: 'a', Status: 'Approved' },
      ],
    ]
  for (const [claim, reply, header, route, content] of rows)
    t.strictSame(JSON.parse(frameOf(reply)), { header, route, content }, claim)
  t.end()
})

t.test('no answer crashes an edge: it has an object or a valid error', t => {
  const refusal = fc.record(
    { status: fc.integer(), reason: fc.string(), message: fc.string() },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        refusal.map(refusal => ({ refusal })),
        fc.constant({ object }),
      ),
      answer => {
        const { content } = parseMessage(frameOf(answerReply(asked, stamp, answer)))
        const { Object: whole, Err } = content as { Object: unknown; Err: unknown }
        const { ErrStatus } = (Err ?? {}) as { ErrStatus?: { status: string } }
        return (
          (whole === null) === (ErrStatus?.status === 'Failure') &&
          (whole !== null) === (Err === null)
        )
      },
    ),
  )
  t.end()
})

t.test('text of an error is never JSON, which an edge would keep', t => {
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), text => {
      const { content } = errorReply(asked, stamp, text)
      t.throws(() => JSON.parse(String(content)) as unknown)
      t.not(content, 'OK')
    }),
  )
  t.end()
})

t.test('what became of a request to the Kubernetes API of an edge', t => {
  const request = { ID: 'a', Key: '/core/v1/nodes', Verb: 'list', Nodename: 'e1', Option: 'e30=' }
  const echo = { ID: 'a', Key: '/core/v1/nodes', Verb: 'list', Nodename: 'e1' }
  t.strictSame(approved(request, '{}'), { ...echo, Status: 'Approved', RespBody: 'e30=' })
  t.strictSame(approved(request, undefined), { ...echo, Status: 'Approved' })
  t.match(rejected(request, notFound), {
    ...{ ...echo, Status: 'Rejected', Reason: 'gone' },
    Error: { ErrStatus: { status: 'Failure', reason: 'NotFound', code: 404 } },
  })
  const [most, more] = ['x'.repeat(2_048), 'x'.repeat(2_049)]
  t.strictSame(
    JSON.parse(JSON.stringify(approved({ ID: most, Key: more, Verb: [], Nodename: {} }, ''))),
    { ID: most, Status: 'Approved', RespBody: '' },
    'what no edge writes is not repeated, however much it is',
  )
  const of = { ...asked, source: 'metaserver', operation: 'null', resource: 'watchapp/sync' }
  t.match(watchesReply(of, stamp, {}), {
    ...{ parentId: 'q1', source: 'dynamiccontroller', group: 'resource', content: {} },
    ...{ operation: 'applicationResponse', resource: 'watchapp/sync' },
  })
  t.end()
})

t.test('a refusal has the form that its sender understands', t => {
  const refusalOf = (form: Parameters<typeof refusalReply>[0], content: unknown = null) =>
    refusalReply(form, { ...asked, content }, stamp, notFound)
  t.equal(refusalOf('none'), undefined)
  t.match(refusalOf('answer'), { operation: 'response', content: { Err: { ErrStatus: { code: 404 } } } }) // prettier-ignore
  t.match(refusalOf('application', { ID: 'a' }), {
    ...{ parentId: 'q1', operation: 'applicationResponse' },
    content: { ID: 'a', Status: 'Rejected', Error: { ErrStatus: { code: 404 } } },
  })
  t.match(refusalOf('application', 'x'), { content: { Status: 'Rejected' } })
  for (const form of ['membership', 'object', 'ok', 'text', 'watches'] as const)
    t.match(refusalOf(form), { operation: 'error', content: 'error: gone' }, form)
  t.end()
})
