// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../../core/clock.js'
import type { Logger } from '../../../core/log.js'
import type { Member } from '../../../core/roster.js'
import { makeApiClient, type ApiClient, type Json } from '../../../sandbox/api-client.js'
import { startApi, type ApiServer } from '../../../sandbox/api/server.js'
import { apiTime, NODES } from '../../../sandbox/node-object.js'
import { createZoneObjects, kubeconfigText, ZONE_LABEL } from '../../../sandbox/zone-objects.js'
import { ZONE } from './cast.js'

/** Kubelets post their status this often although nothing changed. */
const STATUS_MS = 300_000
const AGENT = 'agent'
const ZONE_CONFIG = '/api/v1/namespaces/edge-system/configmaps/edge-health-zone-config'

/** Most of a real Node is the list of its images; together some 5 KB. */
const images = Array.from({ length: 30 }, (_, i) => ({
  names: [
    `registry.example.com/team-${i}/component-${i}@sha256:${String(i).padStart(64, '0')}`,
    `registry.example.com/team-${i}/component-${i}:v1.${i}.0`,
  ],
  sizeBytes: 10_000_000 + i,
}))

const condition = (type: string, status: string, at: string): Json => ({
  ...{ type, status, lastHeartbeatTime: at },
  ...{ reason: `Kubelet${type}`, message: `kubelet says ${status} for ${type}` },
})

const statusOf = ({ name, address }: Member, at: string): Json => ({
  addresses: [
    { type: 'InternalIP', address },
    { type: 'Hostname', address: name },
  ],
  capacity: { cpu: '4', memory: '8Gi', pods: '110' },
  conditions: [
    ...['MemoryPressure', 'DiskPressure', 'PIDPressure'].map(type => condition(type, 'False', at)),
    condition('Ready', 'True', at),
  ],
  images,
})

/** The apiserver: the embedded one, with Nodes as large as real ones and kubelets that post their status. */
export class Cluster {
  readonly #api: ApiServer
  readonly #clock: Clock
  readonly #client: ApiClient
  readonly #end = new AbortController()
  #cancel: () => void = () => undefined
  #reloads = 0

  static async make(seams: { readonly clock: Clock; readonly log: Logger }): Promise<Cluster> {
    const api = await startApi({ host: '127.0.0.1', port: 0, ...seams })
    return new Cluster(api, seams.clock)
  }

  private constructor(api: ApiServer, clock: Clock) {
    this.#api = api
    this.#clock = clock
    this.#client = makeApiClient({ server: api.url, token: api.addClient('admin') }, clock)
  }

  get kubeconfig(): string {
    return kubeconfigText(this.#api.url, AGENT, this.#api.addClient(AGENT))
  }

  get requests(): number {
    return this.#api.requests.filter(({ client }) => client === AGENT).length
  }

  /** Create everything, then post statuses at the true rate. */
  async fill(members: readonly Member[], key: string): Promise<void> {
    await createZoneObjects(this.#client, key, this.#end.signal)
    for (const member of members) await this.add(member)
    let next = 0
    const post = (): void => {
      this.#cancel = this.#clock.after(STATUS_MS / members.length, post)
      const member = members[next++ % members.length]
      if (member !== undefined) void this.#post(member).catch(() => undefined)
    }
    post()
  }

  async add(member: Member): Promise<void> {
    const labels = { 'kubernetes.io/hostname': member.name, [ZONE_LABEL]: ZONE }
    const node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: member.name, labels },
      spec: {},
    }
    await this.#client.post(NODES, node, this.#end.signal)
    await this.#post(member)
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
    this.#api.cutLink(AGENT, 'refused')
    this.#api.healLink(AGENT)
  }

  async stop(): Promise<void> {
    this.#cancel()
    this.#end.abort()
    await this.#client.close()
    await this.#api.stop()
  }

  async #relabel(name: string, value: string | null): Promise<void> {
    const patch = { metadata: { labels: { [ZONE_LABEL]: value } } }
    await this.#client.patch(`${NODES}/${name}`, 'merge', patch, this.#end.signal)
  }

  async #post(member: Member): Promise<void> {
    const status = statusOf(member, apiTime(this.#clock.wall()))
    await this.#client.patch(
      `${NODES}/${member.name}/status`,
      'strategic-merge',
      { status },
      this.#end.signal,
    )
  }
}
