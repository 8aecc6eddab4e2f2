// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { operatorRoutes, plainAnswer, type OperatorViews } from '../../net/operator-routes.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { serveRoutes } from '../../testkit/served-routes.js'

const views: OperatorViews = {
  status: () => ({ a: 1 }),
  metrics: () => 'm 1\n',
  ready: () => ({ isReady: false, reason: 'not yet' }),
}

const serve = async (t: Test, more: Partial<OperatorViews> = {}) => {
  const log = recordingLog()
  return { ask: await serveRoutes(t, operatorRoutes({ ...views, ...more }, log)), log }
}

t.test('what each path answers', async t => {
  const { ask } = await serve(t)
  const rows: [path: string, status: number, text: string, type: string][] = [
    ['/healthz', 200, 'ok\n', 'text/plain; charset=utf-8'],
    ['/readyz', 503, 'not yet\n', 'text/plain; charset=utf-8'],
    ['/status?pretty', 200, '{"a":1}\n', 'application/json; charset=utf-8'],
    ['/metrics', 200, 'm 1\n', 'text/plain; version=0.0.4; charset=utf-8'],
    ['/', 404, '404 page not found\n', 'text/plain; charset=utf-8'],
    ['/toString', 404, '404 page not found\n', 'text/plain; charset=utf-8'],
  ]
  for (const [path, status, text, type] of rows) {
    const answer = await ask(path)
    t.match(answer, { status, text }, path)
    t.equal(answer.headers.get('content-type'), type, path)
    t.equal(answer.headers.get('cache-control'), 'no-store', path)
    t.equal(answer.headers.get('x-content-type-options'), 'nosniff', path)
  }
})

t.test('only GET and HEAD are answered, and HEAD without a body', async t => {
  const { ask } = await serve(t)
  t.match(await ask('/status', 'POST'), { status: 405, text: 'only GET\n' })
  t.match(await ask('/healthz', 'HEAD'), { status: 200, text: '' })
})

t.test('who is ready says 200; further paths get the query', async t => {
  const { ask } = await serve(t, {
    ready: () => ({ isReady: true, reason: 'ok' }),
    more: { '/echo': query => plainAnswer(418, query.get('q') ?? 'none') },
  })
  t.match(await ask('/readyz'), { status: 200, text: 'ok\n' })
  t.match(await ask('/echo?q=a%20b'), { status: 418, text: 'a b\n' })
  t.match(await ask('/echo'), { status: 418, text: 'none\n' })
  t.match(await ask('/echo/'), { status: 404 })
})

t.test('a view that fails is 500 and a line in the log, and says nothing more', async t => {
  const { ask, log } = await serve(t, {
    status: () => {
      throw new Error('secret')
    },
  })
  t.match(await ask('/status'), { status: 500, text: 'internal error\n' })
  t.match(log.lines, [{ level: 'error', fields: { error: 'secret' } }])
})
