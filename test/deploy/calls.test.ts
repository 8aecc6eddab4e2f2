// SPDX-License-Identifier: Apache-2.0
// The RBAC that is shipped against the calls that agents really make, as the embedded API recorded them.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeProgram } from '../../agent/program.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { systemClock } from '../../core/clock.js'
import type { Program } from '../../core/program.js'
import { systemRandom } from '../../core/random.js'
import { startApi, type RecordedRequest } from '../../sandbox/api/server.js'
import { makeApiClient } from '../../sandbox/api-client.js'
import { startKubelet, type Kubelet } from '../../sandbox/kubelet.js'
import { startLifecycle } from '../../sandbox/lifecycle.js'
import { NODES, readyOf, taintsOf, type NodeObject } from '../../sandbox/node-object.js'
import { createZoneObjects, kubeconfigText, ZONE_LABEL } from '../../sandbox/zone-objects.js'
import { eventually } from '../../testkit/bundle.js'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { grantsOf, idleGrants, rbacAllows, type KubeRequest } from '../../testkit/deploy/rbac.js'
import { recordingLog } from '../../testkit/recording-log.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)
const SOON_MS = 180_000

const requestOf = ({ resource, subresource, path, ...rest }: RecordedRequest): KubeRequest => ({
  verb: rest.verb,
  group: rest.group,
  resource: subresource === '' ? resource : `${resource}/${subresource}`,
  namespace: rest.namespace,
  name: rest.name,
  ...(resource === '' ? { path } : {}),
})

const base = join(import.meta.dirname, '..', '..', 'deploy', 'base')
const grants = grantsOf(readManifests(base), {
  namespace: 'edge-system',
  name: 'edge-health-agent',
})

const seams = { clock: systemClock, log: recordingLog() }
const alive = new AbortController()
const { signal } = alive

interface Machine {
  readonly name: string
  kubelet: Kubelet | undefined
  agent: Program | undefined
}

t.test('agents call what they may call, and what they may call they need', async t => {
  const folder = t.testdir()
  const api = await startApi({ host: '127.0.0.1', port: 0, ...seams })
  const admin = makeApiClient({ server: api.url, token: api.addClient('admin') }, systemClock)
  const lifecycle = startLifecycle(
    { monitorPeriodMs: 500, graceMs: 6_000, startupGraceMs: 20_000, evictionPeriodMs: 100 },
    {
      api: makeApiClient({ server: api.url, token: api.addClient('controller') }, systemClock),
      ...seams,
    },
  )
  await createZoneObjects(admin, 'a key of this test, long enough', signal)

  const machines: Machine[] = [1, 2, 3].map(n => ({
    name: `n${n}`,
    kubelet: undefined,
    agent: undefined,
  }))
  const boot = async (machine: Machine): Promise<void> => {
    const { name } = machine
    const address = `127.33.0.1${name.slice(1)}`
    machine.kubelet = await startKubelet(
      {
        nodeName: name,
        address,
        labels: { [ZONE_LABEL]: 'calls' },
        server: api.url,
        token: api.addClient(`kubelet:${name}`),
        healthz: { host: address, port: 10248 },
        secure: { host: address, port: 10250 },
        leaseSeconds: 8,
        renewMs: 1_000,
        statusMs: 300_000,
      },
      seams,
    )
    mkdirSync(join(folder, name), { recursive: true })
    const kubeconfig = join(folder, name, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigText(api.url, name, api.addClient(`agent:${name}`)))
    const flags = {
      'node-name': name,
      'node-address': address,
      'local-address': address,
      'local-port': '51006',
      kubeconfig,
      'state-dir': join(folder, name, 'state'),
      'self-report-url': `http://${address}:10248/healthz`,
      profile: 'fast',
      'leave-grace': '0s',
      // Above the grace, so that a vouched node is Unknown first and has to be made Ready again.
      'cloud-check-failures': '4',
    }
    const { options } = resolveAgentOptions({
      flags: Object.entries(flags).map(([flag, text]) => ({ name: flag, text })),
      env: {},
    })
    machine.agent = makeProgram(options, {
      ...seams,
      random: systemRandom,
      version: 'test',
      setVerbosity: () => undefined,
      environment: {},
    })
    await machine.agent.start()
  }
  const crash = async (machine: Machine): Promise<void> => {
    await Promise.all([machine.agent?.stop(), machine.kubelet?.stop()])
  }
  t.teardown(async () => {
    alive.abort()
    await Promise.all(machines.map(crash))
    await lifecycle.stop()
    admin.close()
    await api.stop()
  })
  const [first, second, third] = machines as [Machine, Machine, Machine]
  const nodeOf = (name: string): NodeObject => api.store.get('nodes', undefined, name) as NodeObject
  const isMarked = (name: string): boolean =>
    nodeOf(name).metadata.annotations?.['nodeunhealth'] === 'yes'
  const calls = (): readonly RecordedRequest[] =>
    api.requests.filter(({ client }) => client.startsWith('agent:'))
  const done = (verb: string, part: string): boolean =>
    calls().some(call => call.verb === verb && call.path.includes(part) && call.status < 300)

  await Promise.all(machines.map(boot))
  await eventually('all nodes are Ready', SOON_MS, () =>
    machines.every(({ name }) => readyOf(nodeOf(name))?.status === 'True'),
  )
  await eventually('the agents hear each other', SOON_MS, async () => {
    const answer = await fetch('http://127.33.0.11:51006/status')
    const { nodes } = (await answer.json()) as { nodes: { verdict: string }[] }
    return nodes.length === 3 && nodes.every(({ verdict }) => verdict === 'healthy')
  })

  // Condemned, while somebody else keeps changing the Node: the writer meets conflicts and reads it again.
  await crash(third)
  let ticks = 0
  const disturb = async (): Promise<void> => {
    const metadata = { labels: { tick: String(ticks++) } }
    await admin.patch(`${NODES}/n3`, 'merge', { metadata }, signal)
  }
  await eventually('a conflict was met', SOON_MS, async () => {
    const until = performance.now() + 500
    while (performance.now() < until) await disturb()
    if (isMarked('n3') && !done('get', '/nodes/n3')) {
      // It got through at once: take the mark off, and it is written again.
      const metadata = { annotations: { nodeunhealth: null } }
      await admin.patch(`${NODES}/n3`, 'merge', { metadata }, signal)
    }
    return done('get', '/nodes/n3')
  })
  await eventually('n3 is condemned', SOON_MS, () => isMarked('n3'))
  await boot(third)
  await eventually('n3 is cleared', SOON_MS, () => !isMarked('n3'))

  // Vouched for.
  for (const client of ['agent:n2', 'kubelet:n2']) api.cutLink(client, 'silent')
  await eventually('n2 is vouched for', SOON_MS, () =>
    taintsOf(nodeOf('n2')).some(({ key }) => key === 'edge-health/cloud-link-cut'),
  )
  await eventually('its Lease is renewed', SOON_MS, () => done('patch', '/leases/n2'))
  for (const client of ['agent:n2', 'kubelet:n2']) api.healLink(client)
  await eventually('n2 is as before', SOON_MS, () => taintsOf(nodeOf('n2')).length === 0)

  // A broken configuration is told in an Event; the watches bring it.
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'edge-health-config', namespace: 'edge-system' },
    data: { 'unit-internal-check': 'perhaps' },
  }
  await admin.post('/api/v1/namespaces/edge-system/configmaps', configMap, signal)
  await eventually('somebody says that it is refused', SOON_MS, () =>
    api.store
      .list('events', 'default')
      .some(event => (event as { reason?: string }).reason === 'ConfigRefused'),
  )

  const requests = calls().map(requestOf)
  const urls = new Set(requests.flatMap(({ path }) => path ?? []))
  t.strictSame([...urls], ['/livez'], 'what is no resource is open to everybody who is known')
  const resources = requests.filter(({ path }) => path === undefined)
  const denied = resources.filter(request => !rbacAllows(grants, request))
  t.strictSame([...new Set(denied.map(request => JSON.stringify(request)))], [], 'all is allowed')
  t.strictSame(idleGrants(grants, resources), [], 'nothing is granted that nobody used')
  t.ok(
    calls().every(({ client }) => [first, second, third].some(m => client === `agent:${m.name}`)),
  )
})
