// SPDX-License-Identifier: Apache-2.0
// What is shipped for the wrapper: its pod, and its rights against the calls that it really makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { startApi, type RecordedRequest } from '../../sandbox/api/server.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { wrapperOptionSet } from '../../wrapper/options/definitions.js'
import { resolveWrapperOptions } from '../../wrapper/options/resolve.js'
import { makeProgram } from '../../wrapper/program.js'
import { eventually } from '../../testkit/bundle.js'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { grantsOf, idleGrants, rbacAllows, requestOf } from '../../testkit/deploy/rbac.js'
import { recordingLog } from '../../testkit/recording-log.js'

t.setTimeout(180_000)

const base = join(import.meta.dirname, '..', '..', 'deploy', 'base')
const objects = readManifests(base)
const named = (kind: string, name: string) =>
  objects.find(object => object.kind === kind && object.metadata.name === name) as unknown
interface Container {
  readonly image: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly securityContext: unknown
}
interface Pod {
  readonly initContainers: readonly Container[]
  readonly containers: readonly [Container]
  readonly [field: string]: unknown
}
const podOf = (name: string): Pod =>
  (named('DaemonSet', name) as { spec: { template: { spec: Pod } } }).spec.template.spec
const pod = podOf('edge-health-wrapper')
const agent = podOf('edge-health-agent')
const [wrapper] = pod.containers

t.test('the pod lives on the node and asks for nothing else', t => {
  t.match(pod, {
    hostNetwork: true,
    dnsPolicy: 'Default',
    priorityClassName: 'system-node-critical',
    serviceAccountName: 'edge-health-wrapper',
    tolerations: [{ operator: 'Exists' }],
  })
  t.strictSame(pod['securityContext'], agent['securityContext'])
  t.strictSame(wrapper.securityContext, agent.containers[0].securityContext)
  t.strictSame(pod.initContainers, agent.initContainers, 'the same way to hand the folder over')
  t.equal(wrapper.image, agent.containers[0].image)
  for (const name of ['hostPID', 'hostIPC', 'affinity']) t.notOk(pod[name], name)
  t.match(pod['volumes'], [
    { hostPath: { path: '/var/lib/edge-health-wrapper', type: 'DirectoryOrCreate' } },
  ])
  t.match(wrapper, {
    resources: { limits: { memory: '192Mi' } },
    startupProbe: { httpGet: { host: '127.0.0.1', port: 51_007, path: '/healthz' } },
    livenessProbe: { httpGet: { host: '127.0.0.1', port: 51_007, path: '/healthz' } },
    readinessProbe: { httpGet: { host: '127.0.0.1', port: 51_007, path: '/readyz' } },
    env: [{ name: 'NODE_NAME' }, { name: 'EDGE_HEALTH_MASTER_URL' }],
  })
  t.end()
})

t.test('every flag is an option, and the options can be resolved', t => {
  t.equal(wrapper.command.at(-1), '/app/edge-health.cjs')
  const [command, ...flags] = wrapper.args
  t.equal(command, wrapperOptionSet.command)
  const given = flags.map(flag => {
    const [, name = '', text = ''] = /^--([^=]+)=(.+)$/.exec(flag) ?? []
    return { name, text }
  })
  const env = { NODE_NAME: 'n1', EDGE_HEALTH_MASTER_URL: 'https://10.0.0.1:6443' }
  const { options, notices } = resolveWrapperOptions({ flags: given, env })
  t.match(options, { nodeName: 'n1', masterUrl: 'https://10.0.0.1:6443' })
  t.match(options, { stateDir: '/var/lib/edge-health-wrapper' })
  t.strictSame(notices, [])
  t.end()
})

t.test('it calls what it may call, and what it may call it needs', async t => {
  const seams = { clock: systemClock, log: recordingLog() }
  const api = await startApi({ host: '127.0.0.1', port: 0, ...seams })
  t.teardown(() => api.stop())
  const folder = t.testdir()
  const kubeconfig = join(folder, 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'w', api.addClient('wrapper')))
  const flags = {
    'node-name': 'n1',
    kubeconfig,
    'state-dir': join(folder, 'state'),
    'bind-address': '127.33.4.1:51006',
    'status-address': '127.33.4.1:51007',
    'service-autonomy-enhancement': 'enabled=false',
  }
  const given = Object.entries(flags).map(([name, text]) => ({ name, text }))
  const { options } = resolveWrapperOptions({ flags: given, env: {} })
  const program = makeProgram(options, {
    ...{ ...seams, random: systemRandom, version: 'test', environment: {} },
  })
  t.teardown(() => program.stop())
  await program.start()
  const wrapperUrl = 'http://127.33.4.1:51006'
  const answer = await fetch(`${wrapperUrl}/api/v1/endpoints`)
  t.equal(answer.status, 200, 'Endpoints are followed for whoever asks')
  const calls = (): readonly RecordedRequest[] =>
    api.requests.filter(({ client }) => client === 'wrapper')
  const watched = ['nodes', 'services', 'endpoints', 'endpointslices']
  await eventually('all are watched', 60_000, () =>
    watched.every(word => calls().some(call => call.verb === 'watch' && call.resource === word)),
  )
  await eventually('servicecidrs are asked for', 60_000, () =>
    calls().some(({ path }) => path.includes('/servicecidrs')),
  )
  // Whatever a client writes is not done by the wrapper.
  const event = { metadata: { name: 'x', namespace: 'default' } }
  await fetch(`${wrapperUrl}/api/v1/namespaces/default/events`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer nobody' },
    body: JSON.stringify(event),
  })

  const subject = { namespace: 'edge-system', name: 'edge-health-wrapper' }
  const grants = grantsOf(objects, subject)
  const made = [
    ...calls().flatMap(
      ({ verb, path }) =>
      // The embedded API does not serve them: their list is all that could be seen.
      path.includes('/servicecidrs') ? [] : [requestOf('GET', verb === 'watch' ? `${path.split('?')[0]!}?watch=true` : path)], // prettier-ignore
    ),
    requestOf('GET', '/apis/networking.k8s.io/v1/servicecidrs?limit=500'),
    requestOf('GET', '/apis/networking.k8s.io/v1/servicecidrs?watch=true'),
  ]
  const denied = made.filter(request => !rbacAllows(grants, request))
  t.strictSame([...new Set(denied.map(request => JSON.stringify(request)))], [], 'all is allowed')
  t.strictSame(idleGrants(grants, made), [], 'nothing is granted that nobody used')
  const forbidden: [method: string, url: string][] = [
    ['GET', '/api/v1/nodes/n1'],
    ['GET', '/api/v1/secrets'],
    ['GET', '/api/v1/pods'],
    ['PATCH', '/api/v1/nodes/n1'],
    ['PUT', '/api/v1/namespaces/default/endpoints/x'],
    ['POST', '/apis/events.k8s.io/v1/namespaces/default/events'],
    ['GET', '/api/v1/nodes/n1/proxy/healthz'],
  ]
  for (const [method, url] of forbidden)
    t.equal(rbacAllows(grants, requestOf(method, url)), false, `no ${method} ${url}`)
})
