// SPDX-License-Identifier: Apache-2.0
// The grids controller, the bridge and the webhook as processes beside the embedded API, and something to do for each.
import { Buffer } from 'node:buffer'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.js'
import { systemRandom } from '../../core/random.js'
import { Child } from '../../sandbox/child.js'
import { kubeconfigText } from '../../sandbox/zone-objects.js'
import { makeNode, makeReview } from '../admission/reviews.js'
import { openWebhookBed, SECRET, type WebhookBed } from '../admission/webhook-bed.js'
import { authorityIn } from '../edge/bridge-process.js'
import { makeNodePair } from '../edge/certificates.js'
import { Edge } from '../edge/edge.js'
import { dialWebsocket } from '../edge/link.js'
import { memoryStore } from '../edge/store.js'
import { deploymentGrid } from '../kube/grid-objects.js'
import { installCrds, readCrds } from '../kube/grid-crds.js'
import type { ScrapeTarget } from './server.js'

/** The programs that run, each as often as it is installed. */
export interface Programs {
  readonly targets: readonly ScrapeTarget[]
  /** Whether each of them works. */
  isReady(): Promise<boolean>
  /** An edge that stays, one that leaves, one that is refused; a grid; reviews, and requests that are none. */
  work(): Promise<void>
  /** May be called twice. */
  stop(): Promise<void>
}

const PORTS = { grids: 51_008, webhook: 51_010, bridge: 51_011 } as const
const [HUB, ENROL, REVIEWS] = [10_000, 10_002, 8_443]

const NODES = ['north', 'south'].map(site => ({ metadata: { name: site, labels: { site } } }))

class Cluster implements Programs {
  readonly #bed: WebhookBed
  readonly #host: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'edge-health-programs-'))
  readonly #children: Child[] = []
  readonly #edges: Edge[] = []
  #stopping: Promise<void> | undefined

  constructor(bed: WebhookBed, host: string) {
    this.#bed = bed
    this.#host = host
  }

  get targets(): readonly ScrapeTarget[] {
    return Object.entries(PORTS).map(([name, port]) => ({
      ...{ job: `edge-health-${name}`, address: `${this.#host}:${port}`, labels: {} },
    }))
  }

  async prepare(script: string, crds: ReturnType<typeof readCrds>): Promise<void> {
    await this.#bed.register()
    await installCrds(this.#bed.admin, crds)
    for (const name of ['kubeedge', 'shop'])
      await this.#post('/api/v1/namespaces', { metadata: { name } })
    for (const node of NODES) await this.#post('/api/v1/nodes', node)
    const at = (port: number): string => `${this.#host}:${port}`
    this.#start(script, 'grids', [])
    this.#start(script, 'bridge', [
      ...[`--listen-address=${at(HUB)}`, `--enrol-address=${at(ENROL)}`],
      ...[`--advertise-address=${this.#host}`, `--state-dir=${join(this.#folder, 'bridge')}`],
    ])
    this.#start(script, 'webhook', [`--listen-address=${at(REVIEWS)}`])
  }

  async isReady(): Promise<boolean> {
    const answers = await Promise.all(
      this.targets.map(({ address }) =>
        fetch(`http://${address}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      ),
    )
    return answers.every(ok => ok)
  }

  async work(): Promise<void> {
    await this.#connect('edge-a', 'edge-a')
    await this.#connect('edge-b', 'edge-a')
    const leaving = await this.#connect('edge-c', 'edge-c')
    while (!leaving.view.isConnected) await new Promise(resolve => setTimeout(resolve, 50))
    leaving.kill()
    const { metadata, ...grid } = deploymentGrid('web')
    const inShop = { ...(metadata as object), namespace: 'shop' }
    const place = '/apis/superedge.io/v1/namespaces/shop/deploymentgrids'
    await this.#post(place, { ...grid, metadata: inShop })
    await this.#review('/node-taint', makeReview('/node-taint', makeNode()))
    await this.#review('/nothing', {})
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    for (const edge of this.#edges) edge.kill()
    await Promise.all(this.#children.map(child => child.stop(systemClock)))
    await this.#bed.stop()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #post(path: string, body: unknown): Promise<void> {
    const { status } = await this.#bed.api.ask(`POST ${path}`, body)
    if (status !== 201) throw new Error(`POST ${path}: ${status}`)
  }

  #start(script: string, name: keyof typeof PORTS, more: readonly string[]): void {
    const { api } = this.#bed.api
    const folder = join(this.#folder, name)
    mkdirSync(folder)
    const kubeconfig = join(folder, 'kubeconfig')
    writeFileSync(kubeconfig, kubeconfigText(api.url, name, api.addClient(name)))
    const command = name === 'webhook' ? 'admission' : name
    const args = [
      ...[script, command, `--kubeconfig=${kubeconfig}`],
      ...[`--status-address=${this.#host}:${PORTS[name]}`, ...more],
    ]
    const env = { PATH: process.env['PATH'] ?? '' }
    const child = new Child({ title: name, command: process.execPath, args, env })
    // Also when whoever started it runs out of time and is ended.
    process.once('exit', () => void child.kill())
    this.#children.push(child)
  }

  /** An edge with the certificate of a node, which says that it is that one or another. */
  async #connect(node: string, nodeId: string): Promise<Edge> {
    const { body } = await this.#bed.api.ask('GET /api/v1/namespaces/kubeedge/secrets/casecret')
    const authority = authorityIn(body)
    const tls = { ca: authority.cert, ...(await makeNodePair(authority, node)) }
    const url = `wss://${this.#host}:${HUB}`
    const edge = new Edge(
      { node },
      {
        ...{ clock: systemClock, random: systemRandom, store: memoryStore() },
        dial: handlers => dialWebsocket({ url, node, nodeId, tls }, handlers),
      },
    )
    void edge.run()
    this.#edges.push(edge)
    return edge
  }

  async #review(path: string, body: unknown): Promise<void> {
    const ca = (await this.#bed.bundle()) ?? ''
    const options = {
      ...{ host: this.#host, port: REVIEWS, path, method: 'POST', ca },
      servername: `edge-health-webhook.${SECRET.namespace}.svc`,
      headers: { 'content-type': 'application/json' },
    }
    await new Promise<void>((resolve, reject) => {
      const asked = request(options, answer => answer.resume().once('end', () => resolve()))
      asked.once('error', reject)
      asked.end(Buffer.from(JSON.stringify(body)))
    })
  }
}

/**
 * Start them on their own ports of an address. `stop` must be called in any case.
 * @param script the bundle
 * @param host a loopback address that nobody else uses
 * @param crds of grids
 */
export const startPrograms = async (
  script: string,
  host: string,
  crds = readCrds(),
): Promise<Programs> => {
  const cluster = new Cluster(await openWebhookBed(), host)
  try {
    await cluster.prepare(script, crds)
    return cluster
  } catch (error) {
    await cluster.stop()
    throw error
  }
}
