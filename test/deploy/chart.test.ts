// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { agentOptionSet } from '../../agent/options/definitions.js'
import { readManifests, renderManifests } from '../../testkit/deploy/manifests.js'
import type { Manifest } from '../../testkit/deploy/rbac.js'
import { byKey, chart, makeHelm, type Rendered } from '../../testkit/helm/render.js'
import { findTool } from '../../testkit/find-tool.js'
import { share } from '../../testkit/share.js'
import { ruleGroups } from '../../testkit/prometheus/rules.js'

const root = join(import.meta.dirname, '..', '..')
const base = join(root, 'deploy', 'base')
const component = (name: string) => join(root, 'deploy', 'components', name)
const helm = findTool('helm')
const { render, run } = makeHelm(helm.path)
const skip = { skip: helm.missing }

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
    ...['prometheusRule.enabled=true', 'dashboards.enabled=true'],
  ])
  const names = ['zones', 'metrics', 'prometheus-rules', 'dashboards']
  t.strictSame(objects, byKey(renderManifests(base, names.map(component))))
  const policy = 'ValidatingAdmissionPolicy/edge-health-agent-nodes'
  t.strictSame(
    render(['options.vouch="taint"']).objects[policy],
    byKey(renderManifests(base, [component('vouch-taint')]))[policy],
    'agents that take the taint off may do so',
  )
  t.end()
})

/** What helm leaves alone when the release goes. */
const KEPT = { 'helm.sh/resource-policy': 'keep' }

/** Each component as a value of the chart switches it on. */
const COMPONENTS: readonly (readonly [values: readonly string[], names: readonly string[]])[] = [
  [['grids.enabled=true'], ['grids']],
  [['admission.enabled=true'], ['webhook']],
  [
    ['admission.enabled=true', 'admission.pods=true'],
    ['webhook', 'webhook-pods'],
  ],
  [['bridge.enabled=true'], ['bridge']],
  [['keep.enabled=true'], ['keep']],
  [
    ['grids.enabled=true', 'admission.enabled=true', 'bridge.enabled=true', 'metrics.podMonitor.enabled=true'], // prettier-ignore
    ['grids', 'webhook', 'bridge', 'metrics-programs'],
  ],
  [
    ['grids.enabled=true', 'admission.enabled=true', 'bridge.enabled=true', 'options.vouch="taint"', 'policies.enabled=false'], // prettier-ignore
    ['grids', 'webhook', 'bridge', 'without-policies'],
  ],
]

for (const [values, names] of share(t, COMPONENTS.toReversed(), 2, 'combinations'))
  t.test(`${values.join(' ')} adds the components ${names.join(', ')}`, skip, t => {
    const { objects, err } = render(values)
    t.equal(err, '')
    const agent = (key: string) =>
      !/(ConfigMap|DaemonSet)\/edge-system\/edge-health-agent/.test(key)
    const only = (all: Readonly<Record<string, Manifest>>) =>
      Object.fromEntries(Object.entries(all).filter(([key]) => agent(key)))
    const kinds = Object.values(objects).filter(({ kind }) => kind === 'CustomResourceDefinition')
    t.equal(kinds.length, names.includes('grids') ? 3 : 0)
    for (const { metadata } of kinds) {
      const { annotations } = metadata as unknown as { annotations?: object }
      t.strictSame(annotations, KEPT, 'no grid is lost with the release')
      delete (metadata as { annotations?: object }).annotations
    }
    t.strictSame(only(objects), only(byKey(renderManifests(base, names.map(component)))))
    t.end()
  })

t.test('what is switched off is not there', skip, t => {
  const keys = (...values: readonly string[]) => Object.keys(render(values).objects)
  t.notOk(keys('agent.enabled=false').some(key => key.includes('edge-health-agent')))
  t.notOk(keys('wrapper.enabled=false').some(key => key.includes('edge-health-wrapper')))
  t.notOk(keys('policies.enabled=false').some(key => key.startsWith('Validating')))
  t.strictSame(keys('agent.enabled=false', 'wrapper.enabled=false'), [])
  const all = ['grids.enabled=true', 'admission.enabled=true', 'bridge.enabled=true']
  const isOfRbac = (key: string) => /^(ServiceAccount|(Cluster)?Role(Binding)?)\//.test(key)
  const whole = keys(...all)
  t.ok(whole.filter(isOfRbac).length > 10)
  t.strictSame(
    keys(...all, 'rbac.enabled=false'),
    whole.filter(key => !isOfRbac(key)),
    'accounts and roles can be made by others',
  )
  t.match(render(['rbac.enabled=false', 'keys.generate=true']).err, /keys\.generate must be false/)
  const rule = (disabled: string) =>
    JSON.stringify(
      render(['prometheusRule.enabled=true', `prometheusRule.disabled=${disabled}`]).objects,
    )
  t.match(rule('[]'), 'EdgeHealthBrakeOn')
  t.notMatch(rule('["EdgeHealthBrakeOn"]'), 'EdgeHealthBrakeOn')
  const grids = ruleGroups()
    .find(({ name }) => name === 'edge-health-grids')!
    .rules.map(({ alert }) => alert)
  t.notMatch(rule(JSON.stringify(grids)), '"name":"edge-health-grids"', 'no empty group')
  t.end()
})

t.test('options are a ConfigMap, and a change of them restarts the agents', skip, t => {
  const options = render(['options.check-period="7s"', 'options.ping-plugin=["weight=1"]'])
  const map = options.objects['ConfigMap/edge-system/edge-health-agent-options']!
  t.strictSame(parse((map['data'] as Record<string, string>)['options.yaml']!), {
    'check-period': '7s',
    'ping-plugin': ['weight=1'],
  })
  const pod = (rendered: Rendered) => {
    const agent = rendered.objects['DaemonSet/edge-system/edge-health-agent']!
    return (agent['spec'] as { template: { metadata: { annotations?: unknown } } }).template
  }
  t.match(JSON.stringify(pod(options)), '--config=/etc/edge-health/options.yaml')
  const sum = (value: string) => pod(render([`options.check-period="${value}"`])).metadata
  t.match(sum('7s').annotations, { 'checksum/options': /^[0-9a-f]{64}$/ })
  t.strictNotSame(sum('7s'), sum('8s'))
  t.end()
})

t.test('options are those of the agent, but for what other values say', t => {
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')) as {
    properties: { options: { propertyNames: { enum: readonly string[] } } }
  }
  const byOtherValues = ['node-name', 'state-dir', 'namespace', 'key-secret']
  const flags = agentOptionSet.definitions.map(({ flag }) => flag)
  t.strictSame(
    schema.properties.options.propertyNames.enum,
    flags.filter(flag => !byOtherValues.includes(flag)),
  )
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

/** A component's values → the workload that has them. */
const WORKLOADS = {
  agent: 'DaemonSet/elsewhere/edge-health-agent',
  wrapper: 'DaemonSet/elsewhere/edge-health-wrapper',
  admission: 'Deployment/elsewhere/edge-health-webhook',
  grids: 'Deployment/elsewhere/edge-health-grids',
  bridge: 'Deployment/elsewhere/edge-health-bridge',
}

for (const [name, key] of Object.entries(WORKLOADS))
  t.test(`${name} has what its values say, in a namespace of any name`, skip, t => {
    const isDeployment = key.startsWith('Deployment')
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } }
    const own = {
      ...{ enabled: true, priorityClassName: 'own', updateStrategy: strategy },
      resources: { limits: { memory: '1Gi' } },
      nodeSelector: { own: 'yes' },
      tolerations: [{ key: 'own', operator: 'Exists' }],
      affinity: { nodeAffinity: { own: [] } },
      extraArgs: ['--log-level=debug'],
      extraEnv: [{ name: 'OWN', value: 'yes' }],
      ...(isDeployment ? { replicas: 5 } : {}),
    }
    const set = Object.entries(own).map(
      ([value, given]) => `${name}.${value}=${JSON.stringify(given)}`,
    )
    const { objects, err } = render([...set, 'image.pullSecrets=[{"name":"r"}]'], 'elsewhere')
    t.equal(err, '')
    t.notMatch(JSON.stringify(objects), /edge-system/)
    const spec = objects[key]!['spec'] as Record<string, unknown> & {
      template: { spec: { containers: readonly [{ args: readonly string[] }] } }
    }
    t.strictSame(spec[isDeployment ? 'strategy' : 'updateStrategy'], strategy)
    t.equal(spec['replicas'], isDeployment ? 5 : undefined)
    const pod = spec.template.spec
    t.match(pod, {
      priorityClassName: 'own',
      imagePullSecrets: [{ name: 'r' }],
      nodeSelector: own.nodeSelector,
      tolerations: own.tolerations,
      affinity: own.affinity,
    })
    const [container] = pod.containers
    t.match(container, { resources: own.resources })
    t.equal(container.args.at(-1), '--log-level=debug')
    t.match(JSON.stringify(container), '{"name":"OWN","value":"yes"}')
    t.end()
  })

t.test('webhook and bridge: one Pod, other addresses, other ports', skip, t => {
  const budget = 'PodDisruptionBudget/edge-system/edge-health-webhook'
  t.ok(render(['admission.enabled=true']).objects[budget])
  const alone = render(['admission.enabled=true', 'admission.replicas=1']).objects
  t.notOk(alone[budget], 'a budget of one would hold every drain')
  const { objects } = render([
    ...['bridge.enabled=true', 'bridge.advertiseAddress="edges.example.com,203.0.113.7"'],
    ...['bridge.service.type="LoadBalancer"', 'bridge.service.edgesNodePort=31000'],
  ])
  t.match(
    JSON.stringify(objects['Deployment/edge-system/edge-health-bridge']),
    '"value":"edges.example.com,203.0.113.7"',
  )
  const service = (rendered: Rendered['objects']) =>
    JSON.stringify(rendered['Service/edge-system/edge-health-bridge']!['spec'])
  t.match(service(objects), '"type":"LoadBalancer"')
  t.match(service(objects), '"nodePort":31000')
  const inside = render(['bridge.enabled=true', 'bridge.service.type="ClusterIP"']).objects
  t.notMatch(service(inside), 'nodePort')
  const grids = Object.keys(render(['grids.enabled=true', 'grids.crds=false']).objects)
  t.notOk(grids.some(key => key.startsWith('CustomResourceDefinition')))
  t.end()
})

t.test('network policies: who may ask, and whom the Pods may', skip, t => {
  const all = ['grids.enabled=true', 'admission.enabled=true', 'bridge.enabled=true']
  const policies = (...values: readonly string[]) =>
    Object.entries(render(['networkPolicy.enabled=true', ...values]).objects)
      .filter(([key]) => key.startsWith('NetworkPolicy/'))
      .map(([, object]) => object)
  t.strictSame(policies(), [], 'agents and wrappers are on the network of their nodes')
  const specs = (...values: readonly string[]) =>
    policies(...all, ...values).map(({ spec }) => spec)
  const ports = (...names: readonly (string | number)[]) => names.map(port => ({ port, protocol: 'TCP' })) // prettier-ignore
  const spec = (name: string, ingress: readonly object[], egress: object) => ({
    podSelector: { matchLabels: { 'app.kubernetes.io/name': `edge-health-${name}` } },
    ...{ policyTypes: ['Ingress', 'Egress'], egress: [egress] },
    // An empty list would not be stored, and be written again by each upgrade.
    ...(ingress.length > 0 ? { ingress } : {}),
  })
  const api = { ports: ports(443, 6443) }
  t.strictSame(specs(), [
    spec('bridge', [{ ports: ports('edges', 'enrol') }], api),
    spec('grids', [], api),
    spec('webhook', [{ ports: ports('reviews') }], api),
  ])
  const peer = (cidr: string) => [{ ipBlock: { cidr } }]
  const given = specs(
    `networkPolicy.apiserver=${JSON.stringify(peer('10.0.0.1/32'))}`,
    `networkPolicy.edges=${JSON.stringify(peer('10.1.0.0/16'))}`,
    `networkPolicy.metrics=${JSON.stringify(peer('10.2.0.0/16'))}`,
    'networkPolicy.apiserverPorts=[7443]',
  )
  const to = { ports: ports(7443), to: peer('10.0.0.1/32') }
  const metrics = { ports: ports('status'), from: peer('10.2.0.0/16') }
  t.strictSame(given, [
    spec('bridge', [{ ports: ports('edges', 'enrol'), from: peer('10.1.0.0/16') }, metrics], to),
    spec('grids', [metrics], to),
    spec('webhook', [{ ports: ports('reviews'), from: peer('10.0.0.1/32') }, metrics], to),
  ])
  const [job] = policies('keys.generate=true')
  t.strictSame(
    job!['spec'],
    spec('make-key', [], api),
    'the Job that makes the key asks the apiserver alone',
  )
  const hooks = (job!.metadata as { readonly annotations?: Readonly<Record<string, string>> })
    .annotations
  t.match(hooks, { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-weight': '-10' }, 'before the Job') // prettier-ignore
  t.end()
})

t.test('the operator scrapes webhook, grids and bridge where they are', skip, t => {
  const on = ['grids', 'admission', 'bridge'].map(name => `${name}.enabled=true`)
  const { objects } = render([...on, 'metrics.podMonitor.enabled=true'])
  const monitors = Object.entries(objects).filter(([key]) => key.startsWith('PodMonitor/'))
  t.strictSame(
    monitors.map(([, { metadata }]) => metadata.name),
    ['edge-health-bridge', 'edge-health-grids', 'edge-health-webhook'],
    'the agents serve nothing off their node',
  )
  for (const [key, monitor] of monitors) {
    const { spec } = objects[key.replace('PodMonitor', 'Deployment')] as unknown as {
      spec: {
        selector: object
        template: { spec: { containers: [{ ports: { name: string }[] }] } }
      }
    }
    const { selector, podMetricsEndpoints } = monitor['spec'] as {
      selector: object
      podMetricsEndpoints: readonly [{ readonly port: string }]
    }
    t.strictSame(selector, spec.selector)
    const ports = spec.template.spec.containers[0].ports.map(({ name }) => name)
    t.ok(ports.includes(podMetricsEndpoints[0].port), key)
    t.match(podMetricsEndpoints, [{ relabelings: [{ targetLabel: 'job', replacement: monitor.metadata.name }] }]) // prettier-ignore
  }
  t.strictSame(render(['metrics.podMonitor.enabled=true']).objects, render().objects)
  t.end()
})

t.test('the runbook is where the values say', skip, t => {
  const rules = (...values: readonly string[]) =>
    JSON.stringify(render(['prometheusRule.enabled=true', ...values]).objects)
  t.match(rules(), '"runbook_url":"docs/runbook.md#edgehealthbrakeon"')
  const moved = rules('prometheusRule.runbookUrl="https://example.com/runbook"')
  t.match(moved, '"runbook_url":"https://example.com/runbook#edgehealthbrakeon"')
  t.notMatch(moved, 'docs/runbook.md')
  t.end()
})

t.test('a value that is unknown, or of the wrong kind, is refused by name', skip, t => {
  const rows: readonly (readonly [value: string, said: RegExp])[] = [
    ['agnet.enabled=true', /agnet/],
    ['agent.resource={}', /resource/],
    ['options.check-period=5', /check-period/],
    ['options.Check=""', /Check/],
    ['options.check-peroid="5s"', /check-peroid/],
    ['options.key-secret="own"', /key-secret/],
    ['keys.existingSecret="a.b"', /existingSecret/],
    ['agent=null', /missing property 'agent'/],
    ['metrics.port=51005', /port/],
    ['profile="quick"', /profile/],
    ['metrics.nodes="some"', /nodes/],
    ['metrics.port=0', /port/],
    ['dashboards.enable=true', /enable/],
    ['image.digest="sha256:1"', /digest/],
    ['agent.extraArgs=["x"]', /extraArgs/],
    ['policies.ownTaints=["a"]', /ownTaints/],
    ['prometheusRule.disabled=["BrakeOn"]', /disabled/],
    ['admission.strategy={}', /strategy/],
    ['grids.replicas=0', /replicas/],
    ['keys.generate="yes"', /generate/],
    ['rbac.create=false', /create/],
    ['networkPolicy.edges=[{}]', /edges/],
    ['prometheusRule.runbookUrl="runbook"', /runbookUrl/],
    ['bridge.service.port=1', /port/],
    ['keep.replicas=1', /replicas/],
    ['wrapper.tolerations=[{"effekt":"NoExecute"}]', /effekt/],
    ['agent.affinity={"nodes":{}}', /nodes/],
    ['grids.extraEnv=[{"value":"a"}]', /name/],
  ]
  for (const [value, said] of rows) t.match(render([value]).err, said, value)
  t.match(
    render(['prometheusRule.enabled=true', 'prometheusRule.disabled=["EdgeHealthBrake"]']).err,
    /prometheusRule\.disabled must be alerts of the chart, got EdgeHealthBrake/,
  )
  t.match(render([], 'edge-system', '1.29.4').err, /policies\.enabled must be false for Kubernetes older/) // prettier-ignore
  t.equal(render(['policies.enabled=false'], 'edge-system', '1.29.4').err, '')
  t.match(render(['keep.enabled=true'], 'edge-system', '1.35.0').err, /keep\.enabled must be false for Kubernetes older than 1\.36/) // prettier-ignore
  t.match(render(['keep.enabled=true', 'admission.enabled=true']).err, /only one of them may be true/) // prettier-ignore
  t.end()
})

for (const [part, missing] of [
  ['files', false],
  ['readme', findTool('helm-docs').missing],
] as const)
  t.test(`the part "${part}" is as it is made`, { skip: missing }, t => {
    const args = ['testkit/helm/chart.mjs', '--check', part]
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
    t.equal(status, 0, stderr)
    t.end()
  })

t.test('chart and package are one version', t => {
  const { version } = parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const read = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as Record<string, string>
  t.match(read, { version, appVersion: version })
  t.end()
})
