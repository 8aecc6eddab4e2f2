// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { errStatus, statusOf } from '../../../../bridge/model/message/status.js'
import {
  KubeStatusError,
  KubeUnreachableError,
  TimeoutError,
  WithheldError,
} from '../../../../core/errors.js'
import { isMap } from '../../../../core/json.js'
import fc from '../../../../testkit/properties.js'

t.test('what an edge is sent about a failure', t => {
  const details = { name: 'shop-1', group: 'coordination.k8s.io', kind: 'leases' }
  const rows: [claim: string, error: unknown, status: unknown][] = [
    [
      "the apiserver's word",
      new KubeStatusError('get lease', {
        status: 404,
        reason: 'NotFound',
        message: 'leases "shop-1" not found',
        details,
      }),
      { status: 404, reason: 'NotFound', message: 'leases "shop-1" not found', details },
    ],
    [
      'an apiserver that says nothing',
      new KubeStatusError('get lease', { status: 502, reason: '', message: '' }),
      { status: 502, reason: '', message: 'get lease: 502 ', details: undefined },
    ],
    [
      'no answer in time',
      new TimeoutError(5000),
      { status: 504, reason: 'Timeout', message: 'no answer within 5000 ms' },
    ],
    [
      'no answer in time, as the client says it',
      new KubeUnreachableError('get lease', 'no answer within 5 ms', {
        cause: new TimeoutError(5),
      }),
      { status: 504, reason: 'Timeout', message: 'get lease: no answer within 5 ms' },
    ],
    [
      'no connection',
      new KubeUnreachableError('get lease', 'refused'),
      { status: 503, reason: 'ServiceUnavailable', message: 'get lease: refused' },
    ],
    [
      'what was kept back',
      new WithheldError('put lease', 'another leads'),
      {
        ...{ status: 503, reason: 'ServiceUnavailable' },
        message: 'put lease: not sent, another leads',
      },
    ],
    [
      'a fault of ours',
      new Error('oops'),
      { status: 500, reason: 'InternalError', message: 'oops' },
    ],
    ['what is no error', 'oops', { status: 500, reason: 'InternalError', message: '"oops"' }],
  ]
  for (const [claim, error, status] of rows) t.strictSame(statusOf(error), status, claim)
  t.end()
})

t.test('an error is never empty', t => {
  t.strictSame(
    errStatus({ status: 404, reason: 'NotFound', message: 'gone', details: { kind: 'nodes' } }),
    {
      ErrStatus: {
        ...{ metadata: {}, status: 'Failure', message: 'gone', reason: 'NotFound' },
        ...{ details: { kind: 'nodes' }, code: 404 },
      },
    },
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.double(), fc.integer()),
      fc.string(),
      fc.string(),
      (status, reason, message) => {
        const { ErrStatus } = errStatus({ status, reason, message })
        return (
          isMap(ErrStatus) &&
          ErrStatus['status'] === 'Failure' &&
          Number.isInteger(ErrStatus['code']) &&
          Number(ErrStatus['code']) >= 400
        )
      },
    ),
  )
  t.end()
})
