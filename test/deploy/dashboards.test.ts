// SPDX-License-Identifier: Apache-2.0
// The form of the dashboards; that their expressions find something is tried in test/process/prometheus.test.ts.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { readManifests } from '../../testkit/deploy/manifests.js'
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
