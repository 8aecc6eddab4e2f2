// SPDX-License-Identifier: Apache-2.0
// Simulated edges behind a bridge, on a real apiserver and controller manager, with the account and the policies of deploy/.
import { sleep, systemClock } from '../../../core/clock.js'
import type { JsonMap } from '../../../core/json.js'
import { mapsAt, textAt, valueAt } from '../../../core/json-at.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { installBridge, type BridgeProcess } from '../../../testkit/edge/bridge-process.js'
import type { CloudTarget } from '../../../testkit/edge/link.js'
import { playAgents } from './agents.js'
import { playApiAway, playFailover, playFlood, playSpoofing } from './faults.js'
import {
  Claims,
  codeOf,
  enrol,
  openRaw,
  readiness,
  readinessDuring,
  startBridge,
  startEdge,
  type Seams,
  type StartedEdge,
} from './stage.js'

const EDGES = ['edge-1', 'edge-2', 'edge-3']
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
/** The controller manager's, and a bit. */
const GRACE_MS = 40_000
const WATCHED_MS = 60_000

const POD = `apiVersion: v1
kind: Pod
metadata: { name: till, namespace: shop }
spec:
  nodeName: edge-1
  serviceAccountName: runner
  terminationGracePeriodSeconds: 2
  containers: [{ name: c, image: i, envFrom: [{ secretRef: { name: key } }] }]
  volumes:
    - { name: a, configMap: { name: prices } }
    - { name: b, configMap: { name: none, optional: true } }
    - { name: c, projected: { sources: [{ serviceAccountToken: { path: t, audience: vault, expirationSeconds: 3600 } }] } }
`
const OBJECTS = `apiVersion: v1
kind: ServiceAccount
metadata: { name: runner, namespace: shop }
---
apiVersion: v1
kind: ConfigMap
metadata: { name: prices, namespace: shop }
data: { tea: '1' }
---
apiVersion: v1
kind: Secret
metadata: { name: key, namespace: shop }
---
apiVersion: v1
kind: Secret
metadata: { name: foreign, namespace: shop }
`

const playRegistration = async (seams: Seams, claims: Claims): Promise<void> => {
  const { plane, signal } = seams
  await claims.becomes('three edges are Ready', async () => (await readiness(seams)).join() === 'True,True,True') // prettier-ignore
  // It asks for its Lease before it knows its Node, and again ten seconds later.
  await claims.becomes('each has a Lease in its name', async () => {
    const leases = await plane.admin.get(LEASES, signal)
    const names = mapsAt(leases, 'items').map(each => textAt(each, 'spec', 'holderIdentity'))
    return EDGES.every(name => names.includes(name))
  })
}

const playPod = async (
  { plane, signal }: Seams,
  claims: Claims,
  { store }: StartedEdge,
): Promise<void> => {
  const path = '/api/v1/namespaces/shop/pods/till'
  await plane.kubectl(['apply', '-f', '-'], POD)
  const phase = async () => textAt(await plane.admin.get(path, signal), 'status', 'phase')
  await claims.becomes('a Pod runs with its ConfigMaps, its Secret and its token', async () => (await phase()) === 'Running') // prettier-ignore
  const token = store.get('shop/serviceaccounttoken/runner')
  claims.claim('the token is one', textAt(token, 'status', 'token').length > 100)
  await plane.kubectl(['-n', 'shop', 'patch', 'configmap', 'prices', '-p', '{"data":{"tea":"2"}}'])
  await claims.becomes('a change of the ConfigMap is there', () => textAt(store.get('shop/configmap/prices'), 'data', 'tea') === '2') // prettier-ignore
  await plane.kubectl(['-n', 'shop', 'delete', 'pod', 'till', '--wait=false'])
  await claims.becomes('its deletion is carried out by the edge', () =>
    plane.kubectl(['-n', 'shop', 'get', 'pod', 'till']).then(
      () => false,
      () => true,
    ),
  )
}

/** What one edge asks with its own certificate. */
const playRights = async ({ plane }: Seams, claims: Claims, target: CloudTarget): Promise<void> => {
  const raw = openRaw(target)
  await raw.opened
  const labels = { 'node-role.kubernetes.io/edge': '', 'node-role.kubernetes.io/master': '' }
  const made = await raw.ask('insert', 'null/node/edge-4', { metadata: { name: 'edge-4', labels } })
  claims.claim('a Node is made', codeOf(made) === undefined, JSON.stringify(made.content))
  claims.claim('… without the label of another role', !('node-role.kubernetes.io/master' in (valueAt(made.content, 'Object', 'metadata', 'labels') as JsonMap))) // prettier-ignore
  const secret = await raw.ask('query', 'shop/secret/foreign', null)
  claims.claim('a foreign Secret is Forbidden', secret.route.operation === 'error')
  const other = await raw.ask('patch', 'null/nodepatch/edge-1', '{"status":{"phase":"Running"}}')
  claims.claim('another Node is Forbidden', codeOf(other) === 403)
  const mine = await raw.ask('patch', 'null/nodepatch/edge-4', '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"EdgeReady","message":"x"}]}}') // prettier-ignore
  claims.claim('its own is patched', codeOf(mine) === undefined, JSON.stringify(mine.content))
  const mirror = {
    metadata: { name: 'static-edge-4', namespace: 'shop', annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'x', 'kubernetes.io/config.source': 'file' } },
    spec: { nodeName: 'edge-4', containers: [{ name: 'c', image: 'i' }] },
  } // prettier-ignore
  const image = await raw.ask('insert', 'shop/pod/static-edge-4', mirror)
  claims.claim('the image of its own Pod is made', codeOf(image) === undefined, JSON.stringify(image.content)) // prettier-ignore
  const patched = await raw.ask('patch', 'shop/podpatch/static-edge-4', '{"status":{"phase":"Running"}}') // prettier-ignore
  claims.claim('… and its status told', codeOf(patched) === undefined, JSON.stringify(patched.content)) // prettier-ignore
  const about = { kind: 'Pod', namespace: 'shop', name: 'static-edge-4' }
  const event = {
    metadata: { name: 'static.1' },
    involvedObject: about,
    source: { component: 'kubelet', host: 'edge-4' },
    reason: 'Started',
    count: 1,
  }
  const ask = (operation: string, content: object) =>
    void raw.ask(operation, 'shop/event/static.1', content).catch(() => undefined)
  ask('insert', event)
  ask('patch', { event, patchData: Buffer.from('{"count":2}').toString('base64') })
  await claims.becomes('an Event is told, and counted', async () => {
    const path = 'jsonpath={.count}'
    const count = await plane.kubectl(['-n', 'shop', 'get', 'event', 'static.1', '-o', path]).catch(() => '') // prettier-ignore
    return count === '2'
  })
  const gone = await raw.ask('delete', 'shop/pod/static-edge-4', { gracePeriodSeconds: 0 })
  claims.claim('the image goes with its Pod', gone.content === 'OK', JSON.stringify(gone.content))
  raw.reset()
  await plane.kubectl(['delete', 'node', 'edge-4'])
}

/** Down for four seconds; edges notice late and wait half a minute. */
const playRestart = async (
  seams: Seams,
  claims: Claims,
  bridge: BridgeProcess,
): Promise<BridgeProcess> => {
  const { plane, signal, say } = seams
  plane.runControllers(['node-lifecycle-controller'], [
    ...['--node-monitor-period=5s', `--node-monitor-grace-period=${GRACE_MS / 1_000}s`],
  ]) // prettier-ignore
  await sleep(systemClock, 10_000, signal)
  await bridge.stop()
  await sleep(systemClock, 4_000, signal)
  const next = startBridge(seams)
  await next.serving()
  say('  the bridge was down for 4 s')
  const seen = await readinessDuring(seams, WATCHED_MS)
  claims.claim('no edge was NotReady', seen === 'True', seen)
  return next
}

const install = async (plane: ControlPlane): Promise<string> => {
  const kubeconfig = await installBridge(plane)
  await plane.kubectl(['create', 'namespace', 'shop'])
  await plane.kubectl(['apply', '-f', '-'], OBJECTS)
  return kubeconfig
}

/** @returns whether everything was as it must be. */
export const runBridge = async (
  plane: ControlPlane,
  say: Seams['say'],
  signal: AbortSignal,
): Promise<boolean> => {
  const seams = { plane, kubeconfig: await install(plane), say, signal }
  const claims = new Claims(say)
  let bridge = startBridge(seams)
  const edges: StartedEdge[] = []
  try {
    await bridge.serving()
    await claims.becomes('a bridge makes an authority and a token, and serves', async () => {
      const made = await plane.kubectl(['-n', 'kubeedge', 'get', 'secrets', '-o', 'name'])
      return made.includes('tokensecret')
    })
    const urls = [bridge.url]
    for (const [index, node] of EDGES.entries())
      edges.push(
        startEdge(node, { tls: await enrol(seams, node), ip: `10.0.0.${index + 1}`, urls }),
      )
    await playRegistration(seams, claims)
    await playAgents(plane, claims, edges[0]!.edge)
    await playPod(seams, claims, edges[0]!)
    const target = { url: bridge.url, node: 'edge-4', tls: await enrol(seams, 'edge-4') }
    await playRights(seams, claims, target)
    await playSpoofing(seams, claims, target, edges)
    await playFlood(seams, claims, target, edges)
    bridge = await playRestart(seams, claims, bridge)
    bridge = await playFailover(seams, claims, { bridge, edges, urls })
    await playApiAway(seams, claims, edges)
    claims.claim(
      'no edge has died',
      edges.every(({ edge }) => !edge.view.isDead),
    )
  } finally {
    for (const { edge } of edges) edge.kill()
    await Promise.all(edges.map(({ ended }) => ended))
    await bridge.stop()
  }
  say(`${claims.held} passed, ${claims.failed} failed`)
  return claims.failed === 0
}
