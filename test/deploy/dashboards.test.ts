// SPDX-License-Identifier: Apache-2.0
// The form of the dashboards; that their expressions find something is tried in test/process/prometheus.test.ts.
import { spawnSync } from 'node:child_process'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { findTool } from '../../testkit/find-tool.js'
import { seriesText } from '../../testkit/prometheus/scrape.js'
import { DASHBOARDS, dashboards, expressionFor } from '../../testkit/prometheus/dashboards.js'

const all = dashboards()

t.test('one ConfigMap each, by the label that makes Grafana load it', t => {
  const maps = readManifests(DASHBOARDS)
  const files = readdirSync(DASHBOARDS).filter(name => name.endsWith('.json'))
  t.strictSame(
    maps.map(({ data }) => Object.keys(data as object)),
    files.sort().map(name => [name]),
  )
  for (const { metadata } of maps) t.match(metadata, { labels: { grafana_dashboard: '1' } })
  t.strictSame(all.map(({ uid }) => `${uid}.json`), files) // prettier-ignore
  t.end()
})

for (const { uid, panels, templating } of all)
  t.test(`${uid}: each panel has a place of its own, words, and queries`, t => {
    t.strictSame(panels.map(({ id }) => id), panels.map((_, index) => index + 1)) // prettier-ignore
    const taken = new Set<string>()
    for (const { title, type, gridPos, targets = [], description } of panels) {
      t.ok(gridPos.x + gridPos.w <= 24, title)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          if (taken.has(`${x},${y}`)) t.fail(`${title} lies over another panel`)
          taken.add(`${x},${y}`)
        }
      if (type === 'row') continue
      t.match(description, /\.$/, title)
      t.ok(targets.length > 0, title)
      for (const { expr } of targets) {
        const left = /\$\w+/.exec(expressionFor(expr, 'z', '1m'))
        t.equal(left, null, `${title}: every variable has a value`)
        if (templating.list.some(({ name }) => name === 'zone'))
          t.match(expr, 'edge_health_build_info{zone="$zone"}', `${title}: this zone alone`)
      }
    }
    t.end()
  })

/** An agent that has run for long and sees nothing, and one that has just started and knows nobody yet. */
const JUST_STARTED = ['old', 'new'].flatMap(instance => {
  const series = (name: string, values: string, labels: Readonly<Record<string, string>> = {}) => ({
    series: seriesText({ name: `edge_health_${name}`, labels: { job: 'edge-health', instance, ...labels } }),
    values,
  }) // prettier-ignore
  const isNew = instance === 'new'
  return [
    series('build_info', '1x20', { zone: 'z' }),
    series('uptime_seconds', isNew ? '5+15x20' : '9000+15x20'),
    series('node_class', isNew ? '4x20' : '0x20', { class: 'undecided' }),
    series('node_verdict', isNew ? '0x20' : '1x20', { peer: 'n1' }),
    series('node_up_votes', isNew ? '0x20' : '3x20', { peer: 'n1' }),
    series('node_not_looked_votes', isNew ? '4x20' : '0x20', { peer: 'n1' }),
  ]
})

/** What panels show of it: in its first minute, and if it lasts. */
const SHOWN: readonly (readonly [uid: string, title: string, refId: string, labels: string, soon: number, late: number])[] = [
  ['fleet', 'Undecided', 'A', '{}', 0, 4],
  ['fleet', 'Zones', 'D', '{zone="z"}', 0, 4],
  ['fleet', 'Nodes by class', 'A', '{class="undecided"}', 0, 4],
  ['zone', 'Undecided', 'A', '{}', 0, 4],
  ['zone', 'Verdicts', 'A', '{peer="n1"}', 1, 0],
  ['zone', 'Votes that say up', 'A', '{peer="n1"}', 3, 0],
  ['zone', 'Voters that say neither', 'A', '{peer="n1"}', 0, 4],
] // prettier-ignore

const promtool = findTool('promtool')
t.test(
  'an agent that has just started makes no node look undecided',
  { skip: promtool.missing },
  t => {
    const expressionOf = (uid: string, title: string, refId: string): string => {
      const { panels } = all.find(each => each.uid === `edge-health-${uid}`)!
      const queries = panels.filter(each => each.title === title).flatMap(({ targets = [] }) => targets) // prettier-ignore
      return expressionFor(queries.findLast(each => each.refId === refId)!.expr, 'z', '1m')
    }
    const at = (eval_time: string, late: boolean) =>
      SHOWN.map(([uid, title, refId, labels, soon, value]) => ({
        expr: expressionOf(uid, title, refId),
        eval_time,
        exp_samples: [{ labels, value: late ? value : soon }],
      }))
    const file = {
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: JUST_STARTED,
          promql_expr_test: [...at('30s', false), ...at('2m', true)],
        },
      ],
    }
    const folder = t.testdir()
    writeFileSync(join(folder, 'tests.yml'), stringify(file, { aliasDuplicateObjects: false }))
    const { status, stdout, stderr } = spawnSync(promtool.path, ['test', 'rules', 'tests.yml'], {
      ...{ cwd: folder, encoding: 'utf8' },
    })
    t.equal(status, 0, `${SHOWN.length} panels`, { said: `${stdout}${stderr}` })
    t.end()
  },
)
