// SPDX-License-Identifier: Apache-2.0
// docs/recipes.md, as far as it can be tried without the other programs.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { makeLocalApp } from '../../agent/http/local-routes.js'
import { systemClock } from '../../core/clock.js'
import { PEER_HEALTH } from '../../core/marks.js'
import { ZONE_LABEL } from '../../sandbox/zone-objects.js'
import { findTool } from '../../testkit/find-tool.js'
import { openListener } from '../../testkit/http/open-listener.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import { recordingLog } from '../../testkit/recording-log.js'
import { FakeViews } from '../../testkit/zone/status-fixture.js'

const page = readFileSync(join(import.meta.dirname, '../../docs/recipes.md'), 'utf8')

/** The block of a recipe that begins with this line, without it where it is a comment alone. */
const block = (first: string): string => {
  const found = [...page.matchAll(/```\w+\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const text = found.find(each => each.startsWith(first))
  if (text === undefined) throw new Error(`no block begins with ${first}`)
  return text
}

t.test('NodeHealthCheck asks for what is written about the dead, in its own form', t => {
  const { apiVersion, kind, spec } = parse(block('# nodehealthcheck.yaml')) as {
    readonly apiVersion: string
    readonly kind: string
    readonly spec: {
      readonly selector: { readonly matchExpressions: readonly object[] }
      readonly minHealthy: string
      readonly unhealthyConditions: readonly Readonly<Record<string, string>>[]
      readonly remediationTemplate: object
    }
  }
  t.strictSame([apiVersion, kind], ['remediation.medik8s.io/v1alpha1', 'NodeHealthCheck'])
  t.strictSame(Object.keys(spec).sort(), ['minHealthy', 'remediationTemplate', 'selector', 'unhealthyConditions']) // prettier-ignore
  t.strictSame(spec.selector.matchExpressions, [{ key: ZONE_LABEL, operator: 'Exists' }])
  // As its CRD has them.
  t.match(spec.minHealthy, /^((100|[0-9]{1,2})%|[0-9]+)$/)
  const [condition, ...more] = spec.unhealthyConditions
  t.strictSame(more, [], 'Ready is not among them')
  t.match(condition!['duration'], /^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$/)
  t.match(condition, { type: PEER_HEALTH, status: 'False' })
  t.match(spec.remediationTemplate, { apiVersion: /.+\/.+/, kind: /Template$/, name: /./ })
  t.end()
})

t.test('kured waits for alerts that there are, and for no other', t => {
  const args = parse(block('# arguments of kured')) as readonly string[]
  const [, pattern] = /^--alert-filter-regexp=(.*)$/.exec(args.at(-1)!)!
  t.ok(args.includes('--alert-filter-match-only'), 'the pattern names those that count')
  const waitsFor = new RegExp(pattern!)
  const alerts = ruleGroups().flatMap(({ rules }) => rules.map(({ alert }) => alert))
  const named = /\((.*)\)/.exec(pattern!)![1]!.split('|').map(name => `EdgeHealth${name}`) // prettier-ignore
  t.strictSame(alerts.filter(alert => waitsFor.test(alert)).sort(), named.sort())
  t.notOk(waitsFor.test('EdgeHealthAgentDown'))
  t.notOk(waitsFor.test('Watchdog'))
  const expressionOf = (name: string): string =>
    ruleGroups().flatMap(({ rules }) => rules).find(({ alert }) => alert === name)!.expr // prettier-ignore
  for (const name of ['EdgeHealthNodeDead', 'EdgeHealthKubeletSick', 'EdgeHealthUndecided'])
    t.match(expressionOf(name), /unless[^]*edge_health_node_maintenance/, `${name}: not of a cordoned node`) // prettier-ignore
  t.end()
})

t.test('node-problem-detector: the script asks a real agent’s listener', async t => {
  const config = JSON.parse(block('{\n  "plugin"')) as {
    readonly conditions: readonly { readonly type: string }[]
    readonly rules: readonly { readonly condition: string; readonly path: string }[]
  }
  t.strictSame(config.rules.map(({ condition }) => condition), config.conditions.map(({ type }) => type)) // prettier-ignore
  const script = block('#!/bin/bash')
  t.match(script, config.rules[0]!.path.replace('/config/', '# '), 'it is called as the rule calls it') // prettier-ignore
  const path = join(t.testdir({ 'check.sh': script }), 'check.sh')
  const run = (port: number) =>
    new Promise<{ readonly code: number | null; readonly out: string }>(resolve => {
      const env = { PATH: process.env['PATH'] ?? '', EDGE_HEALTH_PORT: String(port) }
      const child = spawn('bash', [path], { env })
      let out = ''
      child.stdout.on('data', text => (out += String(text)))
      child.on('close', code => resolve({ code, out }))
    })
  const views = new FakeViews()
  const listener = await openListener(
    makeLocalApp({
      ...{ views, localinfoTime: 'zero', metricsNodes: 'all', namespace: 'edge-system' },
      ...{ clock: systemClock, log: recordingLog() },
    }),
  )
  t.teardown(() => listener.close())
  views.ready = { isReady: true, reason: 'ok' }
  t.strictSame(await run(listener.port), { code: 0, out: '' })
  views.ready = { isReady: false, reason: 'no key' }
  t.strictSame(await run(listener.port), { code: 1, out: 'the agent answers 503\n' })
  t.strictSame(await run(1), { code: 1, out: 'the agent answers nothing\n' })
})

const promtool = findTool('promtool')
t.test('the collector’s jobs are Prometheus’s', { skip: promtool.missing }, t => {
  const { receivers, exporters, service } = parse(block('# otel-collector.yaml')) as {
    readonly receivers: { readonly prometheus: { readonly config: object } }
    readonly exporters: object
    readonly service: { readonly pipelines: { readonly metrics: object } }
  }
  t.strictSame(service.pipelines.metrics, {
    receivers: Object.keys(receivers),
    exporters: Object.keys(exporters),
  })
  const text = stringify(receivers.prometheus.config).replaceAll('${env:NODE_NAME}', 'node-1')
  t.notMatch(text, '$', 'the collector would take any other for a variable')
  const file = join(t.testdir(), 'prometheus.yml')
  writeFileSync(file, text)
  const { status, stdout, stderr } = spawnSync(promtool.path, ['check', 'config', file], { encoding: 'utf8' }) // prettier-ignore
  t.equal(status, 0, stdout + stderr)
  const { scrape_configs: jobs } = receivers.prometheus.config as {
    readonly scrape_configs: readonly {
      readonly job_name: string
      readonly static_configs: readonly [
        { readonly targets: readonly string[]; readonly labels: object },
      ]
    }[]
  }
  t.match(jobs[0], { job_name: 'edge-health', static_configs: [{ targets: ['127.0.0.1:51005'] }] })
  for (const { static_configs: configs } of jobs)
    t.strictSame(Object.keys(configs[0].labels), ['node', 'instance'])
  t.end()
})
