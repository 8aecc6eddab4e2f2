// SPDX-License-Identifier: Apache-2.0
// The rights that the bridge is shipped with, against the requests that it really makes.
import { join } from 'node:path'
import t from 'tap'
import { valueAt } from '../../core/json-at.js'
import { resolveBridgeOptions } from '../../bridge/options/resolve.js'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { grantsOf, idleGrants, rbacAllows } from '../../testkit/deploy/rbac.js'
import { openBridge, openCluster, until } from '../bridge/run/stage.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)

const component = join(import.meta.dirname, '..', '..', 'deploy', 'components', 'bridge')
const manifests = readManifests(component)
const account = { namespace: 'edge-system', name: 'edge-health-bridge' }
const grants = grantsOf(manifests, account)
const SHOP = '/api/v1/namespaces/shop'

t.test('it calls what it may call', async t => {
  const cluster = await openCluster(t)
  const bridge = await openBridge(t, cluster)
  await until(bridge.isServing)
  const { edge } = await bridge.edge('e1')
  await cluster.ask(`POST ${SHOP}/configmaps`, { metadata: { name: 'prices' }, data: { a: '1' } })
  await cluster.ask(`POST ${SHOP}/secrets`, { metadata: { name: 'key' }, data: {} })
  const volumes = [
    { name: 'v', configMap: { name: 'prices' } },
    { name: 'w', secret: { secretName: 'key' } },
  ]
  const spec = { nodeName: 'e1', containers: [{ name: 'c', image: 'i' }], volumes }
  await cluster.ask(`POST ${SHOP}/pods`, { metadata: { name: 'web' }, spec })
  await until(() => edge.view.pods['shop/pod/web']?.phase === 'Running')
  await cluster.ask(`DELETE ${SHOP}/pods/web`)
  await until(() => edge.view.pods['shop/pod/web'] === undefined)
  const record = '/api/v1/namespaces/edge-system/configmaps/bridge-record-e1'
  await until(async () => (await cluster.ask(`GET ${record}`)).status === 200)
  await bridge.program.stop()

  const requests = cluster.api.requests
    .filter(({ client }) => client === bridge.user)
    .map(({ verb, group, resource, subresource, namespace, name }) => ({
      ...{ verb, group, namespace, name },
      resource: subresource === '' ? resource : `${resource}/${subresource}`,
    }))
  const denied = requests.filter(each => !rbacAllows(grants, each))
  t.strictSame([...new Set(denied.map(each => JSON.stringify(each)))], [], 'all is allowed')
  // What the embedded API does not have or asks no right for, or this edge does not do: test/bridge/run/upstream has it.
  const elsewhere =
    /persistentvolume|volumeattachments|serviceaccounts\/token|events|patch nodes in|(create|get|delete) pods|(create|delete) configmaps|update secrets/
  const idle = idleGrants(grants, requests).filter(grant => !elsewhere.test(grant))
  t.strictSame(idle, [], 'nothing is granted that nobody used')
})

t.test('no verb and no kind of all, and writes of few Secrets', t => {
  for (const { rule } of grants) {
    t.notOk(rule.verbs.includes('*') || rule.resources.includes('*'), rule.resources.join())
    const isSecret = rule.resources.includes('secrets')
    t.notOk(isSecret && rule.verbs.some(verb => ['patch', 'delete'].includes(verb)))
  }
  t.end()
})

t.test('the manifests fit together', t => {
  const of = (kind: string) => manifests.filter(object => object.kind === kind)
  for (const object of manifests)
    t.match(object.metadata, { labels: { 'app.kubernetes.io/part-of': 'edge-health' } })
  for (const policy of of('ValidatingAdmissionPolicy'))
    t.match(JSON.stringify(policy['spec']), /'edge-system' \+ ':' \+ 'edge-health-bridge'/)
  const { options } = resolveBridgeOptions({ flags: [], env: {} })
  const [deployment] = of('Deployment')
  const [container] = valueAt(
    deployment,
    'spec',
    'template',
    'spec',
    'containers',
  ) as readonly object[]
  t.match(container, {
    ports: [
      { containerPort: options.listenAddress.port },
      { containerPort: options.enrolAddress.port },
      { containerPort: options.statusAddress.port },
    ],
    volumeMounts: [{ mountPath: options.stateDir }],
  })
  t.end()
})
