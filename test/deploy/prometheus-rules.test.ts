// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { agentMetricsText } from '../../agent/http/metrics.js'
import { admissionMetrics } from '../../admission/run/metrics.js'
import type { AdmissionStatusView } from '../../admission/run/status-view.js'
import { bridgeMetrics } from '../../bridge/run/metrics.js'
import type { BridgeStatusView } from '../../bridge/run/status-view.js'
import { downstreamMetrics } from '../../bridge/run/downstream/downstream-view.js'
import { gridsMetrics } from '../../grids/run/metrics.js'
import type { GridsStatusView } from '../../grids/run/status-view.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import {
  groupedBy,
  parseScrape,
  selectorsOf,
  seriesText,
  type Series,
} from '../../testkit/prometheus/scrape.js'
import { findTool } from '../../testkit/find-tool.js'
import { share } from '../../testkit/share.js'
import { wrapperStatusFixture } from '../../testkit/wrapper/status-fixture.js'
import { FakeViews, statusFixture } from '../../testkit/zone/status-fixture.js'
import { wrapperMetricsText } from '../../wrapper/status/metrics.js'
import { Histogram } from '../../net/metrics-text.js'

/** A hang, not a measurement: promtool takes some 20 s of CPU. */
t.setTimeout(900_000)

const root = join(import.meta.dirname, '..', '..')
const groups = ruleGroups()
const alerts = groups.flatMap(({ rules }) => rules)
const NODES = ['node-1', 'node-2', 'node-3']

const gridsView: GridsStatusView = {
  ...{ version: '0.1.0', uptimeSeconds: 1 },
  leader: { isLeading: true } as GridsStatusView['leader'],
  ...{ tables: {}, queue: {} as GridsStatusView['queue'] },
  grids: { known: 3, held: 0, invalid: 0, failedUnits: 0 },
  counts: { writes: {}, drift: {}, statuses: {}, reconciles: {} },
  reconcileSeconds: new Histogram([1]).show(),
  events: {} as GridsStatusView['events'],
}

const bridgeView: BridgeStatusView = {
  ...{
    version: '0.1.0',
    uptimeSeconds: 1,
    isServing: true,
    tables: {},
    hub: undefined,
    listeners: {},
  },
  ...{ leader: gridsView.leader, downstream: {}, watches: { watches: 0, waiting: 0, objects: 0 } },
  upstream: {
    ...{ running: 0, waiting: 0, requests: {}, unknown: {}, dropped: {} },
    leaseSeconds: new Histogram([1]).show(),
  },
}

const DAY = 86_400

const webhookView: AdmissionStatusView = {
  ...{ version: '0.1.0', uptimeSeconds: 1, mode: 'vouched' },
  nodes: { isReady: true, kept: [] as readonly string[] } as AdmissionStatusView['nodes'],
  certificate: {
    // promtool's time begins in 1970.
    ...{ validUntil: new Date(90 * DAY * 1_000).toISOString(), isTrusted: true },
    ...{ renewals: 0, trouble: null },
  },
  counts: { reviews: {}, refusals: {} },
  reviewSeconds: new Histogram([1]).show(),
}

/** Of the programs that run once in a cluster, and as often as it is installed. */
const programSeries = (name: string, text: string, replicas = 1): readonly Series[] =>
  Array.from({ length: replicas }, (_, i) => {
    const target = { job: `edge-health-${name}`, instance: `${name}-${i}:51008` }
    return [{ name: 'up', labels: target, value: 1 }, ...parseScrape(text, target)]
  }).flat()

const agentSeries = (node: string): readonly Series[] => {
  const views = new FakeViews()
  const { peer } = statusFixture().nodes[1]!
  views.view = {
    ...statusFixture(),
    self: { name: node, address: '' },
    nodes: statusFixture().nodes.map(each => ({
      ...each,
      ...{ isSelf: each.name === node, peer: each.name === node ? null : peer },
      maintenance: each.name === 'node-5' ? { by: 'cordoned' as const, until: null } : null,
    })),
  }
  views.tallies = {
    ...views.tallies,
    exchange: { ...views.tallies.exchange, refused: { challenged: 7, 'bad-signature': 0 } },
    writes: [{ kind: 'status', result: 'refused', count: 0 }],
  }
  const target = { job: 'edge-health', instance: `${node}:51009`, node, node_zone: 'shanghai' }
  const up = { name: 'up', labels: target, value: 1 }
  return [up, ...parseScrape(agentMetricsText(views, 'all'), target)]
}

const wrapperSeries = (): readonly Series[] => {
  const well = {
    ...wrapperStatusFixture,
    ready: { isReady: true, reason: '' },
    resources: wrapperStatusFixture.resources.map(each => ({ ...each, isStale: false })),
    health: { ...wrapperStatusFixture.health, state: 'fresh' as const },
    ...{ malformed: [], disk: { writes: 1, trouble: null } },
  }
  const target = { job: 'edge-health-wrapper', instance: 'node-1:51007' }
  return parseScrape(wrapperMetricsText(well), target)
}

/** Three agents of a zone of five in which all is well, a wrapper, and the programs in the cluster. */
const WELL: readonly Series[] = [
  ...NODES.flatMap(agentSeries),
  ...wrapperSeries(),
  ...programSeries('grids', gridsMetrics(gridsView)),
  ...programSeries('bridge', bridgeMetrics(bridgeView, downstreamMetrics()), 2),
  ...programSeries('webhook', admissionMetrics(webhookView), 2),
]
const named = new Set(['up', ...alerts.flatMap(({ expr }) => selectorsOf(expr).map(s => s.name))])

/** From this name, of all series with these labels, the values are these; a value stands for all of the time. */
type Change = readonly [name: string, labels: Readonly<Record<string, string>>, values: string]

const isMeant = ({ name, labels }: Series, [wanted, equal]: Change): boolean =>
  name === wanted && Object.entries(equal).every(([label, value]) => labels[label] === value)

const inputSeries = (changes: readonly Change[]) => {
  for (const change of changes)
    if (!WELL.some(series => isMeant(series, change)))
      throw new Error(`nothing that is scraped is ${JSON.stringify(change)}`)
  return WELL.filter(({ name }) => named.has(name)).flatMap(series => {
    const values = changes.findLast(change => isMeant(series, change))?.[2] ?? String(series.value)
    if (values === 'gone') return []
    return [
      {
        series: seriesText(series),
        values: /\D/.test(values.slice(1)) ? values : `${values}x1600`,
      },
    ]
  })
}

const of = (peer: string) => ({ peer })
const at = (node: string) => ({ instance: `${node}:51009` })
const dead: Change = ['edge_health_node_verdict', of('node-2'), '-1']
/** As the agents tell of somebody who works on the node. */
const worked = (peer: string) =>
  WELL.filter(({ name }) => name === 'edge_health_node_maintenance').map(series => ({
    series: seriesText({ ...series, labels: { ...series.labels, peer } }),
    values: '1x1600',
  }))
const cut: Change = ['edge_health_node_cloud_cut', of('node-3'), '1']
const down = (node: string): Change => ['up', { node }, '0']
const first = (program: string) => ({ instance: `${program}-0:51008` })
const changedFor = (minutes: number, value: number, after: number) =>
  `${value}x${minutes - 1} ${after}x1600`

/** For each alert: what makes it fire, after how many minutes, and what comes near and leaves it silent. */
const ROWS: Readonly<
  Record<string, readonly [minutes: number, fires: readonly Change[], silent: readonly Change[]]>
> = {
  NodeDead: [1, [dead], [dead, ['edge_health_node_kubelet_up', of('node-2'), '0']]],
  KubeletSick: [2, [['edge_health_node_kubelet_up', of('node-2'), '0'], dead], [dead]],
  NodeCloudLinkCut: [10, [cut], [cut, ['edge_health_node_verdict', of('node-3'), '-1']]],
  ZoneUnreachable: [10, NODES.map(down), [down('node-1'), down('node-2')]],
  BrakeOn: [1, [['edge_health_brake_on', {}, '1']], [['edge_health_unhealthy_nodes', {}, '2']]],
  Undecided: [
    10,
    [['edge_health_node_verdict', of('node-4'), '0']],
    [['edge_health_node_verdict', { ...of('node-4'), ...at('node-1') }, '0']],
  ],
  RostersDiffer: [
    10,
    [['edge_health_roster_members', at('node-1'), '4']],
    [
      ['edge_health_roster_members', {}, '4'],
      ['edge_health_keys_shared_members', {}, '4'],
    ],
  ],
  KeysMissing: [
    5,
    [['edge_health_keys_ok', at('node-1'), '0']],
    [['edge_health_keys_ok', at('node-1'), changedFor(4, 0, 1)]],
  ],
  DiskTrouble: [
    5,
    [['edge_health_disk_trouble', at('node-1'), '1']],
    [['edge_health_disk_trouble', at('node-1'), changedFor(4, 1, 0)]],
  ],
  KeyRotationStuck: [
    60,
    [['edge_health_keys_shared_members', at('node-1'), '3']],
    [
      ['edge_health_keys_shared_members', {}, '4'],
      ['edge_health_unhealthy_nodes', {}, '1'],
    ],
  ],
  VouchedLong: [
    60,
    [['edge_health_node_vouched', of('node-3'), '1']],
    [['edge_health_node_vouched', of('node-3'), changedFor(59, 1, 0)]],
  ],
  SelfSuspect: [
    5,
    [['edge_health_self_suspect', at('node-1'), '1']],
    [['edge_health_self_suspect', at('node-1'), changedFor(4, 1, 0)]],
  ],
  StageFailing: [
    5,
    [['edge_health_stage_ok', { stage: 'vote' }, '0']],
    [['edge_health_stage_ok', { stage: 'vote' }, '-1']],
  ],
  MessagesRefused: [
    20,
    [['edge_health_exchange_refused_total', { reason: 'bad-signature' }, '0+1x1600']],
    [['edge_health_exchange_refused_total', { reason: 'challenged' }, '0+9x1600']],
  ],
  WritesRefused: [
    5,
    [['edge_health_api_writes_total', { result: 'refused' }, '0x2 1x1600']],
    [['edge_health_api_writes_total', { result: 'refused' }, '9']],
  ],
  ConfigRefused: [
    5,
    [['edge_health_config_problems_total', at('node-2'), '0x2 1x1600']],
    [['edge_health_config_problems_total', {}, '3']],
  ],
  NotConfined: [15, [['edge_health_confined', {}, '0']], [['edge_health_confined', {}, '-1']]],
  AgentDown: [10, [down('node-3')], [down('node-2'), dead]],
  VersionSkew: [1440, [['edge_health_build_info', at('node-1'), 'gone']], []],
  WrapperNotReady: [
    5,
    [['edge_health_wrapper_ready', {}, '0']],
    [['edge_health_wrapper_ready', {}, changedFor(4, 0, 1)]],
  ],
  WrapperStale: [
    60,
    [['edge_health_wrapper_stale', { resource: 'nodes' }, '1']],
    [['edge_health_wrapper_stale', { resource: 'nodes' }, changedFor(59, 1, 0)]],
  ],
  WrapperHealthExpired: [
    5,
    [['edge_health_wrapper_health_state', { state: 'expired' }, '1']],
    [['edge_health_wrapper_health_state', { state: 'last-known' }, '1']],
  ],
  WrapperDiskTrouble: [
    5,
    [['edge_health_wrapper_disk_trouble', {}, '1']],
    [['edge_health_wrapper_disk_trouble', {}, changedFor(4, 1, 0)]],
  ],
  WrapperTopologyMalformed: [
    10,
    [['edge_health_wrapper_topology_malformed', {}, '1']],
    [['edge_health_wrapper_topology_malformed', {}, changedFor(9, 1, 0)]],
  ],
  GridsNoLeader: [
    5,
    [['edge_health_grids_leading', {}, '0']],
    [['edge_health_grids_leading', {}, changedFor(4, 0, 1)]],
  ],
  GridsHeld: [
    15,
    [['edge_health_grids_held', {}, '2']],
    [['edge_health_grids_held', {}, changedFor(14, 2, 0)]],
  ],
  GridsFailing: [
    15,
    [['edge_health_grids_failed_units', {}, '1']],
    [['edge_health_grids_failed_units', {}, changedFor(14, 1, 0)]],
  ],
  BridgeNotServing: [
    2,
    [['edge_health_bridge_serving', {}, '0']],
    [['edge_health_bridge_serving', first('bridge'), '0']],
  ],
  BridgeDiskFailing: [
    5,
    [['edge_health_bridge_record_disk_failing', first('bridge'), '1']],
    [['edge_health_bridge_record_disk_failing', {}, changedFor(4, 1, 0)]],
  ],
  WebhookBlind: [
    5,
    [['edge_health_admission_stale', {}, '1']],
    [['edge_health_admission_stale', first('webhook'), '1']],
  ],
  WebhookNotTrusted: [
    10,
    [['edge_health_admission_certificate_trusted', first('webhook'), '0']],
    [['edge_health_admission_certificate_trusted', {}, changedFor(9, 0, 1)]],
  ],
  WebhookCertificateEnds: [
    60,
    [['edge_health_admission_certificate_expiry_seconds', first('webhook'), `${13 * DAY}`]],
    [['edge_health_admission_certificate_expiry_seconds', {}, `${15 * DAY}`]],
  ],
  ProgramDown: [
    5,
    [['up', { job: 'edge-health-grids' }, '0']],
    [
      ['up', first('bridge'), '0'],
      ['up', first('webhook'), '0'],
    ],
  ],
}

/** Alerts about one node, and which node it is in their row: none fires while somebody works on it. */
const QUIET: Readonly<Record<string, string>> = {
  ...{ NodeDead: 'node-2', KubeletSick: 'node-2', NodeCloudLinkCut: 'node-3' },
  ...{ Undecided: 'node-4', VouchedLong: 'node-3', AgentDown: 'node-3' },
}

const firing = (alert: string): string => `count(ALERTS{alertname="EdgeHealth${alert}", alertstate="firing"}) or vector(0)` // prettier-ignore

const caseOf = (
  name: string,
  input: readonly { readonly series: string; readonly values: string }[],
  at: number,
  expected: readonly (readonly [expr: string, value: number])[],
) => ({
  name,
  interval: '1m',
  // No longer than it is looked at: loading all of them for a day in each case takes minutes.
  input_series: input.map(({ series, values }) => ({
    series,
    values: values.replace(/x1600$/, `x${at + 2}`),
  })),
  promql_expr_test: expected.map(([expr, value]) => ({
    ...{ expr, eval_time: `${at}m`, exp_samples: [{ labels: '{}', value }] },
  })),
})

const OTHER_VERSION = seriesText({
  name: 'edge_health_build_info',
  labels: {
    ...{ job: 'edge-health', instance: 'node-1:51009', node: 'node-1', node_zone: 'shanghai' },
    ...{ version: '0.2.0', zone: 'shanghai' },
  },
})

const casesOf = (alert: string) => {
  const [minutes, fires, silent] = ROWS[alert]!
  const more = alert === 'VersionSkew' ? [{ series: OTHER_VERSION, values: '1x1600' }] : []
  const at = minutes + 2
  const found =
    alert === 'StageFailing' || alert === 'NotConfined' || alert === 'MessagesRefused' ? 3 : 1
  const count = alert === 'ConfigRefused' ? 1 : alert === 'WritesRefused' ? 3 : found
  return [
    caseOf(`${alert} fires`, [...inputSeries(fires), ...more], at, [[firing(alert), count]]),
    caseOf(`${alert} is silent`, inputSeries(silent), at, [[firing(alert), 0]]),
    ...(QUIET[alert] === undefined
      ? []
      : [
          caseOf(
            `${alert} is silent in maintenance`,
            [...inputSeries(fires), ...worked(QUIET[alert])],
            at,
            [[firing(alert), 0]],
          ),
        ]),
  ]
}

t.test('each alert has a row, a severity, words, and a section of the runbook', t => {
  t.strictSame(alerts.map(({ alert }) => alert.replace('EdgeHealth', '')).sort(), Object.keys(ROWS).sort()) // prettier-ignore
  const runbook = readFileSync(join(root, 'docs/runbook.md'), 'utf8')
  const sections = [...runbook.matchAll(/^### (.*)$/gm)].map(([, title]) => title!)
  t.strictSame(sections, alerts.map(({ alert }) => alert), 'in the same order') // prettier-ignore
  for (const { alert, labels, annotations } of alerts) {
    t.match(labels['severity'], /^(critical|warning|info)$/, alert)
    t.match(annotations, { summary: /./, description: /\.$/ }, alert)
    t.equal(annotations['runbook_url'], `docs/runbook.md#${alert.toLowerCase()}`)
  }
  t.end()
})

t.test('what alerts ask for is what is scraped', t => {
  for (const { alert, expr, annotations } of alerts) {
    for (const { name, equal } of selectorsOf(expr))
      t.ok(WELL.some(series => isMeant(series, [name, equal, ''])), `${alert}: ${name} ${JSON.stringify(equal)}`) // prettier-ignore
    const labels = new Set(
      WELL.filter(({ name }) => expr.includes(name)).flatMap(series => Object.keys(series.labels)),
    )
    const shown = [...JSON.stringify(annotations).matchAll(/\$labels\.([a-z_]+)/g)].map(([, l]) => l!) // prettier-ignore
    for (const label of [...groupedBy(expr), ...shown])
      t.ok(labels.has(label), `${alert}: ${label}`)
  }
  t.end()
})

const promtool = findTool('promtool')
t.test(
  'promtool: each alert fires, and stays silent when it should',
  { skip: promtool.missing },
  t => {
    const folder = t.testdir()
    writeFileSync(join(folder, 'rules.yml'), stringify({ groups }))
    const wellFor = caseOf('all is well', inputSeries([]), 1500, [
      ['count(ALERTS) or vector(0)', 0],
    ])
    const tests = [
      wellFor,
      ...share(t, alerts, 4, 'alerts').flatMap(({ alert }) =>
        casesOf(alert.replace('EdgeHealth', '')),
      ),
    ]
    const file = { rule_files: ['rules.yml'], evaluation_interval: '1m', tests }
    writeFileSync(join(folder, 'tests.yml'), stringify(file, { aliasDuplicateObjects: false }))
    const { status, stdout, stderr } = spawnSync(promtool.path, ['test', 'rules', 'tests.yml'], {
      ...{ cwd: folder, encoding: 'utf8' },
    })
    t.equal(status, 0, `${tests.length} cases`, { said: `${stdout}${stderr}` })
    t.end()
  },
)
