// SPDX-License-Identifier: Apache-2.0
// Nodes, Leases and tokens of every kind on a real apiserver, and requests with them.
import { sleep, systemClock } from '../../../core/clock.js'
import { KubeStatusError } from '../../../core/errors.js'
import type { Json } from '../../../sandbox/api-client.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'

const NODES = '/api/v1/nodes'
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'
const SYSTEM = '/api/v1/namespaces/edge-system'

/** How a Node is before the write. */
export type Before =
  | 'plain'
  | 'silent'
  | 'condemned'
  | 'vouched'
  /** So many managers wrote it and its Lease that the apiserver merges the oldest. */
  | 'busy'
  /** It and its Lease have no managedFields, so that the apiserver stamps no writes of them. */
  | 'unstamped'

/** Whose token a write goes with. */
export type Writer =
  /** Of the agent's Pod on the Node `writer`, as its kubelet mounts it. */
  | 'agent'
  /** Bound to the Node `writer` itself. */
  | 'agent, bound to the Node'
  | 'agent, unbound'
  /** Of a Pod on a Node that was deleted and made again since. */
  | 'agent of an earlier Node'
  | 'wrapper'
  | 'webhook'
  | 'bridge'

/** One request. */
export interface Sent {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** Media type of the body. */
  readonly type?: string
  readonly body?: unknown
}

export interface Answered {
  readonly status: number
  /** What the apiserver says of a refusal. */
  readonly message: string
}

const condition = (type: string, status: string, more: Json = {}): Json => ({
  ...{ type, status, reason: 'Given', message: 'as given' },
  ...{ lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' },
  ...more,
})

/** Of more than ten entries in managedFields the apiserver merges some. */
const MANAGERS = 10

const FOREIGN = { key: 'example.com/foreign', effect: 'NoSchedule' }
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const REASON = 'edge-health/reason'

const TAINTS: Readonly<Record<Before, readonly Json[]>> = {
  plain: [FOREIGN],
  silent: [
    FOREIGN,
    { key: UNREACHABLE, effect: 'NoSchedule' },
    { key: UNREACHABLE, effect: 'NoExecute' },
  ],
  condemned: [FOREIGN],
  vouched: [FOREIGN, { key: 'edge-health/cloud-link-cut', effect: 'NoSchedule' }],
  busy: [FOREIGN],
  unstamped: [FOREIGN],
}

const ANNOTATIONS: Readonly<Record<Before, Readonly<Record<string, string>>>> = {
  plain: {},
  silent: {},
  condemned: { nodeunhealth: 'yes', [REASON]: 'given' },
  vouched: { [REASON]: 'given' },
  busy: {},
  unstamped: {},
}

const PEER_HEALTH: Readonly<Record<Before, readonly Json[]>> = {
  plain: [],
  silent: [],
  condemned: [condition('PeerHealth', 'False', { reason: 'PeersCannotReach' })],
  vouched: [condition('PeerHealth', 'True', { reason: 'CloudLinkCut' })],
  busy: [],
  unstamped: [],
}

const nodeBody = (name: string, before: Before): Json => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    labels: { zone: 'a', ...(before === 'vouched' ? { 'edge-health/vouched': 'true' } : {}) },
    annotations: { foreign: 'x', ...ANNOTATIONS[before] },
  },
  spec: { taints: TAINTS[before] },
})

const statusBody = (before: Before): Json => ({
  capacity: { cpu: '4', memory: '8Gi', pods: '110' },
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  conditions: [
    condition('MemoryPressure', 'False'),
    condition('Ready', before === 'silent' ? 'Unknown' : 'True'),
    ...PEER_HEALTH[before],
  ],
})

const leaseBody = (name: string, namespace = 'kube-node-lease'): Json => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name, namespace, labels: { given: 'x' } },
  spec: {
    holderIdentity: name,
    leaseDurationSeconds: 40,
    renewTime: new Date(Date.now() - 20_000).toISOString().replace('Z', '000Z'),
  },
})

/** The cluster that the writes are played on. */
export class Bed {
  /** The Node whose Pods' tokens these are. */
  readonly writer: string
  readonly #plane: ControlPlane
  readonly #signal: AbortSignal
  readonly #prefix: string
  #nodes = 0
  readonly #tokens = new Map<Writer, string>()

  /** `prefix`: what stands before the names of our accounts. */
  constructor(plane: ControlPlane, signal: AbortSignal, prefix: string) {
    this.#plane = plane
    this.#signal = signal
    this.#prefix = prefix
    this.writer = `${prefix}writer`
  }

  /** A Node with a Lease, in place of one that was there. @returns its uid. */
  async makeNode(name: string, before: Before): Promise<string> {
    const { admin } = this.#plane
    const made = await admin.post(NODES, nodeBody(name, before), this.#signal)
    // An admission plug-in taints what is new.
    const status = { ...made, spec: { taints: TAINTS[before] } }
    await admin.put(`${NODES}/${name}`, status, this.#signal)
    const patch = { status: statusBody(before) }
    await admin.patch(`${NODES}/${name}/status`, 'strategic-merge', patch, this.#signal)
    await admin.post(LEASES, leaseBody(name), this.#signal)
    if (before === 'busy') await this.#makeBusy(name)
    if (before === 'unstamped') await this.#unstamp(name)
    return (made['metadata'] as { uid: string }).uid
  }

  /** The first is the last that is merged: its time is not that of the next. */
  async #makeBusy(name: string): Promise<void> {
    for (let i = 0; i < MANAGERS; i++) {
      const labels = { metadata: { labels: { [`by-${i}`]: 'x' } } }
      for (const path of [NODES, LEASES])
        await this.#plane.admin.patch(`${path}/${name}?fieldManager=by-${i}`, 'merge', labels, this.#signal) // prettier-ignore
      if (i === 0) await sleep(systemClock, 1_100, this.#signal)
    }
  }

  async #unstamp(name: string): Promise<void> {
    const none = { metadata: { managedFields: [{}] } }
    for (const path of [NODES, LEASES])
      await this.#plane.admin.patch(`${path}/${name}`, 'merge', none, this.#signal)
  }

  /** A new Node. @returns its name. */
  async anyNode(before: Before): Promise<string> {
    const name = `${this.#prefix}row-${++this.#nodes}`
    await this.makeNode(name, before)
    return name
  }

  /** The tokens of all writers; Nodes `writer` and `again` come about with them. */
  async makeTokens(): Promise<void> {
    const [agent, wrapper] = ['agent', 'wrapper'].map(name => `${this.#prefix}edge-health-${name}`)
    const [writer, again] = [this.writer, `${this.#prefix}again`]
    const uid = await this.makeNode(writer, 'plain')
    await this.makeNode(again, 'plain')
    const node = { apiVersion: 'v1', kind: 'Node', name: writer, uid }
    this.#tokens.set('agent', await this.#podToken(agent!, writer))
    this.#tokens.set('agent of an earlier Node', await this.#podToken(agent!, again))
    const bound = await this.#tokenOfNode(agent!, node)
    if (bound !== undefined) this.#tokens.set('agent, bound to the Node', bound)
    this.#tokens.set('agent, unbound', await this.#token(agent!, undefined))
    this.#tokens.set('wrapper', await this.#podToken(wrapper!, writer))
    await this.#removeNode(again)
    await this.#plane.admin.post(
      LEASES.replace('kube-node-lease', 'kube-system'),
      leaseBody(`${this.#prefix}elsewhere`, 'kube-system'),
      this.#signal,
    )
    await this.makeNode(again, 'plain')
  }

  /** Of the component's account, once that is applied. */
  async makeWebhookToken(): Promise<void> {
    this.#tokens.set('webhook', await this.#podToken('edge-health-webhook', this.writer))
  }

  /** The same for the bridge, and an edge with a Pod that runs. */
  async makeBridgeToken(edge: string): Promise<void> {
    this.#tokens.set('bridge', await this.#podToken('edge-health-bridge', this.writer))
    const { admin } = this.#plane
    await this.makeNode(edge, 'condemned')
    const labels = { metadata: { labels: { 'node-role.kubernetes.io/edge': '' } } }
    await admin.patch(`${NODES}/${edge}`, 'merge', labels, this.#signal)
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bridged-pod' } },
      spec: { nodeName: edge, containers: [{ name: 'own', image: 'own' }] },
    }
    await admin.post('/api/v1/namespaces/default/pods', pod, this.#signal)
    for (const name of ['bridge-record-bridged', 'bridged-config']) {
      const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }
      await admin.post('/api/v1/namespaces/edge-system/configmaps', map, this.#signal)
    }
  }

  hasTokenOf(by: Writer): boolean {
    return this.#tokens.has(by)
  }

  tokenOf(by: Writer): string {
    return this.#tokens.get(by)!
  }

  async send(by: Writer | 'admin', { method, path, type, body }: Sent): Promise<Answered> {
    const response = await fetch(`${this.#plane.url}${path}`, {
      method,
      signal: this.#signal,
      headers: {
        authorization: `Bearer ${by === 'admin' ? this.#plane.adminToken : this.tokenOf(by)}`,
        ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, message: response.ok ? '' : messageOf(text) }
  }

  async #removeNode(name: string): Promise<void> {
    await this.#plane.admin.delete(`${NODES}/${name}`, this.#signal)
    await this.#plane.admin.delete(`${LEASES}/${name}`, this.#signal)
  }

  /** As the DaemonSet's controller makes the Pod, and its kubelet asks for the token. */
  async #podToken(account: string, node: string): Promise<string> {
    const name = `${account}-${node}`
    const pod = {
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
      spec: {
        ...{ nodeName: node, serviceAccountName: account },
        containers: [{ name: 'own', image: 'own' }],
      },
    }
    const path = `${SYSTEM}/pods`
    const made = await this.#plane.admin.post(path, pod, this.#signal)
    const { uid } = made['metadata'] as { uid: string }
    return this.#token(account, { apiVersion: 'v1', kind: 'Pod', name, uid })
  }

  /** Undefined where the apiserver binds no token to a Node, as before Kubernetes 1.31 unless a feature gate is set. */
  async #tokenOfNode(account: string, node: Json): Promise<string | undefined> {
    try {
      return await this.#token(account, node)
    } catch (error) {
      const isOld =
        error instanceof KubeStatusError && error.message.includes('cannot bind token to a Node')
      if (isOld) return undefined
      throw error
    }
  }

  async #token(account: string, boundObjectRef: Json | undefined): Promise<string> {
    const request = {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest' },
      spec: {
        expirationSeconds: 3_600,
        ...(boundObjectRef === undefined ? {} : { boundObjectRef }),
      },
    }
    const path = `${SYSTEM}/serviceaccounts/${account}/token`
    const answer = await this.#plane.admin.post(path, request, this.#signal)
    return (answer['status'] as { token: string }).token
  }
}

const messageOf = (text: string): string => {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    return text
  }
}
