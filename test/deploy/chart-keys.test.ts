// SPDX-License-Identifier: Apache-2.0
// The Job of the chart that makes the key: what it may do, and what it does.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { lazyCommands } from '../../cli/lazy-commands.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { grantsOf, idleGrants, rbacAllows, type Manifest } from '../../testkit/deploy/rbac.js'
import { makeHelm } from '../../testkit/helm/render.js'
import { testApi } from '../../testkit/kube/api-client.js'
import { runCli } from '../../testkit/run-cli.js'
import { findTool } from '../../testkit/find-tool.js'

const helm = findTool('helm')
const { render } = makeHelm(helm.path)
const skip = { skip: helm.missing }
const GENERATE = ['keys.generate=true', 'keys.existingSecret="own"']

/** What `keys.generate` adds. */
const added = (values = GENERATE): readonly Manifest[] => {
  const without = render(values.map(value => value.replace('generate=true', 'generate=false')), 'elsewhere').objects // prettier-ignore
  const all = render(values, 'elsewhere').objects
  return Object.entries(all).flatMap(([key, object]) => (key in without ? [] : [object]))
}
const annotationsOf = ({ metadata }: Manifest) =>
  (metadata as unknown as { annotations: Readonly<Record<string, string>> }).annotations

t.test('all that makes the key is a hook, and goes when it is made', skip, t => {
  const objects = added()
  t.strictSame(objects.map(({ kind }) => kind).sort(), [
    ...['Job', 'Role', 'RoleBinding', 'ServiceAccount'],
    ...['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'],
  ])
  const weights = new Map<string, number>()
  for (const object of objects) {
    const annotations = annotationsOf(object)
    t.equal(annotations['helm.sh/hook'], 'pre-install,pre-upgrade', object.kind)
    t.equal(annotations['helm.sh/hook-delete-policy'], 'before-hook-creation,hook-succeeded')
    weights.set(object.kind, Number(annotations['helm.sh/hook-weight'] ?? 0))
  }
  const [policy, account, job] = ['ValidatingAdmissionPolicy', 'ServiceAccount', 'Job'].map(kind => weights.get(kind)!) // prettier-ignore
  t.ok(
    policy! < account! && account! < job!,
    'confined before there is an account, and then the job',
  )
  t.notOk(added([...GENERATE, 'policies.enabled=false']).some(({ kind }) => kind.startsWith('Validating'))) // prettier-ignore
  t.notMatch(JSON.stringify(render(GENERATE, 'elsewhere').objects), /edge-system/)
  t.end()
})

t.test('helm makes no key itself: two renders are the same, and none has a Secret', skip, t => {
  const { text } = render(['keys.generate=true'])
  t.equal(text, render(['keys.generate=true']).text)
  t.notMatch(text, /^kind: Secret$/m)
  t.end()
})

t.test('the job has the right to what it does, and no other', skip, async t => {
  const objects = added()
  const job = objects.find(({ kind }) => kind === 'Job')!
  const { spec: pod } = (job['spec'] as { template: { spec: Record<string, unknown> } }).template
  const account = { namespace: 'elsewhere', name: pod['serviceAccountName'] as string }
  const grants = grantsOf(objects, account)
  t.notOk(objects.some(({ kind }) => kind.startsWith('Cluster')))
  const [container] = pod['containers'] as readonly [{ args: readonly string[] }]

  const bed = await testApi()
  t.teardown(() => bed.api.stop())
  await bed.ask('POST /api/v1/namespaces', {
    ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'elsewhere' } },
  })
  const kubeconfig = join(t.testdir(), 'kubeconfig')
  writeFileSync(kubeconfig, kubeconfigText(bed.api.url, 'job', bed.api.addClient('job')))
  const ran = await runCli(container.args, {
    ...{ env: { KUBECONFIG: kubeconfig }, parts: { lazyCommands } },
  })
  t.match(ran, { code: 0, out: 'Secret elsewhere/own was made\n' })
  const requests = bed.api.requests
    .filter(({ client }) => client === 'job')
    .map(({ verb, group, resource, namespace, name }) => ({ verb, group, resource, namespace, name })) // prettier-ignore
  t.equal(requests.length, 1)
  for (const request of requests) t.ok(rbacAllows(grants, request))
  t.strictSame(idleGrants(grants, requests), [])

  t.match(pod, {
    restartPolicy: 'OnFailure',
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  })
  t.match(container, {
    image: /^edge-health:/,
    securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
  })
  t.match(JSON.stringify(objects), "object.metadata.name == 'own'", 'the policy names the Secret')
  t.end()
})
