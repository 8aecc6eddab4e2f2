// SPDX-License-Identifier: Apache-2.0
// Simulated edges behind a bridge, on a real apiserver and controller manager, with the account and the policies of deploy/.
import { X509Certificate } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { resolveBridgeOptions } from '../../../bridge/options/resolve.js'
import { makeProgram } from '../../../bridge/run/program.js'
import { sleep, systemClock } from '../../../core/clock.js'
import { isMap, type JsonMap } from '../../../core/json.js'
import { silentLog } from '../../../core/log.js'
import type { Program } from '../../../core/program.js'
import { systemRandom } from '../../../core/random.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { at, listAt, textAt } from '../../../testkit/edge/bodies.js'
import { edgeSubject, requestCertificate } from '../../../testkit/edge/certificate-request.js'
import { Edge } from '../../../testkit/edge/edge.js'
import type { EdgeEvent } from '../../../testkit/edge/edge-part.js'
import { decodeFrame, encodeFrame, makeFrame, type Frame } from '../../../testkit/edge/frame.js'
import { dialWebsocket, type CloudTarget, type WebsocketLink } from '../../../testkit/edge/link.js'
import { memoryStore } from '../../../testkit/edge/store.js'

const FOLDER = 'deploy/components/bridge'
const ACCOUNT = 'edge-health-bridge'
const HOST = '127.0.0.1'
const [HUB, ENROL, STATUS] = [10_000, 10_002, 51_011]
const EDGES = ['edge-1', 'edge-2', 'edge-3']
const PATIENCE_MS = 30_000
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

interface Seams {
  readonly plane: ControlPlane
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

/** Tells each claim and whether it held. */
class Claims {
  readonly #say: Seams['say']
  held = 0
  failed = 0

  constructor(say: Seams['say']) {
    this.#say = say
  }

  claim(what: string, isSo: boolean, why = ''): void {
    if (isSo) this.held++
    else this.failed++
    this.#say(`  ${isSo ? 'ok    ' : 'NOT OK'} ${what}${isSo || why === '' ? '' : `: ${why}`}`)
  }

  /** It becomes so within half a minute. */
  async becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const until = performance.now() + PATIENCE_MS
    let isIt = await isSo()
    while (!isIt && performance.now() < until) {
      await sleep(systemClock, 100, new AbortController().signal)
      isIt = await isSo()
    }
    this.claim(what, isIt)
  }
}

const install = async ({ plane }: Seams): Promise<void> => {
  for (const name of ['edge-system', 'kubeedge', 'shop'])
    await plane.kubectl(['create', 'namespace', name])
  for (const file of ['rbac.yaml', 'policies.yaml'])
    await plane.kubectl(['apply', '-f', `${FOLDER}/${file}`])
  await plane.kubectl(['apply', '-f', '-'], OBJECTS)
}

const startBridge = async ({ plane }: Seams): Promise<Program> => {
  const token = await plane.kubectl(['-n', 'edge-system', 'create', 'token', ACCOUNT])
  const file = join(plane.dir, 'bridge.kubeconfig')
  writeFileSync(file, kubeconfig(plane.url, plane.ca, { token: token.trim() }), { mode: 0o600 })
  const state = join(plane.dir, 'bridge-state')
  mkdirSync(state, { recursive: true })
  const given = { kubeconfig: file, 'state-dir': state, vouch: 'grace' }
  const flags = Object.entries(given).map(([name, text]) => ({ name, text }))
  const { options } = resolveBridgeOptions({ flags, env: {} })
  const program = makeProgram(options, {
    ...{ clock: systemClock, random: systemRandom, log: silentLog },
    ...{ version: 'lab', environment: {} },
  })
  await program.start()
  return program
}

const askEnrolment = (
  path: string,
  headers: Record<string, string>,
  body?: Buffer,
): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    // As an edge does: it knows the authority by its hash alone.
    const options = { host: HOST, port: ENROL, path, headers, rejectUnauthorized: false }
    const asked = request(options, answer => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        if (answer.statusCode === 200) resolve(Buffer.concat(parts))
        else reject(new Error(`${path}: ${answer.statusCode} ${Buffer.concat(parts).toString()}`))
      })
    })
    asked.on('error', reject)
    asked.end(body)
  })

/** With the token that administrators give it. */
const enrol = async ({ plane }: Seams, node: string): Promise<CloudTarget['tls']> => {
  const path = 'jsonpath={.data.tokendata}'
  const text = await plane.kubectl(['-n', 'kubeedge', 'get', 'secret', 'tokensecret', '-o', path])
  const [, ...token] = Buffer.from(text, 'base64').toString().split('.')
  const ca = new X509Certificate(await askEnrolment('/ca.crt', {})).toString()
  const { der, key } = await requestCertificate(edgeSubject(node))
  const headers = {
    ...{ Authorization: `Bearer ${token.join('.')}`, Nodename: node },
    'Content-Length': String(der.length),
  }
  const signed = await askEnrolment('/edge.crt', headers, der)
  return { ca, cert: new X509Certificate(signed).toString(), key }
}

const url = `wss://${HOST}:${HUB}`

const startEdge = (node: string, tls: CloudTarget['tls'], ip: string) => {
  const events: EdgeEvent[] = []
  const store = memoryStore()
  const edge = new Edge(
    { node, ip },
    {
      ...{ clock: systemClock, random: systemRandom, store },
      dial: told => dialWebsocket({ url, node, tls }, told),
      onEvent: event => events.push(event),
    },
  )
  return { edge, events, ended: edge.run(), store }
}

/** A connection whose requests are the lab's own. */
const openRaw = (node: string, tls: CloudTarget['tls']) => {
  const got: Frame[] = []
  let link!: WebsocketLink
  const opened = new Promise<void>((resolve, reject) => {
    link = dialWebsocket({ url, node, tls }, {
      opened: resolve,
      refused: reason => reject(new Error(reason)),
      received: text => got.push(decodeFrame(text)!),
      ended: () => undefined,
    }) // prettier-ignore
  })
  const ask = async (operation: string, resource: string, content: unknown): Promise<Frame> => {
    const route = { source: 'edged', group: 'meta', operation, resource }
    const frame = makeFrame(route, { content, wall: Date.now() })
    link.send(encodeFrame(frame))
    const find = () => got.find(({ header }) => header.parent_msg_id === frame.header.msg_id)
    const until = performance.now() + PATIENCE_MS
    while (find() === undefined && performance.now() < until)
      await sleep(systemClock, 10, new AbortController().signal)
    return find() ?? frame
  }
  return { ask, opened, reset: () => link.reset() }
}

const codeOf = ({ content }: Frame): unknown => at(content, 'Err', 'ErrStatus', 'code')

const readyOf = (node: JsonMap): string =>
  textAt(
    listAt(node, 'status', 'conditions').find(each => textAt(each, 'type') === 'Ready'),
    'status',
  )

const playRegistration = async ({ plane, signal }: Seams, claims: Claims): Promise<void> => {
  const nodes = async () => listAt(await plane.admin.get('/api/v1/nodes', signal), 'items')
  await claims.becomes('three edges are Ready', async () => {
    const all = await nodes()
    return all.length === EDGES.length && all.every(each => isMap(each) && readyOf(each) === 'True')
  })
  // It asks for its Lease before it knows its Node, and again ten seconds later.
  await claims.becomes('each has a Lease in its name', async () => {
    const leases = await plane.admin.get(LEASES, signal)
    const names = listAt(leases, 'items').map(each => textAt(each, 'spec', 'holderIdentity'))
    return EDGES.every(name => names.includes(name))
  })
}

const playPod = async (
  { plane, signal }: Seams,
  claims: Claims,
  { store }: ReturnType<typeof startEdge>,
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
const playRights = async (
  { plane }: Seams,
  claims: Claims,
  tls: CloudTarget['tls'],
): Promise<void> => {
  const raw = openRaw('edge-4', tls)
  await raw.opened
  const labels = { 'node-role.kubernetes.io/edge': '', 'node-role.kubernetes.io/master': '' }
  const made = await raw.ask('insert', 'null/node/edge-4', { metadata: { name: 'edge-4', labels } })
  claims.claim('a Node is made', codeOf(made) === undefined, JSON.stringify(made.content))
  claims.claim('… without the label of another role', !('node-role.kubernetes.io/master' in (at(made.content, 'Object', 'metadata', 'labels') as JsonMap))) // prettier-ignore
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
const playRestart = async (seams: Seams, claims: Claims, bridge: Program): Promise<Program> => {
  const { plane, signal, say } = seams
  plane.runControllers(['node-lifecycle-controller'], [
    ...['--node-monitor-period=5s', `--node-monitor-grace-period=${GRACE_MS / 1_000}s`],
  ]) // prettier-ignore
  await sleep(systemClock, 10_000, signal)
  await bridge.stop()
  await sleep(systemClock, 4_000, signal)
  const next = await startBridge(seams)
  say('  the bridge was down for 4 s')
  const seen = new Set<string>()
  const until = performance.now() + WATCHED_MS
  while (performance.now() < until && (await sleep(systemClock, 500, signal)))
    for (const node of listAt(await plane.admin.get('/api/v1/nodes', signal), 'items'))
      if (isMap(node)) seen.add(readyOf(node))
  claims.claim('no edge was NotReady', [...seen].join() === 'True', [...seen].join())
  return next
}

/** @returns whether everything was as it must be. */
export const runBridge = async (
  plane: ControlPlane,
  say: Seams['say'],
  signal: AbortSignal,
): Promise<boolean> => {
  const seams = { plane, say, signal }
  const claims = new Claims(say)
  await install(seams)
  let bridge = await startBridge(seams)
  const edges: ReturnType<typeof startEdge>[] = []
  try {
    await claims.becomes('a bridge makes an authority and a token, and serves', async () => {
      const { status } = await fetch(`http://${HOST}:${STATUS}/readyz`)
      const made = await plane.kubectl(['-n', 'kubeedge', 'get', 'secrets', '-o', 'name'])
      return status === 200 && made.includes('tokensecret')
    })
    for (const [index, node] of EDGES.entries())
      edges.push(startEdge(node, await enrol(seams, node), `10.0.0.${index + 1}`))
    await playRegistration(seams, claims)
    await playPod(seams, claims, edges[0]!)
    await playRights(seams, claims, await enrol(seams, 'edge-4'))
    bridge = await playRestart(seams, claims, bridge)
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
