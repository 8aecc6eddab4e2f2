// SPDX-License-Identifier: Apache-2.0
import { spawn, spawnSync } from 'node:child_process'
import { createServer, request } from 'node:http'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { lazyCommands } from '../../cli/lazy-commands.js'
import type { LeaseView } from '../../agent/ports/kube-api.js'
import { clusterExplainText } from '../../cli/cluster-text.js'
import { clusterView, type ClusterView } from '../../cli/cluster-view.js'
import { parseNodeName } from '../../core/ids.js'
import type { NodeView } from '../../core/node.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { buildBundle } from '../../testkit/bundle.js'
import { testApi, type TestApi } from '../../testkit/kube/api-client.js'
import { runCli } from '../../testkit/run-cli.js'

t.setTimeout(180_000)

const agoIso = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()
const TOMORROW = agoIso(-86_400)
const micro = (iso: string): string => iso.replace('Z', '000Z')

interface Given {
  readonly zone?: string
  readonly ready?: string
  readonly peers?: readonly [status: string, reason: string, message: string]
  readonly annotations?: Readonly<Record<string, string>>
  readonly spec?: object
  readonly labels?: Readonly<Record<string, string>>
}

const addNode = async (bed: TestApi, name: string, given: Given): Promise<void> => {
  const { zone, ready = 'True', peers, annotations = {}, spec = {}, labels = {} } = given
  const since = agoIso(300)
  const zoneLabel = zone === undefined ? {} : { 'superedgehealth/topology-zone': zone }
  const metadata = { name, annotations, labels: { ...zoneLabel, ...labels } }
  const made = await bed.ask('POST /api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata,
    spec,
  })
  t.equal(made.status, 201, JSON.stringify(made.body))
  const conditions = [
    { type: 'Ready', status: ready, reason: 'Kubelet', message: '', lastTransitionTime: since },
    ...(peers === undefined
      ? []
      : [
          {
            ...{ type: 'PeerHealth', status: peers[0], reason: peers[1], message: peers[2] },
            lastTransitionTime: since,
          },
        ]),
  ]
  const addresses = [{ type: 'InternalIP', address: `10.0.0.${name.slice(-1)}` }]
  const merge = { 'content-type': 'application/merge-patch+json' }
  const body = { status: { conditions, addresses } }
  const answer = await bed.ask(`PATCH /api/v1/nodes/${name}/status`, body, merge)
  t.equal(answer.status, 200, JSON.stringify(answer.body))
}

interface Marks {
  readonly reason: string
  readonly seconds: number
  readonly controller?: string
}

const addEvent = async (
  bed: TestApi,
  node: string,
  { reason, seconds, controller = 'edge-health-agent' }: Marks,
): Promise<void> => {
  const { status, body } = await bed.ask('POST /apis/events.k8s.io/v1/namespaces/default/events', {
    ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event' },
    metadata: { name: `${node}.${reason.toLowerCase()}`, namespace: 'default' },
    ...{ eventTime: micro(agoIso(seconds)), type: 'Warning', reason, action: 'Test' },
    note: `about ${node}`,
    regarding: { apiVersion: 'v1', kind: 'Node', name: node, uid: '1' },
    ...{ reportingController: controller, reportingInstance: 'a1' },
  })
  t.equal(status, 201, JSON.stringify(body))
}

const addLease = async (bed: TestApi, name: string, seconds: number): Promise<void> => {
  const { status } = await bed.ask(
    'POST /apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases',
    {
      ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      metadata: { name, namespace: 'kube-node-lease' },
      spec: { holderIdentity: name, renewTime: micro(agoIso(seconds)), leaseDurationSeconds: 40 },
    },
  )
  t.equal(status, 201)
}

/** Two zones and a control plane: one node dead, one in maintenance, one cut, one sick, one that nobody hears. */
const fill = async (bed: TestApi): Promise<void> => {
  const dead = ['False', 'PeersCannotReach', 'most peers cannot reach this node'] as const
  const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  for (const name of ['edge-system', 'kube-node-lease', 'default'])
    await bed.ask('POST /api/v1/namespaces', namespace(name))
  await bed.ask('POST /api/v1/namespaces/edge-system/configmaps', {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { TaintZoneAdmission: 'true' } },
    metadata: { name: 'edge-health-zone-config', namespace: 'edge-system' },
  })
  await addNode(bed, 'a1', { zone: 'a' })
  await addNode(bed, 'a2', {
    ...{ zone: 'a', ready: 'Unknown', peers: dead },
    annotations: { nodeunhealth: 'yes', 'edge-health/reason': '3 of 4 say down' },
  })
  await addNode(bed, 'a3', {
    ...{ zone: 'a', ready: 'Unknown', peers: dead },
    annotations: { nodeunhealth: 'yes', 'edge-health/maintenance-until': TOMORROW },
  })
  await addNode(bed, 'a4', {
    ...{ zone: 'a', ready: 'True', peers: ['True', 'CloudLinkCut', 'cut'] },
    labels: { 'edge-health/vouched': 'true' },
    spec: { taints: [{ key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' }] },
  })
  await addNode(bed, 'b5', { zone: 'b', ready: 'Unknown' })
  await addNode(bed, 'c6', { zone: 'c', spec: { unschedulable: true } })
  await addNode(bed, 'c7', { zone: 'c', peers: ['False', 'KubeletSick', 'its kubelet'] })
  await addNode(bed, 'm8', { labels: { 'node-role.kubernetes.io/control-plane': '' } })
  await addLease(bed, 'a1', 4)
  await addLease(bed, 'a2', 300)
  await addEvent(bed, 'a2', { reason: 'PeersCondemned', seconds: 290 })
  await addEvent(bed, 'a1', { reason: 'ZoneBrakeOn', seconds: 30 })
  await addEvent(bed, 'a1', { reason: 'Foreign', seconds: 3, controller: 'somebody-else' })
}

const open = async (t: Test) => {
  const bed = await testApi()
  t.teardown(() => bed.api.stop())
  await fill(bed)
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(bed.api.url, 'cli', bed.api.addClient('cli')))
  return { bed, kubeconfig }
}

/** The same API, which refuses whatever `isRefused` says. */
const refusing = async (t: Test, url: string, isRefused: (path: string) => boolean) => {
  const proxy = createServer(({ method, headers, url: path = '' }, answer) => {
    if (isRefused(path)) {
      answer.writeHead(403, { 'Content-Type': 'application/json' })
      answer.end(JSON.stringify({ kind: 'Status', code: 403, message: 'this user may not' }))
      return
    }
    request(url + path, { method, headers }, from => {
      answer.writeHead(from.statusCode!, from.headers)
      from.pipe(answer)
    }).end()
  })
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${(proxy.address() as { port: number }).port}`
}

t.test('zones, nodes and explain from the API alone', async t => {
  const { bed, kubeconfig } = await open(t)
  const run = (line: string) =>
    runCli(line.split(' '), { env: { KUBECONFIG: kubeconfig }, parts: { lazyCommands } })

  const zones = await run('cluster zones')
  t.equal(zones.code, 1, zones.err)
  t.match(zones.out, /^ZONE +NODES +HEALTHY +DEAD +SICK +CUT +NOT READY +MAINT +BRAKE +NOTE\n/)
  t.match(zones.out, /^a +4 +1 +2 +0 +1 +0 +1 +on, \d+ s ago +ZoneBrakeOn of a1, \d+ s ago$/m)
  t.match(zones.out, /^b +1 +0 +0 +0 +0 +1 +0 +– +nobody is heard: the link of the whole zone/m)
  t.match(zones.out, /^c +2 +1 +0 +1 +0 +0 +1 +–$/m)
  t.match(zones.out, /^1 more nodes are in no zone and judge nobody: see nodes$/m)

  const nodes = await run('cluster nodes')
  t.equal(nodes.code, 1)
  t.match(nodes.out, /^a +a1 +healthy +5 min +True +– +\d+ s$/m)
  t.match(nodes.out, /^a +a2 +dead +5 min +Unknown +PeersCannotReach +5 min +3 of 4 say down$/m)
  t.match(nodes.out, /^a +a3 +dead .* maintenance until 2\d{3}-\S+Z$/m)
  t.match(nodes.out, /^c +c6 +healthy .* cordoned$/m)
  t.match(nodes.out, /^– +m8 +healthy .* this node is a control-plane node/m)
  const calm = await run('cluster nodes --zone b -o json')
  t.equal(calm.code, 0, 'not ready is not dead')
  const view = JSON.parse(calm.out) as ClusterView
  t.match(view, { zones: [{ name: 'b', isUnheard: true }], nodes: [{ name: 'b5', lease: null }] })
  t.equal(view.nodes.length, 1)

  const dead = await run('cluster explain a2')
  t.equal(dead.code, 1)
  t.match(dead.out, /^a2 \(10\.0\.0\.2\) is dead: a majority of its peers cannot reach it\.\n/)
  t.match(dead.out, /^zone +a: nodes with superedgehealth\/topology-zone=a$/m)
  t.match(dead.out, /^lease +renewed 5 min ago, expired$/m)
  t.match(dead.out, /^marks +nodeunhealth=yes$/m)
  t.match(
    dead.out,
    /^events: 1\n +WHEN +REASON +BY +NOTE\n +5 min ago +PeersCondemned +a1 +about a2\n/m,
  )
  const worked = await run('cluster explain a3')
  t.equal(worked.code, 0, 'announced work alerts nobody')
  t.match(worked.out, /^maintenance +until 2\d{3}-.*: nobody is alerted$/m)
  const cut = await run('cluster explain a4 -o json')
  t.match(JSON.parse(cut.out), {
    node: { isVouched: true, taints: ['edge-health/cloud-link-cut:NoSchedule'] },
  })
  t.match((await run('cluster explain a1')).out, /^lease +renewed \d+ s ago$/m)

  const noLeases = await refusing(t, bed.api.url, path => /leases|configmaps/.test(path))
  const partly = await run(`cluster nodes --master-url ${noLeases}`)
  t.equal(partly.code, 1)
  t.match(partly.out, /^! Leases cannot be read, so none is shown: .*this user may not$/m)
  t.match(
    partly.out,
    /^! the ConfigMaps of edge-system cannot be used, so zones are taken from the label/m,
  )
  t.match(partly.out, /^a +a1 +healthy .* –$/m)
  const nothing = await refusing(t, bed.api.url, () => true)

  const rows: [line: string, code: number, message: RegExp][] = [
    [
      'cluster explain a22',
      2,
      /NODE must be one of the 8 nodes \(did you mean a2\?\), got "a22"\n$/,
    ],
    ['cluster nodes --zone aa', 2, /--zone must be one of the 3 zones \(did you mean a\?\)/],
    ['cluster nodse', 2, /unknown command 'nodse' \(did you mean nodes\?\)/],
    ['cluster nodes --context other', 3, /has no context "other"/],
    [`cluster nodes --master-url ${nothing}`, 3, /the cluster cannot be read: .*may not/],
    [
      'cluster zones --kubeconfig /none',
      3,
      /the cluster cannot be read: cannot read the kubeconfig file \/none/,
    ],
  ]
  for (const [line, code, message] of rows) {
    const ran = await run(line)
    t.strictSame([ran.code, ran.out], [code, ''], line)
    t.match(ran.err, message, line)
  }
  t.match((await run('cluster zones --help')).out, /Exit codes: 0 nobody is dead, 1 somebody is/)
})

t.test('what kubectl asks for when somebody presses Tab', async t => {
  const { bed, kubeconfig } = await open(t)
  const complete = async (...words: string[]) => {
    const { out, err, code } = await runCli(['complete-cluster', ...words], {
      env: { KUBECONFIG: kubeconfig },
      parts: { lazyCommands },
    })
    t.strictSame([code, err], [0, ''], words.join(' '))
    return out
      .trimEnd()
      .split('\n')
      .map(line => line.split('\t')[0]!)
  }
  t.strictSame(await complete(''), ['zones', 'nodes', 'explain', ':4'])
  t.strictSame(await complete('no'), ['nodes', ':4'])
  t.strictSame(await complete('explain', 'a'), ['a1', 'a2', 'a3', 'a4', ':4'])
  t.strictSame(await complete('explain', 'a1', ''), [':4'], 'one node alone')
  t.strictSame(await complete('nodes', '--z'), ['--zone', ':4'])
  t.strictSame(await complete('nodes', '--zone', ''), ['a', 'b', 'c', ':4'])
  t.strictSame(await complete('nodes', '-o', ''), ['text', 'json', ':4'])
  t.strictSame(await complete('nodes', '-o=json', '--zone', 'b'), ['b', ':4'])
  t.strictSame(await complete('nodes', '--kubeconfig', ''), [':0'], 'files')
  t.strictSame(await complete('nodes', '--unknown', ''), [':4'])
  const deaf = await refusing(t, bed.api.url, () => true)
  t.strictSame(await complete('explain', `--master-url=${deaf}`, ''), [':4'])
  t.strictSame(await complete('explain', '--context', 'other', ''), [':4'])
})

t.test('whose word a Lease is, and who left a mark without a condition', t => {
  const node = (name: string, change: Partial<NodeView> = {}): NodeView => ({
    ...{ name: parseNodeName(name), uid: '1', resourceVersion: '1', labels: {}, annotations: {} },
    ...{ taints: [], internalIPs: [], conditions: [], ...change },
  })
  const lease = (name: string, seconds: number, isByAgent: boolean): [string, LeaseView] => [
    name,
    {
      ...{ name, resourceVersion: '1', holderIdentity: name, leaseDurationSeconds: 40 },
      renewTime: agoIso(seconds),
      renewal: { isByAgent, at: Date.now() - seconds * 1_000 },
    },
  ]
  const { nodes, zones } = clusterView({
    now: Date.now(),
    nodes: [node('a'), node('b', { annotations: { nodeunhealth: 'yes' } }), node('c')],
    leases: new Map([lease('a', 3, false), lease('b', 3, true), lease('c', 90, true)]),
    ...{ events: [], config: { zones: undefined, units: undefined }, notes: [] },
  })
  t.match(nodes, [
    { class: 'not-ready', lease: { by: 'kubelet', isExpired: false } },
    { class: 'dead', lease: { by: 'peers', isExpired: false }, peerHealth: null },
    { class: 'not-ready', lease: { by: 'peers', isExpired: true } },
  ])
  const paint = (_: unknown, text: string): string => text
  const text = (index: number): string =>
    clusterExplainText({ node: nodes[index]!, at: new Date().toISOString(), notes: [] }, paint)
  t.match(text(0), /^lease +renewed 3 s ago, by its kubelet: its cloud link works$/m)
  t.match(text(1), /^lease +renewed 3 s ago, by its peers, in its place$/m)
  t.match(text(2), /^lease +renewed 90 s ago, expired$/m)
  t.match(text(0), /^kubelet +has never reported$/m)
  t.match(zones, [{ name: '', nodes: 3, isUnheard: false }], 'no zone is configured: all are one')
  t.end()
})

const kubectl = spawnSync('sh', ['-c', 'command -v kubectl'], { encoding: 'utf8' }).stdout.trim()

t.test(
  'as a plugin of kubectl',
  { skip: kubectl === '' && 'there is no kubectl here' },
  async t => {
    const { kubeconfig } = await open(t)
    const folder = dirname(kubeconfig)
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    const built = dirname(buildBundle(t))
    for (const name of ['kubectl-edge_health', 'kubectl_complete-edge_health'])
      symlinkSync(join(built, `${name}.cjs`), join(bin, name))
    const path = [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
    // Not `spawnSync`: the API lives in this process.
    const run = (...args: string[]) => runKubectl('edge-health', ...args)
    const runKubectl = (...args: string[]) =>
      new Promise<{ code: number | null; out: string; err: string }>(resolve => {
        const env = { PATH: path, HOME: folder, KUBECONFIG: kubeconfig }
        const child = spawn(kubectl, args, { env })
        let out = ''
        let err = ''
        child.stdout.on('data', text => (out += String(text)))
        child.stderr.on('data', text => (err += String(text)))
        child.on('close', code => resolve({ code, out, err }))
      })
    const zones = await run('zones')
    t.equal(zones.code, 1, zones.err)
    t.match(zones.out, /^a +4 +1 +2 /m)
    const json = await run('explain', 'a1', '-o', 'json')
    t.equal(json.code, 0, json.err)
    t.match(JSON.parse(json.out), { node: { name: 'a1', class: 'healthy' } })
    t.match(await run('explain', 'nobody'), { code: 2, err: /NODE must be one of the 8 nodes/ })
    // What the shell's script asks.
    const nodes = await runKubectl('__complete', 'edge-health', 'explain', 'c')
    t.match(nodes.out, /^c6\thealthy\nc7\tkubelet-sick\n:4\n/, nodes.err)
  },
)
