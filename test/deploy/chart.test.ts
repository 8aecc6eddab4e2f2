// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parseManifests, readManifests, renderManifests } from '../../testkit/deploy/manifests.js'
import type { Manifest } from '../../testkit/deploy/rbac.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'
import { findTool } from '../../testkit/tools.js'

const root = join(import.meta.dirname, '..', '..')
const chart = join(root, 'charts', 'edge-health')
const base = join(root, 'deploy', 'base')
const component = (name: string) => join(root, 'deploy', 'components', name)
const helm = findTool('helm')
const skip = { skip: helm.missing }

const run = (...args: readonly string[]) =>
  spawnSync(helm.path, args, { cwd: root, encoding: 'utf8' })

const keyOf = ({ kind, metadata: { namespace, name } }: Manifest): string =>
  [kind, namespace, name].filter(part => part !== undefined).join('/')
const byKey = (objects: readonly Manifest[]): Record<string, Manifest> =>
  Object.fromEntries(
    objects.map(object => [keyOf(object), object] as const).sort(([a], [b]) => (a < b ? -1 : 1)),
  )

interface Rendered {
  readonly objects: Readonly<Record<string, Manifest>>
  readonly err: string
}
const set = (values: readonly string[]) => values.flatMap(value => ['--set-json', value])
const render = (
  values: readonly string[] = [],
  namespace = 'edge-system',
  kube = '1.36.3',
): Rendered => {
  const where = ['--namespace', namespace, '--kube-version', kube]
  const { status, stdout, stderr } = run('template', 'edge-health', chart, ...where, ...set(values))
  if (status !== 0) return { objects: {}, err: stderr }
  return { objects: byKey(parseManifests(stdout)), err: '' }
}

t.test('helm lint --strict', skip, t => {
  const { status, stdout } = run('lint', '--strict', chart, '--kube-version', '1.36.3')
  t.equal(status, 0, stdout)
  t.end()
})

t.test('as it comes it is deploy/base, object by object', skip, t => {
  t.strictSame(render().objects, byKey(readManifests(base)))
  t.end()
})

t.test('what is switched on is what the components bring', skip, t => {
  const { objects } = render([
    ...['zones.manageConfigMap=true', 'metrics.enabled=true', 'metrics.podMonitor.enabled=true'],
    'prometheusRule.enabled=true',
  ])
  const names = ['zones', 'metrics', 'prometheus-rules']
  t.strictSame(objects, byKey(renderManifests(base, names.map(component))))
  const groups = parse(readFileSync(join(chart, 'files/rules.yaml'), 'utf8')) as unknown
  t.strictSame(groups, { groups: ruleGroups() })
  const policy = 'ValidatingAdmissionPolicy/edge-health-agent-nodes'
  t.strictSame(
    render(['options.vouch="taint"']).objects[policy],
    byKey(renderManifests(base, [component('vouch-taint')]))[policy],
    'agents that take the taint off may do so',
  )
  t.end()
})

t.test('what is switched off is not there', skip, t => {
  const keys = (...values: readonly string[]) => Object.keys(render(values).objects)
  t.notOk(keys('agent.enabled=false').some(key => key.includes('edge-health-agent')))
  t.notOk(keys('wrapper.enabled=false').some(key => key.includes('edge-health-wrapper')))
  t.notOk(keys('policies.enabled=false').some(key => key.startsWith('Validating')))
  t.strictSame(keys('agent.enabled=false', 'wrapper.enabled=false'), [])
  const rule = (disabled: string) =>
    JSON.stringify(
      render(['prometheusRule.enabled=true', `prometheusRule.disabled=${disabled}`]).objects,
    )
  t.match(rule('[]'), 'EdgeHealthBrakeOn')
  t.notMatch(rule('["EdgeHealthBrakeOn"]'), 'EdgeHealthBrakeOn')
  const grids = ruleGroups()
    .at(-1)!
    .rules.map(({ alert }) => alert)
  t.notMatch(rule(JSON.stringify(grids)), 'edge-health-grids', 'no empty group')
  t.end()
})

t.test('options are a ConfigMap, and a change of them restarts the agents', skip, t => {
  const { objects } = render(['options.check-period="7s"', 'options.dns-plugin=["weight=1"]'])
  const map = objects['ConfigMap/edge-system/edge-health-agent-options']!
  t.strictSame(parse((map['data'] as Record<string, string>)['options.yaml']!), {
    'check-period': '7s',
    'dns-plugin': ['weight=1'],
  })
  const pod = (rendered: Rendered) => {
    const agent = rendered.objects['DaemonSet/edge-system/edge-health-agent']!
    return (agent['spec'] as { template: { metadata: { annotations?: unknown } } }).template
  }
  t.match(JSON.stringify(pod({ objects, err: '' })), '--config=/etc/edge-health/options.yaml')
  const sum = (value: string) => pod(render([`options.check-period="${value}"`])).metadata
  t.match(sum('7s').annotations, { 'checksum/options': /^[0-9a-f]{64}$/ })
  t.strictNotSame(sum('7s'), sum('8s'))
  t.end()
})

t.test('image, keys, taints, arguments and another namespace go where they belong', skip, t => {
  const digest = `sha256:${'a'.repeat(64)}`
  const { objects } = render(
    [
      ...['image.repository="r.example/eh"', `image.digest="${digest}"`],
      ...['image.pullSecrets=[{"name":"r"}]', 'keys.existingSecret="own"', 'profile="fast"'],
      ...['agent.extraArgs=["--log-level=debug"]', 'agent.extraEnv=[{"name":"A","value":"b"}]'],
      'policies.ownTaints=["a:NoSchedule","b.c/d:NoExecute"]',
    ],
    'elsewhere',
  )
  const agent = JSON.stringify(objects['DaemonSet/elsewhere/edge-health-agent'])
  t.equal(agent.split(`"r.example/eh@${digest}"`).length, 3, 'both containers')
  t.match(agent, '"--profile=fast","--key-secret=own","--namespace=elsewhere","--log-level=debug"')
  t.match(agent, '"imagePullSecrets":[{"name":"r"}]')
  t.match(agent, '{"name":"A","value":"b"}')
  t.match(JSON.stringify(objects['Role/elsewhere/edge-health-agent']), '"resourceNames":["own"]')
  const policies = JSON.stringify(objects['ValidatingAdmissionPolicy/edge-health-agent-nodes'])
  t.match(policies, `"['a:NoSchedule', 'b.c/d:NoExecute']"`)
  t.match(policies, "'elsewhere'")
  t.notMatch(JSON.stringify(objects), /edge-system/)
  t.end()
})

t.test('a value that is unknown, or of the wrong kind, is refused by name', skip, t => {
  const rows: readonly (readonly [value: string, said: RegExp])[] = [
    ['agnet.enabled=true', /agnet/],
    ['agent.resource={}', /resource/],
    ['options.check-period=5', /check-period/],
    ['options.Check=""', /Check/],
    ['profile="quick"', /profile/],
    ['metrics.nodes="some"', /nodes/],
    ['metrics.port=0', /port/],
    ['image.digest="sha256:1"', /digest/],
    ['agent.extraArgs=["x"]', /extraArgs/],
    ['policies.ownTaints=["a"]', /ownTaints/],
    ['prometheusRule.disabled=["BrakeOn"]', /disabled/],
  ]
  for (const [value, said] of rows) t.match(render([value]).err, said, value)
  t.match(render([], 'edge-system', '1.29.4').err, /policies\.enabled must be false for Kubernetes older/) // prettier-ignore
  t.equal(render(['policies.enabled=false'], 'edge-system', '1.29.4').err, '')
  t.end()
})

t.test('chart and package are one version', t => {
  const { version } = parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const read = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>
  t.match(read, { version, appVersion: version })
  t.end()
})
