// SPDX-License-Identifier: Apache-2.0
// The alerts as they ship, none of their `for` shortened, and the dashboards, in a real Prometheus that scrapes a zone of
// real processes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { buildBundle, eventually, startBundle } from '../../testkit/bundle.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import {
  startPrometheus,
  type Prometheus,
  type QuerySeries,
  type ScrapeTarget,
} from '../../testkit/prometheus/server.js'
import { findTool } from '../../testkit/find-tool.js'
import { tryDashboards } from './dashboard-queries.js'
import { type ProcessZone, startProcessZone } from './process-zone.js'

/** A hang, not a measurement: about 90 s, of which 60 are NodeDead's own. */
t.setTimeout(900_000)
const SOON_MS = 180_000

const NODES = 5
const ZONE = 'processes'
const prometheus = findTool('prometheus')

const targetOf = (job: string, node: string, address: string): ScrapeTarget => ({
  ...{ job, address, labels: { node, node_zone: ZONE } },
})

/** The wrapper of the first node; gives where it tells about itself. */
const startWrapper = (t: Test, script: string, { zone: { api, nodes } }: ProcessZone): string => {
  const { name, localUrl, identity } = nodes[0]!
  const folder = t.testdir()
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'wrapper', api.addClient('wrapper')))
  const status = `${identity.address}:51007`
  startBundle(t, script, [
    ...['wrapper', `--node-name=${name}`, `--kubeconfig=${kubeconfig}`],
    ...[`--bind-address=${identity.address}:51008`, `--status-address=${status}`],
    `--state-dir=${join(folder, 'state')}`,
    `--service-autonomy-enhancement=enabled=true,interval=1,address=${localUrl}/localinfo`,
  ])
  return status
}

/** Each alert with the node that it is about. */
const namesOf = (series: readonly QuerySeries[]): readonly string[] => {
  const names = series.map(({ labels: { alertname = '', peer, node } }) =>
    [alertname.replace('EdgeHealth', ''), peer ?? node ?? ''].join(' ').trim(),
  )
  return [...new Set(names)].sort()
}

const alertsOf = async (server: Prometheus, state: 'firing' | 'pending') =>
  namesOf(await server.query(`ALERTS{alertstate="${state}"}`))

t.test('alerts in a real Prometheus', { skip: prometheus.missing }, async t => {
  const script = buildBundle(t)
  const zone = await startProcessZone(t, script, { base: '127.37.0.11', nodes: NODES })
  const agents = zone.zone.nodes.map(({ name, localUrl }) =>
    targetOf('edge-health', name, new URL(localUrl).host),
  )
  const wrapper = targetOf('edge-health-wrapper', 'edge-1', startWrapper(t, script, zone))
  await zone.agreed([], SOON_MS)
  const server = await startPrometheus(prometheus.path, [...agents, wrapper], ruleGroups())
  t.teardown(() => server.stop())
  const from = Date.now() / 1_000
  const fires = () => alertsOf(server, 'firing')
  const waits = async (name: string): Promise<boolean> =>
    (await alertsOf(server, 'pending')).includes(name)

  await eventually('all of them are scraped', SOON_MS, async () => {
    const [ups] = await server.query('sum(up)')
    return ups?.points[0]?.[1] === NODES + 1
  })
  await zone.node('edge-5').kill()
  await eventually('NodeDead is pending', SOON_MS, () => waits('NodeDead edge-5'))

  await t.test('an agent that ended, on a node that lives', async t => {
    await zone.node('edge-4').stopAgent()
    await eventually('AgentDown is pending', SOON_MS, () => waits('AgentDown edge-4'))
    zone.zone.restart(zone.node('edge-4'))
    await eventually('no longer', SOON_MS, async () => !(await waits('AgentDown edge-4')))
    t.pass('while it was away')
  })

  await eventually('an alert fires', SOON_MS, async () => (await fires()).length > 0)
  t.strictSame(await fires(), ['NodeDead edge-5'], 'a node that died: that, and nothing else')
  await eventually(
    'its agent is not missed as well',
    SOON_MS,
    async () => !(await waits('AgentDown edge-5')),
  )

  await t.test('every query of the dashboards finds something', t => {
    const uids = ['edge-health-fleet', 'edge-health-zone']
    return tryDashboards(t, server, { uids, zone: ZONE, limitMs: SOON_MS })
  })

  zone.zone.restart(zone.node('edge-5'))
  await eventually('it is back, and nothing fires', SOON_MS, async () => {
    const isPending = (await waits('NodeDead edge-5')) || (await waits('AgentDown edge-5'))
    return !isPending && (await fires()).length === 0
  })
  const range = { from, to: Date.now() / 1_000, step: 1 }
  const history = await server.queryRange('ALERTS{alertstate="firing"}', range)
  t.strictSame(namesOf(history), ['NodeDead edge-5'], 'nothing else ever fired')
  for (const { labels, points } of await server.queryRange('ALERTS', range)) {
    const [first, last] = [points[0]!, points.at(-1)!].map(([at]) => (at - from).toFixed(0))
    t.comment(
      `${namesOf([{ labels, points }]).join()} ${labels['alertstate']!}: ${first!} to ${last!} s`,
    )
  }
})
