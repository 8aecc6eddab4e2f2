// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import { isNotFound, isRefusal, KubeStatusError, KubeUnreachableError } from '../../core/errors.js'

const status = (code: number, reason: string): Error =>
  new KubeStatusError('GET', { status: code, reason, message: '' })

t.test('only the API itself says that there is no such object', t => {
  const rows: [claim: string, error: unknown, isIt: boolean][] = [
    ['the API', status(404, 'NotFound'), true],
    [
      'a proxy without a backend, by the phrase of its status line',
      status(404, 'Not Found'),
      false,
    ],
    ['another word', status(403, 'Forbidden'), false],
    ['nobody', new KubeUnreachableError('GET', 'refused'), false],
  ]
  for (const [claim, error, isIt] of rows) t.equal(isNotFound(error), isIt, claim)
  t.end()
})

t.test('what the apiserver will not do, whoever asks it again', t => {
  const rows: [claim: string, error: unknown, isIt: boolean][] = [
    ['a role or a policy', status(403, 'Forbidden'), true],
    ['the API’s own rules', status(422, 'Invalid'), true],
    ['no such object', status(404, 'NotFound'), false],
    ['too busy', status(429, 'TooManyRequests'), false],
    ['nobody', new KubeUnreachableError('PATCH', 'refused'), false],
  ]
  for (const [claim, error, isIt] of rows) t.equal(isRefusal(error), isIt, claim)
  t.end()
})
