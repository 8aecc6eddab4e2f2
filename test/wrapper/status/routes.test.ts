// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { statusRoutes, type WrapperViews } from '../../../wrapper/status/routes.js'
import type { ServiceView } from '../../../wrapper/status/status-view.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { serveRoutes } from '../../../testkit/served-routes.js'
import { wrapperStatusFixture as view } from '../../../testkit/wrapper/status-fixture.js'

const serve = async (t: Test, views: Partial<WrapperViews> = {}) => {
  const log = recordingLog()
  const all = { status: () => view, explain: () => undefined, ...views }
  return { ask: await serveRoutes(t, statusRoutes(all, log)), log }
}

t.test('what each path answers', async t => {
  const explained: string[] = []
  const { ask } = await serve(t, {
    explain: service => {
      explained.push(service)
      return service === 'default/web' ? ({ service } as ServiceView) : undefined
    },
  })
  const rows: [path: string, status: number, text: RegExp][] = [
    ['/healthz', 200, /^ok\n$/],
    ['/readyz', 503, /^not known yet: nodes\n$/],
    ['/status?pretty', 200, /"node":"a"/],
    ['/explain?service=default%2Fweb', 200, /^\{"service":"default\/web"\}\n$/],
    ['/explain?service=default/no', 404, /^no such service\n$/],
    ['/explain?service=../../etc', 400, /^service must be NAMESPACE\/NAME\n$/],
    ['/explain', 400, /^service must be/],
    ['/', 404, /not found/],
  ]
  for (const [path, status, text] of rows) t.match(await ask(path), { status, text }, path)
  t.strictSame(explained, ['default/web', 'default/no'], 'nothing but names gets further')
  t.match(await ask('/status', 'POST'), { status: 405 })
  t.match(await ask('/healthz', 'HEAD'), { status: 200, text: '' })
  const { headers } = await ask('/status')
  t.equal(headers.get('cache-control'), 'no-store')
  t.strictSame(JSON.parse((await ask('/status')).text), view)
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

t.test('/metrics: one kind and one help each, counters alone end in _total', async t => {
  const { ask } = await serve(t)
  const { text, headers } = await ask('/metrics')
  t.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  const kinds = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', kind]) => ({
    name,
    kind,
  }))
  t.ok(kinds.length > 20)
  t.equal(new Set(kinds.map(({ name }) => name)).size, kinds.length)
  for (const { name, kind } of kinds) {
    t.match(name, /^edge_health_wrapper_[a-z_]+$/)
    t.equal(name.endsWith('_total'), kind === 'counter', name)
    t.match(text, new RegExp(`^# HELP ${name} .`, 'm'))
  }
  const value = (series: string): string | undefined =>
    text
      .split('\n')
      .find(line => line.startsWith(`edge_health_wrapper_${series} `))
      ?.split(' ')[1]
  const rows: [series: string, value: string | undefined][] = [
    ['build_info{version="1.2.3"}', '1'],
    ['ready', '0'],
    ['objects{resource="services"}', '7'],
    ['stale{resource="nodes"}', '0'],
    ['stale{resource="services"}', '1'],
    ['age_seconds{resource="services"}', '60'],
    ['age_seconds{resource="nodes"}', undefined],
    ['watchers{resource="nodes"}', '2'],
    ['upstream_lists_total{resource="services"}', '3'],
    ['requests_total{kind="unreachable"}', '7'],
    ['watch_events_total{kind="overtaken"}', '13'],
    ['watch_events_total{kind="failed"}', '14'],
    ['health_state{state="expired"}', '1'],
    ['health_state{state="fresh"}', '0'],
    ['health_dead_nodes', '2'],
    ['topology_malformed', '1'],
    ['events_waiting', '21'],
    ['events_total{kind="dropped"}', '25'],
    ['connections_evicted_total{listener="clients"}', '8'],
    ['disk_trouble', '1'],
  ]
  for (const [series, want] of rows) t.equal(value(series), want, series)
})
