// SPDX-License-Identifier: Apache-2.0
// A whole bridge on real sockets: what the API has for an edge reaches it, and a bridge that begins anew sends what differs.
import t from 'tap'
import { valueAt } from '../../../core/json-at.js'
import { openBridge, openCluster, until } from './stage.js'

const SHOP = '/api/v1/namespaces/shop'

const pod = (name: string, node: string, map: string) => ({
  metadata: { name },
  spec: {
    nodeName: node,
    containers: [{ name: 'c', image: 'i:1' }],
    volumes: [{ name: 'v', configMap: { name: map } }],
  },
})

const map = (name: string, key: string) => ({ metadata: { name }, data: { key } })

t.test('pods bound to an edge run there, and a restart sends nothing twice', async t => {
  const cluster = await openCluster(t)
  const first = await openBridge(t, cluster)
  await until(first.isServing)
  const { edge, store } = await first.edge('e1')
  const bystander = await first.edge('e2')
  const keyOf = (name: string) => valueAt(store.get(`shop/configmap/${name}`), 'data', 'key')
  const explain = async (bridge: typeof first, node: string) =>
    JSON.parse((await bridge.fetchText(`/explain?node=${node}`)).text) as unknown
  await cluster.ask(`POST ${SHOP}/configmaps`, map('prices', '1'))
  await cluster.ask(`POST ${SHOP}/configmaps`, map('old', '1'))
  await cluster.ask(`POST ${SHOP}/pods`, pod('web', 'e1', 'prices'))
  await cluster.ask(`POST ${SHOP}/pods`, pod('till', 'e1', 'old'))
  const phaseOf = (name: string) => edge.view.pods[`shop/pod/${name}`]?.phase
  await until(() => phaseOf('web') === 'Running' && phaseOf('till') === 'Running')
  const { body } = await cluster.ask(`GET ${SHOP}/pods/web`)
  await until(async () => {
    const { body } = await cluster.ask(`GET ${SHOP}/pods/web`)
    return valueAt(body, 'status', 'phase') === 'Running'
  })
  await cluster.ask(`PUT ${SHOP}/configmaps/prices`, map('prices', '2'))
  await until(() => keyOf('prices') === '2')
  t.equal(bystander.store.get('shop/configmap/prices'), undefined, 'others get nothing')
  const holds = { node: 1, pod: 2, configmap: 2, unsure: 0 }
  await until(async () => valueAt(await explain(first, 'e1'), 'sending', 'waiting') === 0)
  t.match(await explain(first, 'e1'), { holds })
  const uid = valueAt(body, 'metadata', 'uid')

  const record = '/api/v1/namespaces/edge-system/configmaps/bridge-record-e1'
  await until(async () => (await cluster.ask(`GET ${record}`)).status === 200)
  await first.program.stop()
  await cluster.ask(`DELETE ${SHOP}/pods/till`)
  await cluster.ask(`DELETE ${SHOP}/configmaps/old`)
  const second = await openBridge(t, cluster, {
    listenAddress: { host: '127.0.0.1', port: first.ports.hub },
  })
  await until(() => phaseOf('till') === undefined && keyOf('old') === undefined)
  t.equal(edge.view.pods['shop/pod/web']?.uid, uid)
  await until(async () => valueAt(await explain(second, 'e1'), 'sending', 'waiting') === 0)
  t.match(await explain(second, 'e1'), {
    sending: { messages: { sent: 2, resent: 0, refused: 0 } },
    holds: { node: 1, pod: 1, configmap: 1 },
  })
  const metrics = await second.fetchText('/metrics')
  t.match(metrics.text, /edge_health_bridge_messages_sent_total\{result="sent"\} \d/)
})
