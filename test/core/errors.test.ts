// SPDX-License-Identifier: Apache-2.0
import t from 'tap'
import {
  isAnsweredByApi,
  isAnsweredByCloud,
  isNotFound,
  isRefusal,
  KubeStatusError,
  KubeUnreachableError,
} from '../../core/errors.js'

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

t.test('whose answer a refusal is', t => {
  const said = (code: number, isFromApi = true): Error =>
    new KubeStatusError('GET', { status: code, reason: '', message: '', isFromApi })
  const rows: [claim: string, error: unknown, isIt: boolean][] = [
    ...[400, 401, 403, 404, 409, 422, 429, 499].map(
      code => [`${code} with a Status`, said(code), true] as [string, Error, boolean],
    ),
    ['a page', said(403, false), false],
    ['a page of which nothing is said', status(404, 'NotFound'), false],
    ['a redirect, whatever it holds', said(302), false],
    ['an apiserver that does not serve', said(500), false],
    ['a success that is none', said(200), false],
    ['nobody', new KubeUnreachableError('GET', 'refused'), false],
  ]
  for (const [claim, error, isIt] of rows) t.equal(isAnsweredByApi(error), isIt, claim)
  for (const [claim, error, isIt] of rows) {
    const isSo = isIt && claim !== '400 with a Status'
    t.equal(isAnsweredByCloud(error), isSo, `${claim}, of the cloud`)
  }
  t.end()
})
