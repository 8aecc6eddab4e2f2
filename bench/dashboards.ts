// SPDX-License-Identifier: Apache-2.0
// The pictures of the Grafana dashboards and the history of alerts in the docs. Grafana itself draws none of it: a real Prometheus answers
// the dashboards' own queries about real processes, and this draws the answers.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { noBrowser, openBrowser } from '../testkit/browser.js'
import {
  dashboards,
  expressionFor,
  type Dashboard,
  type Panel,
} from '../testkit/prometheus/dashboards.js'
import { ruleGroups } from '../testkit/prometheus/rules.js'
import {
  startPrometheus,
  type Prometheus,
  type QueryRange,
  type QuerySeries,
} from '../testkit/prometheus/server.js'
import { findTool } from '../testkit/find-tool.js'
import { buildBundle, bundle } from './agent/agent-process.js'
import { alertHistory } from './dashboards/alert-history.js'
import { drawDashboard, sizeOf } from './dashboards/draw.js'
import { makeStage, TROUBLED } from './dashboards/stage.js'

const HELP = `usage: npm run bench -- dashboards --picture FOLDER
Draws the Grafana dashboards from what a real Prometheus answers to their queries: two zones of real processes, in which nodes die and
one loses its cloud link, and the grids controller, the bridge and the webhook. Writes what its alerts made of it into alert-history.md.
Takes 9 min, Debian's Chromium and Prometheus. For the docs: npm run bench -- dashboards --picture docs
`

const COMPONENTS = join(import.meta.dirname, '..', 'deploy', 'components')

/** Stats and tables show the present, all else the whole time. */
const answersOf = (
  server: Prometheus,
  { type, targets = [] }: Panel,
  range: QueryRange,
): Promise<readonly (readonly QuerySeries[])[]> =>
  Promise.all(
    targets.map(({ expr }) => {
      const query = expressionFor(expr, TROUBLED, '30s')
      const isNow = type === 'stat' || type === 'table'
      return isNow ? server.query(query) : server.queryRange(query, range)
    }),
  )

const pageOf = async (
  server: Prometheus,
  dashboard: Dashboard,
  range: QueryRange,
): Promise<string> => {
  const answers = new Map<Panel, readonly (readonly QuerySeries[])[]>()
  for (const panel of dashboard.panels) answers.set(panel, await answersOf(server, panel, range))
  const isOfZone = dashboard.templating.list.some(({ name }) => name === 'zone')
  return drawDashboard(dashboard, isOfZone ? TROUBLED : '', answers, range)
}

const takePictures = async (pages: ReadonlyMap<Dashboard, string>, target: string) => {
  const scratch = mkdtempSync(join(tmpdir(), 'edge-health-dashboards-'))
  const browser = await openBrowser()
  try {
    mkdirSync(target, { recursive: true })
    for (const [dashboard, html] of pages) {
      const file = join(scratch, 'page.html')
      writeFileSync(file, html)
      const page = await browser.newPage()
      await page.setViewportSize(sizeOf(dashboard))
      await page.goto(pathToFileURL(file).href)
      const path = join(target, `${dashboard.uid.replace('edge-health', 'dashboard')}.png`)
      await page.screenshot({ path })
      process.stdout.write(`${path}\n`)
      await page.close()
    }
  } finally {
    await browser.close()
    rmSync(scratch, { recursive: true, force: true })
  }
}

const INTRODUCTION = `# What the alerts said

<!-- Made by npm run bench -- dashboards --picture docs, with the pictures of the dashboards. -->
<!-- prettier-ignore-start -->

A Prometheus that scrapes each 5 s, with [the rules that are shipped](runbook.md), over a zone of five and one of three (\`profile=default\`), a wrapper, and the
grids controller, the bridge and the webhook: real processes on one machine. An alert that waits is not sent yet. EdgeHealthNotConfined
waits throughout: the embedded API server knows no policies.
`

/** What was seen: a page for each dashboard, and the history of the alerts. */
interface Recording {
  readonly pages: ReadonlyMap<Dashboard, string>
  readonly history: string
}

const record = async (program: string): Promise<Recording> => {
  buildBundle()
  const stage = await makeStage(bundle, COMPONENTS)
  try {
    const groups = ruleGroups(join(COMPONENTS, 'prometheus-rules', 'rules.yaml'))
    const server = await startPrometheus(program, stage.targets, groups)
    try {
      await stage.settle()
      const from = Date.now() / 1_000
      const deeds = await stage.play()
      const range = { from, to: Date.now() / 1_000, step: 2 }
      const pages = new Map<Dashboard, string>()
      for (const dashboard of dashboards(join(COMPONENTS, 'dashboards')))
        pages.set(dashboard, await pageOf(server, dashboard, range))
      return {
        pages,
        history: alertHistory(deeds, await server.queryRange('ALERTS', range), range),
      }
    } finally {
      await server.stop()
    }
  } finally {
    await stage.stop()
  }
}

const { values } = parseArgs({
  options: { help: { type: 'boolean', short: 'h' }, picture: { type: 'string' } },
})
const prometheus = findTool('prometheus')
const missing = noBrowser === false ? prometheus.missing : noBrowser
if (values.help === true) process.stdout.write(HELP)
else if (values.picture === undefined || missing !== false) {
  process.stderr.write(values.picture === undefined ? HELP : `${String(missing)}\n`)
  process.exitCode = values.picture === undefined ? 2 : 1
} else {
  const { pages, history } = await record(prometheus.path)
  await takePictures(pages, values.picture)
  const path = join(values.picture, 'alert-history.md')
  writeFileSync(path, `${INTRODUCTION}\n${history}\n\n<!-- prettier-ignore-end -->\n`)
  process.stdout.write(`${path}\n`)
}
