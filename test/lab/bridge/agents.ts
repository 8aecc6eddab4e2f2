// SPDX-License-Identifier: Apache-2.0
// An agent's own client behind a bridge: its edge's MetaServer, the account of its Pod, and the policies of deploy/base.
import { makeKubeApi } from '../../../agent/adapters/kube-api.js'
import { systemClock } from '../../../core/clock.js'
import { KubeStatusError } from '../../../core/errors.js'
import { silentLog } from '../../../core/log.js'
import { systemRandom } from '../../../core/random.js'
import { makeCredentials } from '../../../kube/client/credentials.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import type { Edge } from '../../../testkit/edge/edge.js'
import { serveMeta } from '../../../testkit/edge/meta-http.js'

const OBJECTS = `apiVersion: v1
kind: ConfigMap
metadata: { name: edge-health-config, namespace: edge-system }
data: { a: '1' }
---
apiVersion: v1
kind: Secret
metadata: { name: edge-health-keys, namespace: edge-system }
---
apiVersion: v1
kind: Pod
metadata: { name: edge-health-agent-1, namespace: edge-system }
spec:
  nodeName: edge-1
  serviceAccountName: edge-health-agent
  automountServiceAccountToken: false
  containers: [{ name: c, image: i }]
`

interface Claims {
  claim(what: string, isSo: boolean, why?: string): void
  becomes(what: string, isSo: () => boolean | Promise<boolean>): Promise<unknown>
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => '200',
    (error: unknown) =>
      error instanceof KubeStatusError ? `${error.status} ${error.said}` : String(error),
  )

/** @param edge the one on edge-1 */
export const playAgents = async (
  plane: ControlPlane,
  claims: Claims,
  edge: Edge,
): Promise<void> => {
  for (const file of ['agent-rbac.yaml', 'agent-policies.yaml'])
    await plane.kubectl(['apply', '-f', `deploy/base/${file}`])
  await plane.kubectl(['apply', '-f', '-'], OBJECTS)
  const meta = await serveMeta(edge.meta)
  const seams = { clock: systemClock, random: systemRandom, log: silentLog }
  const credentials = makeCredentials({ masterUrl: meta.url, environment: {} }, seams)
  const kube = makeKubeApi(credentials, seams, { watch: { spreadMs: 0 } })
  const { signal } = new AbortController()
  const note = (key: string, value: string) =>
    ({ type: 'merge', body: { metadata: { annotations: { [key]: value } } } }) as const
  const is = (what: string, wanted: string, got: string): void =>
    claims.claim(what, got.startsWith(wanted), got)
  try {
    await claims.becomes('an agent lists its zone', () =>
      kube.listMembers('', undefined, signal).then(
        ({ members }) => members.length === 3,
        () => false,
      ),
    )
    is('… reads another Node', '200', await codeOf(kube.getNode('edge-2', signal)))
    is('… tells its identity', '200', await codeOf(kube.patchNode('edge-1', note('edge-health/identity', 'i'), signal))) // prettier-ignore
    is('… marks another', '200', await codeOf(kube.patchNode('edge-2', note('nodeunhealth', 'yes'), signal))) // prettier-ignore
    is('… not itself', '403', await codeOf(kube.patchNode('edge-1', note('nodeunhealth', 'yes'), signal))) // prettier-ignore
    // They are in force a second or two after they were made. What is there already is no change, so each try has its own.
    let tries = 0
    await claims.becomes(
      'the policies see a mark that is none',
      async () =>
      (await codeOf(kube.patchNode('edge-2', note('nodeunhealth', `no-${tries++}`), signal))).startsWith('403'), // prettier-ignore
    )
    const at = new Date().toISOString().replace('Z', '000Z')
    // The bridge would not renew the Lease of a node that its peers call down.
    const condition = { type: 'PeerHealth', status: 'True', reason: 'x', message: 'x', lastHeartbeatTime: `${at.slice(0, 19)}Z`, lastTransitionTime: `${at.slice(0, 19)}Z` } // prettier-ignore
    const status = { type: 'strategic-merge', body: { status: { conditions: [condition] } } } as const // prettier-ignore
    is('… tells a condition', '200', await codeOf(kube.patchNodeStatus('edge-2', status, signal)))
    const lease = await kube.getLease('edge-2', signal)
    const later = (ms: number) => new Date(Date.parse(lease.renewTime ?? at) + ms).toISOString().replace('Z', '000Z') // prettier-ignore
    const renew = (ms: number) => kube.patchLease('edge-2', { type: 'merge', body: { spec: { renewTime: later(ms) } } }, signal) // prettier-ignore
    is('… renews a Lease', '200', await codeOf(renew(1)))
    const ours = (await kube.getLease('edge-2', signal)).resourceVersion
    await claims.becomes(
      '… which its own edge renews after that, too',
      async () =>
      (await kube.getLease('edge-2', signal)).resourceVersion !== ours, // prettier-ignore
    )
    is('the policies see a time of 2099', '403', await codeOf(renew(2e12)))
    const event = { node: 'edge-2', nodeUid: 'u', type: 'Warning', reason: 'X', action: 'X', note: 'x', reportingInstance: 'edge-1' } as const // prettier-ignore
    is('… tells an Event', '200', await codeOf(kube.createEvent(event, signal)))
    const own = { namespace: 'edge-system', name: 'edge-health-edge-1', holder: 'edge-1', durationSeconds: 9 } // prettier-ignore
    is('the sign of the cloud is the answer of the apiserver', '403', await codeOf(kube.renewAgentLease(own, signal))) // prettier-ignore
    const seen: string[] = []
    kube.watchConfigMap('edge-system', 'edge-health-config', {
      replace: ([map]) => seen.push(map?.data['a'] ?? ''),
      upsert: ({ data }) => seen.push(data['a'] ?? ''),
      remove: () => seen.push('gone'),
    })
    const keys: string[] = []
    kube.watchSecret('edge-system', 'edge-health-keys', {
      replace: items => keys.push(...items.map(({ name }) => name)),
      upsert: ({ name }) => keys.push(name),
      remove: () => undefined,
    })
    await claims.becomes('it sees a ConfigMap and the key', () => seen.includes('1') && keys.length > 0) // prettier-ignore
    await plane.kubectl(['-n', 'edge-system', 'patch', 'configmap', 'edge-health-config', '-p', '{"data":{"a":"2"}}']) // prettier-ignore
    await claims.becomes('… as they change', () => seen.at(-1) === '2')
    await plane.kubectl(['annotate', 'node', 'edge-2', 'nodeunhealth-'])
  } finally {
    await kube.close()
    await meta.close()
    await plane.kubectl(['-n', 'edge-system', 'delete', 'pod', 'edge-health-agent-1', '--force', '--grace-period=0']) // prettier-ignore
  }
}
