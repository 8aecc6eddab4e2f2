// SPDX-License-Identifier: Apache-2.0
// The grids controller, the bridge and the webhook in a real Prometheus: their dashboard, and that no alert waits while all is well.
import t from 'tap'
import { buildBundle, eventually } from '../../testkit/bundle.js'
import { findTool } from '../../testkit/find-tool.js'
import { startPrograms } from '../../testkit/prometheus/programs.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import { startPrometheus } from '../../testkit/prometheus/server.js'
import { tryDashboards } from './dashboard-queries.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)
const SOON_MS = 180_000
const prometheus = findTool('prometheus')

t.test('programs in a real Prometheus', { skip: prometheus.missing }, async t => {
  const programs = await startPrograms(buildBundle(t), '127.37.0.31')
  t.teardown(() => programs.stop())
  await eventually('they are ready', SOON_MS, () => programs.isReady())
  const { targets } = programs
  const server = await startPrometheus(prometheus.path, targets, ruleGroups())
  t.teardown(() => server.stop())
  await programs.work()
  await eventually('all of them are scraped', SOON_MS, async () => {
    const [ups] = await server.query('sum(up)')
    return ups?.points[0]?.[1] === targets.length
  })
  const what = { uids: ['edge-health-programs'], zone: '', limitMs: SOON_MS }
  await tryDashboards(t, server, what)
  const waiting = await server.query('ALERTS')
  t.strictSame(waiting.map(({ labels }) => labels['alertname']), [], 'no alert waits') // prettier-ignore

  await programs.stop()
  await eventually('ProgramDown waits for each of them', SOON_MS, async () => {
    const down = await server.query('ALERTS{alertname="EdgeHealthProgramDown"}')
    return down.length === targets.length
  })
  t.pass('and they are missed when they end')
})
