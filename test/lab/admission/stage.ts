// SPDX-License-Identifier: Apache-2.0
// A real control plane with the webhook in front: nodes that are played, and what becomes of their Pods, moment by moment.
import { readFileSync } from 'node:fs'
import { sleep, systemClock } from '../../../core/clock.js'
import { isMap } from '../../../core/json.js'
import { listAt, mapsAt, textAt, valueAt } from '../../../core/json-at.js'
import { microTime } from '../../../kube/client/micro-time.js'
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { conditionStatus } from '../../../admission/model/read.js'
import { renewPod } from '../objects.js'
import { waitFor } from '../patience.js'
import { CONTROLLER_FLAGS, WebhookReplicas } from './replicas.js'
import { registerSuperEdge, SUPEREDGE } from './superedge-registration.js'

const NODES = '/api/v1/nodes'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const PODS = '/api/v1/namespaces/default/pods'
const SLICES = '/apis/discovery.k8s.io/v1/namespaces'
const ADMISSION = '/apis/admissionregistration.k8s.io/v1'
/** A new policy takes a second or two until the apiserver has compiled it. */
const POLICY_MS = 3_000
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const PATIENCE_MS = 60_000

export const GRACE_S = 8
export const TOLERATION_S = 3

const iso = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z')

/** What is seen of a node and of its two Pods: one that bears the taint for a while, and one that bears it for ever. */
export interface Seen {
  readonly ready: string
  readonly isTainted: boolean
  /** The first Pod is gone, or going. */
  readonly isEvicted: boolean
  /** Of the Pod that stays, whatever its node is. */
  readonly podReady: string
  readonly sliceReady: boolean
  /** Of its Endpoints. */
  readonly addresses: { readonly ready: number; readonly unready: number }
}

/** How a node's peers and its kubelet are played. */
interface Played {
  /** Its kubelet is heard. */
  isHeard: boolean
  /** Its peers vouch for it, and take the control plane's taint off as agents with --vouch=taint do. */
  isVouched: boolean
  takesTaintOff: boolean
}

export class Stage {
  readonly plane: ControlPlane
  readonly replicas: WebhookReplicas
  readonly #signal: AbortSignal
  readonly #played = new Map<string, Played>()
  #playing: Promise<void> | undefined
  readonly #stop = new AbortController()

  constructor(plane: ControlPlane, script: string, signal: AbortSignal) {
    this.plane = plane
    this.#signal = signal
    this.replicas = new WebhookReplicas({ plane, script, signal })
  }

  /** Everything but the webhook itself, as deploy/ has it. */
  async open(): Promise<void> {
    const { plane } = this
    await this.replicas.open()
    await plane.kubectl(['apply', '-k', 'deploy/components/namespace'])
    for (const file of ['rbac', 'policies', 'webhook'])
      await plane.kubectl(['apply', '-f', `deploy/components/webhook/${file}.yaml`])
    plane.runControllers(
      [
        ...['node-lifecycle-controller', 'taint-eviction-controller'],
        ...['endpointslice-controller', 'endpoints-controller'],
      ],
      [
        ...CONTROLLER_FLAGS,
        ...['--node-monitor-period=1s', `--node-monitor-grace-period=${GRACE_S}s`],
        ...['--node-startup-grace-period=60s', '--node-eviction-rate=10'],
        ...['--secondary-node-eviction-rate=10', '--unhealthy-zone-threshold=1'],
      ],
    )
    for (const name of ['well-1', 'well-2', 'well-3']) await this.#makeNode(name)
    this.#playing = this.#play()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#playing
    await this.replicas.close()
  }

  /** What asks the webhook: `webhook`, `webhook-pods`, or a registration of the lab's own. */
  async register(...components: readonly string[]): Promise<void> {
    for (const name of components)
      await this.plane.kubectl(['apply', '-f', `deploy/components/${name}/registration.yaml`])
  }

  /** SuperEdge's registration in the place of ours. @returns the flags of a replica that answers it */
  registerSuperEdge(): Promise<readonly string[]> {
    this.replicas.serve(SUPEREDGE)
    return registerSuperEdge(this.plane)
  }

  /** What the apiserver keeps of a registration's `admissionReviewVersions`. */
  async reviewVersions(name: string): Promise<readonly string[]> {
    const kept = await this.plane.admin.get(`${ADMISSION}/mutatingwebhookconfigurations/${name}`, this.#signal) // prettier-ignore
    return mapsAt(kept, 'webhooks').map(webhook => (listAt(webhook, 'admissionReviewVersions') ?? []).join('/')) // prettier-ignore
  }

  /** The authorities that our registration trusts, each as PEM. */
  async trusted(): Promise<readonly string[]> {
    const kept = await this.plane.admin.get(`${ADMISSION}/mutatingwebhookconfigurations/edge-health-webhook`, this.#signal) // prettier-ignore
    const [first] = mapsAt(kept, 'webhooks')
    const bundle = Buffer.from(textAt(first, 'clientConfig', 'caBundle'), 'base64').toString()
    return bundle.match(/-----BEGIN[^]*?-----END CERTIFICATE-----/g) ?? []
  }

  /** What becomes of a write when no replica answers. */
  async setFailurePolicy(value: 'Fail' | 'Ignore'): Promise<void> {
    const patch = JSON.stringify([{ op: 'replace', path: '/webhooks/0/failurePolicy', value }])
    const of = ['mutatingwebhookconfiguration', 'edge-health-webhook']
    await this.plane.kubectl(['patch', ...of, '--type=json', '-p', patch])
  }

  /** Does the apiserver serve MutatingAdmissionPolicies? */
  async hasPolicies(): Promise<boolean> {
    const served = await this.plane.admin.get(ADMISSION, this.#signal)
    return mapsAt(served, 'resources').some(({ name }) => name === 'mutatingadmissionpolicies')
  }

  /** The policy of deploy/components/keep, in this mode. */
  async keep(mode: 'vouched' | 'superedge'): Promise<void> {
    const text = readFileSync('deploy/components/keep/policy.yaml', 'utf8')
    const chosen = text.replace(`"'vouched'"`, `"'${mode}'"`)
    if (!chosen.includes(`"'${mode}'"`)) throw new Error('the policy has no mode')
    await this.plane.kubectl(['apply', '-f', '-'], chosen)
    await this.wait(POLICY_MS)
  }

  async unregister(): Promise<void> {
    for (const kind of ['mutatingwebhookconfiguration', 'validatingwebhookconfiguration'])
      await this.plane.kubectl(['delete', kind, 'edge-health-webhook', SUPEREDGE, '--ignore-not-found']) // prettier-ignore
    if (!(await this.hasPolicies())) return
    for (const kind of ['mutatingadmissionpolicybinding', 'mutatingadmissionpolicy'])
      await this.plane.kubectl(['delete', kind, 'edge-health-keep-pods', '--ignore-not-found'])
  }

  /** A Ready Node with two Pods of a Service of its name, one of which bears the taint for ever. */
  async makeNode(name: string): Promise<void> {
    await this.#makeNode(name)
    const { plane } = this
    const number = this.#played.size
    await plane.kubectl(['create', 'service', 'clusterip', name, '--tcp=80:80'])
    const pod = { app: name, node: name }
    await renewPod(plane, { ...pod, name: `${name}-goes`, address: `10.1.${number}.1`, toleratedS: TOLERATION_S }, this.#signal) // prettier-ignore
    await renewPod(plane, { ...pod, name: `${name}-stays`, address: `10.1.${number}.2`, toleratedS: 1_000_000 }, this.#signal) // prettier-ignore
    await this.until(`the endpoints of ${name} are ready`, async () => {
      const { sliceReady, addresses } = await this.see(name)
      return sliceReady && addresses.ready === 2
    })
  }

  /** It is gone, and out of its Service. */
  async removePod(name: string): Promise<void> {
    await this.plane.kubectl(['delete', 'pod', name, '--grace-period=0', '--force'])
  }

  /** Its cloud link breaks; from the second word on its peers say so. */
  async cut(
    name: string,
    word: Partial<Pick<Played, 'isVouched' | 'takesTaintOff'>>,
  ): Promise<void> {
    Object.assign(this.#of(name), { isHeard: false, ...word })
    if (word.isVouched === true) await this.#vouch(name)
  }

  /** Its peers call it dead. */
  async condemn(name: string): Promise<void> {
    Object.assign(this.#of(name), { isVouched: false, takesTaintOff: false })
    const metadata = { annotations: { nodeunhealth: 'yes' } }
    await this.#patch(`${NODES}/${name}`, { metadata })
    await this.#condition(name, { type: 'PeerHealth', status: 'False', reason: 'PeersCannotReach' })
  }

  /** Its peers say nothing more. */
  silence(name: string): void {
    Object.assign(this.#of(name), { isVouched: false, takesTaintOff: false })
  }

  async see(name: string): Promise<Seen> {
    const { admin } = this.plane
    const [node, pods, slices, endpoints] = await Promise.all([
      admin.get(`${NODES}/${name}`, this.#signal),
      admin.get(`${PODS}?labelSelector=app%3D${name}`, this.#signal),
      admin.get(`${SLICES}/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D${name}`, this.#signal), // prettier-ignore
      admin.get(`/api/v1/namespaces/default/endpoints/${name}`, this.#signal).catch(() => ({})),
    ])
    const goes = mapsAt(pods, 'items').find(
      pod => textAt(pod, 'metadata', 'name') === `${name}-goes`,
    )
    const stays = mapsAt(pods, 'items').find(pod => textAt(pod, 'metadata', 'name') === `${name}-stays`) // prettier-ignore
    const all = mapsAt(slices, 'items').flatMap(slice => mapsAt(slice, 'endpoints'))
    const count = (which: string): number =>
      mapsAt(endpoints, 'subsets').flatMap(subset => mapsAt(subset, which)).length
    return {
      ready: conditionStatus(node, 'Ready'),
      isTainted: mapsAt(node, 'spec', 'taints').some(
        ({ key, effect }) => key === UNREACHABLE && effect === 'NoExecute',
      ),
      isEvicted: goes === undefined || valueAt(goes, 'metadata', 'deletionTimestamp') !== undefined,
      podReady: conditionStatus(stays, 'Ready'),
      sliceReady: all.some(endpoint => valueAt(endpoint, 'conditions', 'ready') === true),
      addresses: { ready: count('addresses'), unready: count('notReadyAddresses') },
    }
  }

  /** Reviews of ours that failed, as the apiserver counts them. */
  async failedReviews(): Promise<number> {
    const text = await this.plane.kubectl(['get', '--raw', '/metrics'])
    const lines = text.split('\n').filter(line => /^apiserver_admission_webhook_fail_open_count\{.*edge-health/.test(line)) // prettier-ignore
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
  }

  /** Why reviews failed, by the apiserver's last lines. */
  failedOpen(): readonly string[] {
    const lines = this.plane.lastLines(200).filter(line => line.includes('failing open'))
    return [...new Set(lines.map(line => line.replace(/^.*?failing open /, '')))]
  }

  /** What became of writes that the policy was asked about, as the apiserver counts them. */
  async policyChecks(): Promise<string> {
    const text = await this.plane.kubectl(['get', '--raw', '/metrics'])
    const lines = text.matchAll(/^apiserver_mutating_admission_policy_check_total\{(.*edge-health-keep.*)\} (\d+)/gm) // prettier-ignore
    return [...lines].map(([, labels, count]) => `${labels} ${count}`).join(', ')
  }

  async until(what: string, isTrue: () => Promise<boolean>, limitMs = PATIENCE_MS): Promise<void> {
    const look = async () => ((await isTrue()) ? undefined : 'not yet')
    await waitFor({ what, limitMs, look }, this.#signal)
  }

  async wait(ms: number): Promise<void> {
    await sleep(systemClock, ms, this.#signal)
    this.#signal.throwIfAborted()
  }

  #of(name: string): Played {
    const played = this.#played.get(name)
    if (played === undefined) throw new Error(`there is no node ${name}`)
    return played
  }

  async #makeNode(name: string): Promise<void> {
    const { admin } = this.plane
    // As a kubelet does: who owns a field is stamped with a time, and of an object made without any field nobody ever is.
    const labels = { 'kubernetes.io/hostname': name }
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
    await admin.post(NODES, node, this.#signal)
    const metadata = { name, namespace: 'kube-node-lease' }
    const spec = {
      holderIdentity: name,
      leaseDurationSeconds: 40,
      renewTime: microTime(Date.now()),
    }
    await admin.post(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec }, this.#signal) // prettier-ignore
    this.#played.set(name, { isHeard: true, isVouched: false, takesTaintOff: false })
    await this.#heartbeat(name)
  }

  /** Kubelets and peers, once a second. */
  async #play(): Promise<void> {
    do {
      await Promise.all([...this.#played].map(([name, played]) => this.#playOne(name, played).catch(() => undefined))) // prettier-ignore
    } while (await sleep(systemClock, 1_000, this.#stop.signal))
  }

  async #playOne(name: string, { isHeard, isVouched, takesTaintOff }: Played): Promise<void> {
    if (isHeard) await this.#heartbeat(name)
    if (isVouched) await this.#vouch(name)
    if (takesTaintOff) await this.#takeTaintOff(name)
  }

  async #heartbeat(name: string): Promise<void> {
    await this.#patch(`${LEASES}/${name}`, { spec: { renewTime: microTime(Date.now()) } })
    await this.#condition(name, { type: 'Ready', status: 'True', reason: 'KubeletReady' })
  }

  #vouch(name: string): Promise<void> {
    return this.#condition(name, { type: 'PeerHealth', status: 'True', reason: 'CloudLinkCut' })
  }

  async #takeTaintOff(name: string): Promise<void> {
    const node = await this.plane.admin.get(`${NODES}/${name}`, this.#signal)
    const taints = mapsAt(node, 'spec', 'taints')
    const left = taints.filter(({ key, effect }) => key !== UNREACHABLE || effect !== 'NoExecute')
    if (left.length === taints.length) return
    const spec = isMap(node['spec']) ? node['spec'] : {}
    await this.plane.admin.put(`${NODES}/${name}`, { ...node, spec: { ...spec, taints: left } }, this.#signal) // prettier-ignore
  }

  async #condition(name: string, condition: Json): Promise<void> {
    const body = { ...condition, lastHeartbeatTime: iso(), lastTransitionTime: iso() }
    await this.#patch(`${NODES}/${name}/status`, { status: { conditions: [body] } })
  }

  async #patch(path: string, body: Json): Promise<void> {
    await this.plane.admin.patch(path, 'strategic-merge', body, this.#signal)
  }
}
