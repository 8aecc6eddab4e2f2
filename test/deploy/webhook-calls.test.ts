// SPDX-License-Identifier: Apache-2.0
// The webhook as a program against the embedded API: what it answers, and the rights that it is shipped with against the
// requests that it really makes.
import { writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import t from 'tap'
import { resolveAdmissionOptions } from '../../admission/options/resolve.js'
import { makeProgram } from '../../admission/run/program.js'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { makeNode, makePod, makeReview } from '../../testkit/admission/reviews.js'
import { openWebhookBed, REGISTRATION, SECRET } from '../../testkit/admission/webhook-bed.js'
import { readManifests } from '../../testkit/deploy/manifests.js'
import { grantsOf, idleGrants, rbacAllows } from '../../testkit/deploy/rbac.js'
import { never, rawType, until } from '../../testkit/kube/raw-objects.js'
import { recordingLog } from '../../testkit/recording-log.js'

/** A hang, not a measurement. */
t.setTimeout(900_000)

const component = (name: string) => join(import.meta.dirname, '..', '..', 'deploy', 'components', name) // prettier-ignore
const manifests = readManifests(component('webhook'))
const account = { namespace: 'edge-system', name: 'edge-health-webhook' }
const grants = grantsOf(manifests, account)
const of = (kind: string) => manifests.filter(object => object.kind === kind)
const PORT = 18_443
/** No client of this machine has this address, so none of them has taken the port. */
const STATUS = '127.34.0.2:51909'
const NODES = { group: '', version: 'v1', resource: 'nodes' }

/** As the apiserver asks: by the Service's name, and with what the registration trusts. */
const review = (path: string, body: object, ca: string): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const asked = request(
      {
        ...{ host: '127.0.0.1', port: PORT, path, method: 'POST', ca },
        servername: 'edge-health-webhook.edge-system.svc',
        headers: { 'content-type': 'application/json' },
      },
      answer => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part: string) => (text += part))
        answer.on('end', () =>
          resolve((JSON.parse(text) as { response: Record<string, unknown> }).response),
        )
      },
    )
    asked.on('error', reject)
    asked.end(JSON.stringify(body))
  })

t.test('it answers reviews, calls what it may call, and needs what it may call', async t => {
  const bed = await openWebhookBed()
  const { api } = bed.api
  const { metadata, type } = of('Secret')[0] as unknown as { metadata: object; type: string }
  t.strictSame(of('Secret')[0]!.metadata.name, SECRET.name)
  const secrets = { group: '', version: 'v1', resource: 'secrets' }
  const body = { apiVersion: 'v1', kind: 'Secret', metadata, type }
  await bed.admin.create(rawType(secrets), { namespace: 'edge-system' }, { body }, never)
  await bed.register()
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(api.url, 'webhook', api.addClient('webhook')))
  const flags = {
    kubeconfig,
    'listen-address': `127.0.0.1:${PORT}`,
    'status-address': STATUS,
  }
  const given = Object.entries(flags).map(([name, text]) => ({ name, text }))
  const { options } = resolveAdmissionOptions({ flags: given, env: {} })
  t.equal(options.registration, REGISTRATION)
  t.equal(options.secretName, SECRET.name)
  const log = recordingLog()
  const program = makeProgram(options, {
    ...{ clock: systemClock, random: systemRandom, log, version: 'test', environment: {} },
  })
  t.teardown(async () => {
    await program.stop()
    await bed.stop()
  })
  await program.start()
  await until('it is ready', async () => (await fetch(`http://${STATUS}/readyz`)).status === 200)
  const ca = (await bed.bundle())!

  const stamp = Date.now()
  const heartbeat = { lastHeartbeatTime: new Date(stamp - 5_000).toISOString() }
  const conditions = [
    { type: 'Ready', status: 'Unknown' },
    { type: 'PeerHealth', status: 'True', reason: 'CloudLinkCut', ...heartbeat },
  ]
  const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, status: { conditions } }
  await bed.admin.create(rawType(NODES), {}, { body: node }, never)
  await bed.admin.patch(rawType({ ...NODES }), { name: 'n1' }, { patch: { type: 'merge', body: { status: { conditions } } } }, never) // prettier-ignore
  const status = { ...rawType(NODES), subresource: 'status' } as const
  const patch = { type: 'merge', body: { status: { conditions } } } as const
  await bed.admin.patch(status, { name: 'n1' }, { patch }, never)
  const explain = async () => (await (await fetch(`http://${STATUS}/explain?node=n1`)).json()) as { isKept: boolean } // prettier-ignore
  await until('it is kept', async () => (await explain()).isKept)

  const refused = makeReview('/pod-status', makePod('n1', 'False'), makePod('n1', 'True'))
  t.match(await review('/pod-status', refused, ca), {
    allowed: false,
    status: { code: 403, message: /node "n1" is kept/ },
  })
  // That word is older than what the apiserver says of the time.
  const stale = makeReview('/node-taint', makeNode({ stamp: undefined }))
  const { allowed, patch: none } = await review('/node-taint', stale, ca)
  t.strictSame([allowed, none], [true, undefined])
  const metrics = await (await fetch(`http://${STATUS}/metrics`)).text()
  t.match(metrics, /edge_health_admission_reviews_total\{path="\/pod-status",result="refused"\} 1/)
  t.match(metrics, /edge_health_admission_kept_nodes 1/)
  t.match(await (await fetch(`http://${STATUS}/status`)).json(), {
    ...{ version: 'test', mode: 'vouched', nodes: { isReady: true, kept: ['n1'] } },
    certificate: { isTrusted: true, trouble: null },
  })
  t.equal((await fetch(`http://${STATUS}/explain`)).status, 400)
  await program.stop()

  const requests = api.requests
    .filter(({ client }) => client === 'webhook')
    .map(({ verb, group, resource, subresource, namespace, name }) => ({
      ...{ verb, group, namespace, name },
      resource: subresource === '' ? resource : `${resource}/${subresource}`,
    }))
  const denied = requests.filter(each => !rbacAllows(grants, each))
  t.strictSame([...new Set(denied.map(each => JSON.stringify(each)))], [], 'all is allowed')
  const idle = idleGrants(grants, requests)
  // The same is done for marks that are refused, where ../webhook-pods registers them.
  t.strictSame(
    idle.filter(grant => !grant.startsWith('patch validatingwebhookconfigurations')),
    [],
    'nothing is granted that nobody used',
  )
  t.strictSame(
    log.lines.filter(({ level }) => level === 'error'),
    [],
  )
})

t.test('no Secret but its own, and none to be made', t => {
  for (const { rule } of grants) {
    t.notOk(rule.verbs.includes('*') || rule.resources.includes('*'), rule.resources.join())
    const writes = rule.verbs.some(verb => !['list', 'watch', 'get'].includes(verb))
    if (writes) t.strictSame(rule.resourceNames.length, 1, rule.resources.join())
  }
  t.end()
})

interface Webhook {
  readonly name: string
  readonly clientConfig: { readonly service: { readonly name: string; readonly namespace: string; readonly path: string } } // prettier-ignore
  readonly rules: readonly object[]
  readonly matchConditions: readonly { readonly name: string; readonly expression: string }[]
}

/** All must hold. By the first no write of a kubelet, an agent or anybody else arrives; by the rules none of a Node's status. */
const BY_THE_NODE_CONTROLLER = "request.userInfo.username in ['system:serviceaccount:kube-system:node-controller', 'system:kube-controller-manager']" // prettier-ignore
const CONDITIONS: Readonly<Record<string, readonly string[]>> = {
  '/node-taint': [
    BY_THE_NODE_CONTROLLER,
    "has(object.spec.taints) && object.spec.taints.exists(t, t.key == 'node.kubernetes.io/unreachable' && t.effect == 'NoExecute')",
    "has(object.status.conditions) && object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'Unknown')",
  ],
  '/pod-status': [
    BY_THE_NODE_CONTROLLER,
    "has(oldObject.status.conditions) && oldObject.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True') && has(object.status.conditions) && object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')", // prettier-ignore
  ],
}
const RULES: Readonly<Record<string, object>> = {
  '/node-taint': { operations: ['UPDATE'], resources: ['nodes'], scope: 'Cluster' },
  '/pod-status': { operations: ['UPDATE'], resources: ['pods/status'], scope: 'Namespaced' },
}

t.test('the manifests fit together', t => {
  for (const object of manifests)
    t.match(object.metadata, { labels: { 'app.kubernetes.io/part-of': 'edge-health' } })
  for (const policy of of('ValidatingAdmissionPolicy'))
    t.match(JSON.stringify(policy['spec']), /'edge-system' \+ ':' \+ 'edge-health-webhook'/)
  const { options } = resolveAdmissionOptions({ flags: [], env: {} })
  const registrations = [...manifests, ...readManifests(component('webhook-pods'))].filter(
    ({ kind }) => kind.endsWith('WebhookConfiguration'),
  )
  t.equal(registrations.length, 2)
  const paths: string[] = []
  for (const { metadata, webhooks } of registrations as unknown as readonly {
    readonly metadata: { readonly name: string }
    readonly webhooks: readonly Webhook[]
  }[]) {
    t.equal(metadata.name, options.registration)
    for (const webhook of webhooks) {
      const { name, namespace, path } = webhook.clientConfig.service
      t.strictSame([name, namespace], [options.serviceName, options.namespace])
      paths.push(path)
      t.match(webhook, { failurePolicy: 'Ignore', timeoutSeconds: 2, sideEffects: 'None' })
      const conditions = webhook.matchConditions.map(({ expression }) => expression.replaceAll(/\s+/g, ' ')) // prettier-ignore
      t.strictSame(conditions, CONDITIONS[path], path)
      t.strictSame(webhook.rules, [{ apiGroups: [''], apiVersions: ['v1'], ...RULES[path] }], path)
    }
  }
  t.strictSame(paths, Object.keys(CONDITIONS))
  const [service] = of('Service') as unknown as [{ spec: { selector: object } }]
  const [deployment] = of('Deployment') as unknown as [{ spec: { template: { metadata: object } } }]
  t.match(deployment.spec.template.metadata, { labels: service.spec.selector })
  t.end()
})
