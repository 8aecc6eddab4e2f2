// SPDX-License-Identifier: Apache-2.0
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readManifests, renderManifests } from '../../testkit/deploy/manifests.js'
import {
  grantsOf,
  idleGrants,
  rbacAllows,
  requestOf,
  type Grant,
} from '../../testkit/deploy/rbac.js'

const root = join(import.meta.dirname, '..', '..')
const base = join(root, 'deploy', 'base')
const objects = readManifests(base)

interface Probe {
  readonly httpGet: { readonly host: string; readonly port: number; readonly path: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}
interface Container {
  readonly name: string
  readonly image: string
  readonly args?: readonly string[]
  readonly env?: readonly { name: string; valueFrom: { fieldRef: { fieldPath: string } } }[]
  readonly resources: { readonly limits: Record<string, string>; requests: Record<string, string> }
  readonly securityContext: Record<string, unknown>
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
  readonly startupProbe: Probe
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
}
interface PodSpec {
  readonly hostNetwork: boolean
  readonly tolerations: readonly { key?: string; operator?: string; effect?: string }[]
  readonly initContainers: readonly Container[]
  readonly containers: readonly Container[]
  readonly affinity: unknown
  readonly securityContext: unknown
  readonly volumes: readonly { readonly name: string; readonly hostPath: unknown }[]
  readonly terminationGracePeriodSeconds: number
  readonly [field: string]: unknown
}

const only = (kind: string, name: string) => {
  const found = objects.filter(object => object.kind === kind && object.metadata.name === name)
  t.equal(found.length, 1, `there is one ${kind} ${name}`)
  return found[0]!
}
const daemonSet = only('DaemonSet', 'edge-health-agent') as unknown as {
  spec: { template: { spec: PodSpec }; updateStrategy: { rollingUpdate: unknown } }
}
const pod = daemonSet.spec.template.spec
const agent = pod.containers[0]!

t.test('every manifest is named by the kustomization', t => {
  const files = readdirSync(base).filter(name => name !== 'kustomization.yaml')
  const text = readFileSync(join(base, 'kustomization.yaml'), 'utf8')
  for (const file of files) t.match(text, `  - ${file}\n`)
  t.end()
})

t.test('no key is shipped', t => {
  t.notOk(objects.some(object => object.kind === 'Secret'))
  t.end()
})

t.test('the pod lives on the node and asks for nothing else', t => {
  t.match(pod, {
    hostNetwork: true,
    dnsPolicy: 'Default',
    priorityClassName: 'system-node-critical',
    serviceAccountName: 'edge-health-agent',
    terminationGracePeriodSeconds: 10,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: 65532,
      seccompProfile: { type: 'RuntimeDefault' },
    },
  })
  t.match(daemonSet.spec.updateStrategy, { rollingUpdate: { maxUnavailable: '10%' } })
  t.strictSame(agent.resources.limits, { cpu: '50m', memory: '100Mi' })
  t.strictSame(agent.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  for (const name of ['hostPID', 'hostIPC', 'shareProcessNamespace']) t.notOk(pod[name], name)
  t.strictSame(
    pod.volumes.map(volume => volume.hostPath),
    [{ path: '/var/lib/edge-health', type: 'DirectoryOrCreate' }],
    'one folder of the node, its own',
  )
  t.end()
})

t.test('the folder is handed over by root with one capability', t => {
  const [init, ...more] = pod.initContainers
  t.equal(more.length, 0)
  t.strictSame(init!.securityContext['capabilities'], { drop: ['ALL'], add: ['CHOWN'] })
  t.equal(init!.securityContext['allowPrivilegeEscalation'], false)
  t.equal(init!.securityContext['readOnlyRootFilesystem'], true)
  t.equal(init!.image, agent.image, 'no second image to trust')
  t.end()
})

t.test('probes ask the local listener and are patient with 50m of CPU', t => {
  for (const [name, path] of [
    ['startupProbe', '/healthz'],
    ['livenessProbe', '/healthz'],
    ['readinessProbe', '/readyz'],
  ] as const) {
    t.match(agent[name], { httpGet: { host: '127.0.0.1', port: 51005, path } }, name)
  }
  const { periodSeconds, failureThreshold } = agent.startupProbe
  t.ok(periodSeconds * failureThreshold >= 60, 'start-up may take a minute')
  t.ok(agent.livenessProbe.periodSeconds * agent.livenessProbe.failureThreshold >= 60)
  t.end()
})

t.test('a node in trouble keeps its agent', t => {
  const taints: [key: string, effect: string][] = [
    ['node.kubernetes.io/unreachable', 'NoExecute'],
    ['node.kubernetes.io/unreachable', 'NoSchedule'],
    ['node.kubernetes.io/not-ready', 'NoExecute'],
    ['node.kubernetes.io/network-unavailable', 'NoSchedule'],
    ['node.kubernetes.io/disk-pressure', 'NoSchedule'],
    ['node.kubernetes.io/out-of-service', 'NoExecute'],
    ['edge-health/cloud-link-cut', 'NoSchedule'],
    ['edge-health/dead', 'NoExecute'],
  ]
  for (const [key, effect] of taints) {
    const isTolerated = pod.tolerations.some(
      toleration =>
        toleration.operator === 'Exists' &&
        !('tolerationSeconds' in toleration) &&
        [undefined, key].includes(toleration.key) &&
        [undefined, effect].includes(toleration.effect),
    )
    t.ok(isTolerated, `${key}:${effect}`)
  }
  // The label `master` would be a warning of every apiserver since 1.24, and no node needs it since 1.20.
  const roles = (affinity: unknown) =>
    [...JSON.stringify(affinity).matchAll(/"key":"node-role\.kubernetes\.io\/([^"]*)","operator":"DoesNotExist"/g)].map(([, role]) => role) // prettier-ignore
  t.strictSame(roles(pod.affinity), ['control-plane'])
  const older = renderManifests(base, [join(base, '..', 'components', 'without-policies')])
  const agentThere = older.find(({ kind, metadata: { name } }) => kind === 'DaemonSet' && name === 'edge-health-agent') // prettier-ignore
  t.strictSame(roles(agentThere), ['control-plane', 'master'])
  t.end()
})

t.test('who the agent is comes from the downward API; where it is follows its Node', t => {
  const env = Object.fromEntries(agent.env!.map(e => [e.name, e.valueFrom.fieldRef.fieldPath]))
  // status.hostIP would be what it was when the pod started.
  t.strictSame(env, { NODE_NAME: 'spec.nodeName' })
  t.end()
})

const grants = grantsOf(objects, { namespace: 'edge-system', name: 'edge-health-agent' })
const inSystem = '/api/v1/namespaces/edge-system'
const one = (kind: string, name: string, watch = '') =>
  `${inSystem}/${kind}?fieldSelector=metadata.name%3D${name}${watch}`
const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

// What kube-apiserver 1.36.3 answered for these grants, with RBAC on.
const allowed: [method: string, url: string][] = [
  ['GET', '/api/v1/nodes?limit=200'],
  ['GET', '/api/v1/nodes?watch=true&allowWatchBookmarks=true'],
  ['GET', '/api/v1/nodes/n1'],
  ['PATCH', '/api/v1/nodes/n1'],
  ['PATCH', '/api/v1/nodes/n1/status'],
  ...['edge-health-zone-config', 'edge-health-config', 'hmac-config'].flatMap(
    (name): [string, string][] => [
      ['GET', one('configmaps', name)],
      ['GET', one('configmaps', name, '&watch=true')],
    ],
  ),
  ['GET', one('secrets', 'edge-health-keys', '&limit=200')],
  ['GET', one('secrets', 'edge-health-keys', '&watch=1')],
  ['GET', `${lease}/n1`],
  ['PATCH', `${lease}/n1`],
  ['POST', '/apis/events.k8s.io/v1/namespaces/default/events'],
]
const denied: [method: string, url: string][] = [
  ['GET', '/api/v1/nodes/n1/proxy/healthz'],
  ['GET', '/api/v1/nodes/n1/status'],
  ['PUT', '/api/v1/nodes/n1'],
  ['PUT', '/api/v1/nodes/n1/status'],
  ['DELETE', '/api/v1/nodes/n1'],
  ['GET', `${inSystem}/secrets`],
  ['GET', one('secrets', 'other')],
  ['GET', `${inSystem}/secrets/edge-health-keys`],
  ['GET', `${inSystem}/secrets/other`],
  ['GET', `${inSystem}/configmaps/hmac-config`],
  ['GET', '/api/v1/namespaces/default/secrets/edge-health-keys'],
  ['PATCH', `${inSystem}/secrets/edge-health-keys`],
  ['GET', `${inSystem}/configmaps?watch=true`],
  ['PATCH', `${inSystem}/configmaps/hmac-config`],
  ['GET', lease],
  ['PUT', `${lease}/n1`],
  ['POST', lease],
  ['GET', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/n1'],
  ['POST', '/apis/events.k8s.io/v1/namespaces/kube-system/events'],
  ['POST', '/api/v1/namespaces/default/events'],
  ['GET', '/api/v1/pods'],
  ['POST', `${inSystem}/serviceaccounts/edge-health-agent/token`],
  ['GET', '/metrics'],
]

t.test('the service account may do what the agent does, and nothing else', t => {
  for (const [method, url] of allowed) {
    t.equal(rbacAllows(grants, requestOf(method, url)), true, `${method} ${url}`)
  }
  for (const [method, url] of denied) {
    t.equal(rbacAllows(grants, requestOf(method, url)), false, `no ${method} ${url}`)
  }
  const requests = allowed.map(([method, url]) => requestOf(method, url))
  t.strictSame(idleGrants(grants, requests), [], 'nothing is granted that no call needs')
  t.strictSame(idleGrants(grants, requests.slice(1)), ['list nodes in *'], 'and that would show')
  t.end()
})

t.test('the reading of rules and requests', t => {
  const rule = {
    apiGroups: ['*'],
    resources: ['*'],
    verbs: ['*'],
    resourceNames: [],
    nonResourceURLs: ['/livez'],
  }
  const everywhere: Grant = { namespace: undefined, rule }
  const cases: [why: string, grants: readonly Grant[], request: [string, string], want: boolean][] =
    [
      ['a star allows all', [everywhere], ['DELETE', '/apis/apps/v1/deployments/x'], true],
      ['a URL that is no resource', [everywhere], ['GET', '/livez?verbose'], true],
      ['another one', [everywhere], ['GET', '/metrics'], false],
      ['a namespaced grant gives no URL', [{ namespace: 'a', rule }], ['GET', '/livez'], false],
      [
        'nor another namespace',
        [{ namespace: 'a', rule }],
        ['GET', '/api/v1/namespaces/b/pods/x'],
        false,
      ],
      ['nor all of them', [{ namespace: 'a', rule }], ['GET', '/api/v1/pods'], false],
      ['no grant, no right', [], ['GET', '/api/v1/nodes'], false],
    ]
  for (const [why, some, request, want] of cases) {
    t.equal(rbacAllows(some, requestOf(...request)), want, why)
  }
  t.match(requestOf('GET', '/api/v1/namespaces/x'), {
    verb: 'get',
    resource: 'namespaces',
    name: 'x',
  })
  t.match(requestOf('GET', '/apis/a.b/v1'), { path: '/apis/a.b/v1' }, 'discovery is no resource')
  t.throws(() => grantsOf([...objects].filter(o => o.kind !== 'ClusterRole'), { namespace: 'edge-system', name: 'edge-health-agent' }), /no ClusterRole/) // prettier-ignore
  t.end()
})
