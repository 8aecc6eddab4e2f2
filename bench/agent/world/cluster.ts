// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { NodeName } from '../../../core/ids.js'
import type { Member } from '../../../core/roster.js'
import { IDENTITY_ANNOTATION } from '../../../agent/identity/annotation.js'
import { makeApiClient, type ApiClient, type Json } from '../../../sandbox/api-client.js'
import type { FixedAccess } from '../../../kube/client/fixed-credentials.js'
import { startApi, type ApiServer } from '../../../sandbox/api/server.js'
import { apiMicroTime, apiTime, LEASES, NODES } from '../../../sandbox/node-object.js'
import { createZoneObjects, kubeconfigText, ZONE_LABEL } from '../../../sandbox/zone-objects.js'
import { ZONE } from './cast.js'

/** Kubelets post their status this often although nothing changed, and renew their Leases. */
const STATUS_MS = 300_000
const LEASE_MS = 10_000
/** More than half of a real Node is the list of its images: kubelets report up to 50 of them. */
const IMAGES = 40
/** What these kubelets do, for the help of benches. */
export const KUBELETS =
  `Kubelets report Nodes with ${IMAGES} images every ${STATUS_MS / 60_000} minutes` +
  ` and renew Leases every ${LEASE_MS / 1_000} s.`
/** Requests at a time while a cluster is filled. */
const WIDTH = 8
const AGENT = 'agent'
const ZONE_CONFIG = '/api/v1/namespaces/edge-system/configmaps/edge-health-zone-config'

const images = Array.from({ length: IMAGES }, (_, i) => ({
  names: [
    `registry.example.com/team-${i}/component-${i}@sha256:${String(i).padStart(64, '0')}`,
    `registry.example.com/team-${i}/component-${i}:v1.${i}.0`,
  ],
  sizeBytes: 10_000_000 + i,
}))

/** Who writes into a real Node beside its kubelet: each has its part of `managedFields`, most of a Node's metadata. */
const WRITERS: Readonly<Record<string, Json>> = {
  kubeadm: {
    metadata: {
      annotations: {
        'kubeadm.alpha.kubernetes.io/cri-socket': 'unix:///run/containerd/containerd.sock',
      },
    },
  },
  'kube-controller-manager': {
    metadata: { annotations: { 'node.alpha.kubernetes.io/ttl': '0' } },
    spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'] },
  },
  flanneld: {
    metadata: {
      annotations: {
        'flannel.alpha.coreos.com/backend-data': '{"VNI":1,"VtepMAC":"8e:1c:5a:03:7b:d2"}',
        'flannel.alpha.coreos.com/backend-type': 'vxlan',
        'flannel.alpha.coreos.com/kube-subnet-manager': 'true',
        'flannel.alpha.coreos.com/public-ip': '192.0.2.17',
      },
    },
  },
}

const LABELS = {
  'beta.kubernetes.io/arch': 'arm64',
  'beta.kubernetes.io/os': 'linux',
  'kubernetes.io/arch': 'arm64',
  'kubernetes.io/os': 'linux',
  'node-role.kubernetes.io/edge': '',
}
const VOLUMES = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' }

const condition = (type: string, status: string, at: string): Json => ({
  ...{ type, status, lastHeartbeatTime: at },
  ...{ reason: `Kubelet${type}`, message: `kubelet says ${status} for ${type}` },
})

const RESOURCES = {
  ...{ cpu: '4', memory: '8025348Ki', pods: '110', 'ephemeral-storage': '30832636Ki' },
  ...{ 'hugepages-2Mi': '0', 'hugepages-1Gi': '0' },
}
const ID = '6f1c2b7e-93d4-4a58-8c0f-2e5d7a9b4c31'

const statusOf = ({ name, address }: Member, at: string): Json => ({
  addresses: [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: name },
  ],
  ...{ capacity: RESOURCES, allocatable: RESOURCES },
  daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
  nodeInfo: {
    ...{ architecture: 'arm64', operatingSystem: 'linux', osImage: 'Debian GNU/Linux 13 (trixie)' },
    ...{ kernelVersion: '6.12.48+deb13-arm64', containerRuntimeVersion: 'containerd://2.1.4' },
    ...{ kubeletVersion: 'v1.36.3', kubeProxyVersion: '' },
    ...{ machineID: ID, systemUUID: ID, bootID: ID },
  },
  conditions: [
    ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type => condition(type, 'False', at)),
    condition('Ready', 'True', at),
  ],
  images,
})

/** An apiserver with Nodes as large as real ones, and kubelets that post their status and renew their Leases. */
export class Cluster {
  /** Undefined: the apiserver is outside. */
  readonly #api: ApiServer | undefined
  readonly #clock: Clock
  readonly #client: ApiClient
  readonly #end = new AbortController()
  readonly #cancels: (() => void)[] = []
  #reloads = 0
  #zoneOf: (member: Member) => string = () => ZONE

  /**
   * @param outside an apiserver that has all but the Nodes; without it an embedded one is played
   * @param zoneOf in which zone a node is; without it all are in one
   */
  static async make(
    seams: { readonly clock: Clock; readonly log: Logger },
    outside?: FixedAccess,
    zoneOf?: (member: Member) => string,
  ): Promise<Cluster> {
    if (outside !== undefined) {
      const cluster = new Cluster(undefined, outside, seams.clock)
      if (zoneOf !== undefined) cluster.#zoneOf = zoneOf
      return cluster
    }
    const api = await startApi({ host: '127.0.0.1', port: 0, ...seams })
    return new Cluster(api, { server: api.url, token: api.addClient('admin') }, seams.clock)
  }

  private constructor(api: ApiServer | undefined, access: FixedAccess, clock: Clock) {
    this.#api = api
    this.#clock = clock
    this.#client = makeApiClient(access, clock)
  }

  /** Undefined where the apiserver is outside. */
  get kubeconfig(): string | undefined {
    const api = this.#api
    return api === undefined ? undefined : kubeconfigText(api.url, AGENT, api.addClient(AGENT))
  }

  /**
   * Create everything, then post statuses and renew Leases at the true rate.
   * @param publish which identity a Node of this UID has
   */
  async fill(
    members: readonly Member[],
    key: string,
    publish: (
      node: NodeName,
      uid: string,
    ) => string | undefined | Promise<string | undefined> = () => undefined,
  ): Promise<void> {
    if (this.#api !== undefined) await createZoneObjects(this.#client, key, this.#end.signal)
    const waiting = [...members]
    const worker = async (): Promise<void> => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
        const identity = await publish(one.name, await this.add(one))
        if (identity !== undefined) await this.#annotate(one.name, identity)
        await this.#lease(one)
      }
    }
    await Promise.all(Array.from({ length: WIDTH }, worker))
    this.#inTurn(members, STATUS_MS, member => this.#post(member))
    this.#inTurn(members, LEASE_MS, member => this.#renew(member))
  }

  /** @returns the UID of the new Node */
  async add(member: Member): Promise<string> {
    const zone = this.#zoneOf(member)
    const labels = { ...LABELS, 'kubernetes.io/hostname': member.name, [ZONE_LABEL]: zone }
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: member.name, labels, annotations: VOLUMES },
      spec: {},
    }
    const made = await this.#client.post(`${NODES}?fieldManager=kubelet`, node, this.#end.signal)
    for (const [writer, patch] of Object.entries(WRITERS))
      await this.#client.patch(
        `${NODES}/${member.name}?fieldManager=${writer}`,
        'merge',
        patch,
        this.#end.signal,
      )
    await this.#post(member)
    return (made['metadata'] as { readonly uid: string }).uid
  }

  /** What the Node says of its agent's keys; undefined while it says nothing. */
  async identityOf(name: NodeName): Promise<string | undefined> {
    const { metadata } = await this.#client.get(`${NODES}/${name}`, this.#end.signal)
    const { annotations } = metadata as { readonly annotations?: Record<string, string> }
    return annotations?.[IDENTITY_ANNOTATION]
  }

  /** The Node leaves the zone, as when an operator takes its label off. */
  async remove(name: string): Promise<void> {
    await this.#relabel(name, null)
  }

  async bringBack(name: string): Promise<void> {
    await this.#relabel(name, ZONE)
  }

  /** The zone's ConfigMap gets another version with the same meaning. */
  async reload(): Promise<void> {
    const patch = { metadata: { annotations: { reload: String(++this.#reloads) } } }
    await this.#client.patch(ZONE_CONFIG, 'merge', patch, this.#end.signal)
  }

  /** Every connection of the agent is reset; the next ones work. */
  breakWatches(): void {
    this.#api?.cutLink(AGENT, 'refused')
    this.#api?.healLink(AGENT)
  }

  async stop(): Promise<void> {
    for (const cancel of this.#cancels) cancel()
    this.#end.abort()
    await this.#client.close()
    await this.#api?.stop()
  }

  /** Each member once a period, one after the other. */
  #inTurn(
    members: readonly Member[],
    periodMs: number,
    act: (member: Member) => Promise<void>,
  ): void {
    const place = this.#cancels.length
    let next = 0
    const turn = (): void => {
      this.#cancels[place] = this.#clock.after(periodMs / members.length, turn)
      const member = members[next++ % members.length]
      if (member !== undefined) void act(member).catch(() => undefined)
    }
    turn()
  }

  async #lease({ name }: Member): Promise<void> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name, namespace: 'kube-node-lease' },
      spec: this.#leaseSpec(name),
    }
    await this.#client.post(LEASES, lease, this.#end.signal)
  }

  async #renew({ name }: Member): Promise<void> {
    const patch = { spec: this.#leaseSpec(name) }
    await this.#client.patch(`${LEASES}/${name}`, 'merge', patch, this.#end.signal)
  }

  #leaseSpec(name: string): Json {
    const renewTime = apiMicroTime(this.#clock.wall())
    return { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
  }

  async #annotate(name: string, identity: string): Promise<void> {
    const patch = { metadata: { annotations: { [IDENTITY_ANNOTATION]: identity } } }
    await this.#client.patch(`${NODES}/${name}`, 'merge', patch, this.#end.signal)
  }

  async #relabel(name: string, value: string | null): Promise<void> {
    const patch = { metadata: { labels: { [ZONE_LABEL]: value } } }
    await this.#client.patch(`${NODES}/${name}`, 'merge', patch, this.#end.signal)
  }

  async #post(member: Member): Promise<void> {
    const status = statusOf(member, apiTime(this.#clock.wall()))
    await this.#client.patch(
      `${NODES}/${member.name}/status?fieldManager=kubelet`,
      'strategic-merge',
      { status },
      this.#end.signal,
    )
  }
}
