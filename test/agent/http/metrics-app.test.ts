// SPDX-License-Identifier: Apache-2.0
import t, { type Test } from 'tap'
import { makeMetricsApp } from '../../../agent/http/metrics-app.js'
import type { MetricsNodes } from '../../../agent/http/metrics.js'
import type { NodeStatus, StatusView } from '../../../agent/http/status-view.js'
import { systemClock, type Clock } from '../../../core/clock.js'
import { FakeClock } from '../../../testkit/fake-clock.js'
import { openListener } from '../../../testkit/http/open-listener.js'
import { ask } from '../../../testkit/http/raw-http.js'
import { recordingLog } from '../../../testkit/recording-log.js'
import { FakeViews, nodeFixture, statusFixture } from '../../../testkit/zone/status-fixture.js'

const startMetrics = async (t: Test, metricsNodes: MetricsNodes, clock: Clock = systemClock) => {
  const views = new FakeViews()
  const handle = makeMetricsApp({ views, metricsNodes, clock })
  const listener = await openListener({ handle }, { log: recordingLog() })
  t.teardown(() => listener.close())
  const scrape = async () => (await ask(listener.port, '/metrics')).text
  return { views, port: listener.port, scrape }
}

t.test('the listener for others serves /metrics and nothing else', async t => {
  const clock = new FakeClock()
  const { views, port, scrape } = await startMetrics(t, 'all', clock)
  for (const path of ['/', '/status', '/localinfo', '/healthz', '/readyz', '/debug/flags/v'])
    t.match(await ask(port, path), { status: 404 }, path)
  t.match(await ask(port, '/metrics', { method: 'PUT' }), { status: 405 })
  t.match((await ask(port, '/metrics?x=1')).headers['content-type'], /version=0\.0\.4/)
  const first = await scrape()
  t.match(first, /^edge_health_node_verdict\{peer="node-2"\} 1$/m)
  views.view = statusFixture({ 2: { verdict: 'unhealthy', class: 'dead' } })
  t.equal(await scrape(), first, 'however many ask, it is made once in a second')
  await clock.advance(1_000)
  t.match(await scrape(), /^edge_health_node_verdict\{peer="node-2"\} -1$/m)
})

t.test('--metrics-nodes: all, those with something to tell, or none', async t => {
  const peers = async (which: MetricsNodes, nodes: StatusView['nodes']) => {
    const { views, scrape } = await startMetrics(t, which)
    views.view = { ...views.view, nodes }
    return new Set([...(await scrape()).matchAll(/peer="(.*?)"/g)].map(([, name]) => name))
  }
  const { nodes } = statusFixture()
  t.equal((await peers('all', nodes)).size, 5)
  t.equal((await peers('troubled', nodes)).size, 0, 'all is well')
  const peer = nodeFixture(3).peer!
  const probe = nodeFixture(3).probe!
  const troubles: readonly Partial<NodeStatus>[] = [
    { class: 'undecided' },
    { pending: 'unhealthy' },
    { local: 'down' },
    { cloudCutSince: '2026-01-01T09:55:00.000Z' },
    { vouch: { state: 'active', since: null, by: 'node-1', reason: '' } },
    { kubelet: 'bad' },
    { probe: { ...probe, vote: 'not-looked' } },
    { peer: { ...peer, state: 'silent' } },
    { peer: { ...peer, dialect: 'superedge-v0.9' } },
  ]
  for (const trouble of troubles) {
    const { nodes } = statusFixture({ 3: trouble })
    t.strictSame([...(await peers('troubled', nodes))], ['node-3'], JSON.stringify(trouble))
    t.equal((await peers('none', nodes)).size, 0)
  }
})

t.test('who writes: due next, or vouching', async t => {
  const clock = new FakeClock()
  const { views, scrape } = await startMetrics(t, 'none', clock)
  const next = { what: 'unhealthy', by: 'node-1', ownRank: 0, inSeconds: 1 }
  const vouch = { state: 'active', since: null, by: 'node-1', reason: '' } as const
  views.view = statusFixture({ 2: { nextWrite: next }, 3: { vouch } })
  t.match(await scrape(), /^edge_health_writer 2$/m)
  await clock.advance(1_000)
  views.view = statusFixture({
    2: { nextWrite: { ...next, ownRank: 1 } },
    3: { vouch: { ...vouch, by: 'node-4' } },
  })
  t.match(await scrape(), /^edge_health_writer 0$/m)
})

t.test('whether the account is confined', async t => {
  const values = { yes: 1, no: 0, unknown: -1 }
  for (const state of ['yes', 'no', 'unknown'] as const) {
    const { views, scrape } = await startMetrics(t, 'none')
    const { confinement } = views.view
    views.view = { ...views.view, confinement: { ...confinement, state } }
    t.match(await scrape(), new RegExp(`^edge_health_confined ${values[state]}$`, 'm'), state)
  }
})
