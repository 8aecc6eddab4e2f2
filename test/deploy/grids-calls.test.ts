// SPDX-License-Identifier: Apache-2.0
// The rights that the controller of grids is shipped with, against the requests that it really makes.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { resolveGridsOptions } from '../../grids/options/resolve.js'
import { makeProgram } from '../../grids/run/program.js'
import { startGarbageCollector } from '../../sandbox/garbage-collector.js'
import type { RecordedRequest } from '../../sandbox/api/server.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { grantsOf, idleGrants, rbacAllows, type KubeRequest } from '../../testkit/deploy/rbac.js'
import { startGridApi } from '../../testkit/kube/grid-api.js'
import {
  deploymentGrid,
  serviceGrid,
  statefulSetGrid,
  template,
} from '../../testkit/kube/grid-objects.js'
import { GridStage } from '../../testkit/kube/grid-stage.js'
import { until } from '../../testkit/kube/raw-objects.js'
import { recordingLog } from '../../testkit/recording-log.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)

/** No client of this machine has this address, so none of them has taken the port. */
const STATUS = '127.34.0.1:51908'
const component = join(import.meta.dirname, '..', '..', 'deploy', 'components', 'grids')
const account = { namespace: 'edge-system', name: 'edge-health-grids' }
const manifests = readManifests(component)
const GRID_PLURALS = ['servicegrids', 'deploymentgrids', 'statefulsetgrids']
const grants = grantsOf(manifests, account)

/** An apply that made its object needed the right to make it, too. */
const requestsOf = (recorded: RecordedRequest): readonly KubeRequest[] => {
  const { verb, group, resource, subresource, namespace, name, path, status } = recorded
  const request = {
    ...{ verb, group, namespace, name },
    resource: subresource === '' ? resource : `${resource}/${subresource}`,
    ...(resource === '' ? { path } : {}),
  }
  return verb === 'patch' && status === 201 ? [request, { ...request, verb: 'create' }] : [request]
}

t.test('the controller calls what it may call, and what it may call it needs', async t => {
  const { api, server, createSystemNamespace } = await startGridApi(t)
  const collector = startGarbageCollector(api.store, systemClock)
  const stage = new GridStage(server, 'calls')
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'grids', api.addClient('grids')))
  const flags = {
    kubeconfig,
    'unit-grace': '0s',
    'status-address': STATUS,
    identity: 'tester',
  }
  const given = Object.entries(flags).map(([name, text]) => ({ name, text }))
  const { options } = resolveGridsOptions({ flags: given, env: {} })
  const log = recordingLog()
  const program = makeProgram(options, {
    ...{ clock: systemClock, random: systemRandom, log, version: 'test', environment: {} },
  })
  t.teardown(async () => {
    await program.stop()
    await stage.close()
    await collector.stop()
  })
  await createSystemNamespace()
  await stage.open()
  for (const [at, unit] of ['a', 'b', 'c', 'd'].entries()) await stage.node(`n${at}`, unit)
  await stage.make(deploymentGrid('web'))
  await stage.make(serviceGrid('web'))
  await stage.make(statefulSetGrid('db', { headlessService: true }))
  await program.start()
  await until('all is made', async () => (await stage.names('StatefulSet')).length === 4)
  await until(
    'the status is reported',
    async () => (await stage.condition('ServiceGrid', 'web')) === 'True Applied',
  )

  // A name that is taken is told twice: the second time it is a count.
  const body = { kind: 'Service', apiVersion: 'v1', metadata: { name: 'taken-svc' } }
  await stage.make({ ...body, spec: { ports: [{ port: 1 }] } })
  await stage.make(serviceGrid('taken'))
  await stage.conditionBecomes('ServiceGrid', 'taken', 'Ready', 'False NameTaken')
  // A unit goes, and headless Services do.
  await stage.label('n3', null)
  await until('a unit is gone', async () => (await stage.names('Deployment')).length === 3)
  await stage.change('StatefulSetGrid', 'db', {
    spec: { headlessService: false, template: template() },
  })
  await until(
    'its Services went',
    async () => (await stage.names('Service')).filter(name => name.startsWith('db-')).length === 0,
  )
  t.match(await (await fetch(`http://${STATUS}/metrics`)).text(), /edge_health_grids_leading 1/)
  t.equal((await fetch(`http://${STATUS}/readyz`)).status, 200)
  await program.stop()
  const recorded = api.requests.filter(({ client }) => client === 'grids')
  const requests = recorded.flatMap(requestsOf)
  t.strictSame(
    requests.filter(({ path }) => path !== undefined),
    [],
    'nothing is asked that is no resource',
  )
  const denied = requests.filter(request => !rbacAllows(grants, request))
  t.strictSame([...new Set(denied.map(request => JSON.stringify(request)))], [], 'all is allowed')
  const unseen = [
    // The same Event is counted after a minute at the soonest.
    'patch events in *',
    // An admission plugin asks for it, which the embedded API has not: `npm run lab -- grid-rows` has.
    ...GRID_PLURALS.map(grids => `update ${grids}/finalizers in *`),
  ]
  const idle = idleGrants(grants, requests).filter(grant => !unseen.includes(grant))
  t.strictSame(idle, [], 'nothing is granted that nobody used')
  t.strictSame(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

t.test('no Secret, no right to everything', t => {
  for (const { rule } of grants) {
    t.notOk(rule.verbs.includes('*') || rule.resources.includes('*'), rule.resources.join())
    t.notOk(rule.resources.includes('secrets'))
  }
  t.end()
})

t.test('the manifests fit together', t => {
  const of = (kind: string) => manifests.filter(object => object.kind === kind)
  for (const object of manifests.filter(({ kind }) => kind !== 'CustomResourceDefinition'))
    t.match(object.metadata, { labels: { 'app.kubernetes.io/part-of': 'edge-health' } })
  for (const policy of of('ValidatingAdmissionPolicy'))
    t.match(
      JSON.stringify(policy['spec']),
      /system:serviceaccount:' \+ 'edge-system' \+ ':' \+ 'edge-health-grids'/,
      `${policy.metadata.name} names the account`,
    )
  t.strictSame(
    of('ValidatingAdmissionPolicyBinding').map(({ metadata }) => metadata.name),
    of('ValidatingAdmissionPolicy').map(({ metadata }) => metadata.name),
  )
  t.match(of('Deployment')[0]!['spec'], {
    template: { spec: { serviceAccountName: account.name, automountServiceAccountToken: true } },
  })
  t.end()
})
