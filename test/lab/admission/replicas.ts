// SPDX-License-Identifier: Apache-2.0
// Replicas of the webhook as processes of the lab, in the place of the Deployment's Pods.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sleep, systemClock } from '../../../core/clock.js'
import { reasonOf } from '../../../core/errors.js'
import { Child } from '../../../sandbox/child.js'
import { AGENT_FLAGS, IMAGE_ENV } from '../../../sandbox/image.js'
import { memoryOf } from '../../../bench/agent/proc.js'
import type { ControlPlane } from '../../../testkit/control-plane/control-plane.js'
import { kubeconfig } from '../../../testkit/control-plane/kubeconfig.js'
import { waitFor } from '../patience.js'
import { command } from '../shell.js'

const PATIENCE_MS = 60_000

/** So that services are reached without a kube-proxy. */
export const SERVER_FLAGS = ['--enable-aggregator-routing=true']
/** The webhook knows controllers by their accounts. */
export const CONTROLLER_FLAGS = ['--use-service-account-credentials=true']

const OURS = 'edge-health-webhook'

interface Parts {
  readonly plane: ControlPlane
  readonly script: string
  readonly signal: AbortSignal
}

/** Its account, policies and Service must be in the cluster. */
export class WebhookReplicas {
  readonly #parts: Parts
  readonly #replicas = new Map<string, Child>()
  /** Addresses of replicas that take reviews. */
  readonly #ready = new Set<string>()
  #service = OURS

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The machine gets their addresses, once. */
  async open(): Promise<void> {
    for (const address of ['10.99.0.1/32', '10.99.0.2/32'])
      await command('ip', ['address', 'replace', address, 'dev', 'lo'])
  }

  async close(): Promise<void> {
    await Promise.all([...this.#replicas.values()].map(child => child.kill()))
  }

  /** Replicas are behind another Service, until all are stopped. */
  serve(service: string): void {
    this.#service = service
  }

  /** Start a replica with the rights of its account, and wait until it is ready. */
  async start(number: 1 | 2, flags: readonly string[] = []): Promise<void> {
    const { plane, script, signal } = this.#parts
    const token = await plane.kubectl([
      '-n',
      'edge-system',
      'create',
      'token',
      'edge-health-webhook',
    ])
    const file = join(plane.dir, `webhook-${number}`)
    writeFileSync(file, kubeconfig(plane.url, plane.ca, { token: token.trim() }), { mode: 0o600 })
    const address = `10.99.0.${number}`
    const child = new Child({
      title: `webhook ${number}`,
      command: process.execPath,
      args: [
        // As the image's ENTRYPOINT has it.
        ...AGENT_FLAGS,
        ...[script, 'admission'],
        ...[`--kubeconfig=${file}`, `--listen-address=${address}:8443`],
        ...[`--status-address=${address}:51010`, ...flags],
      ],
      env: { ...IMAGE_ENV, HOME: plane.dir, PATH: '/usr/bin:/bin' },
    })
    this.#replicas.set(address, child)
    let said = ''
    const look = async () => {
      if (child.end !== undefined) throw new Error(child.lastLines(10).join('\n'))
      said = await this.ask(number, '/readyz')
      return said.startsWith('ok') ? undefined : 'not yet'
    }
    const what = `webhook ${number} is ready`
    await waitFor({ what, limitMs: PATIENCE_MS, look }, signal).catch((error: unknown) => {
      const lines = child.lastLines(10).join('\n')
      throw new Error(`${reasonOf(error)}: ${said}\n${lines}`, { cause: error })
    })
    await this.#publishEndpoint(address, true)
  }

  /** What a replica's status listener says; '' when nobody answers. */
  async ask(number: 1 | 2, path: string): Promise<string> {
    try {
      const response = await fetch(`http://10.99.0.${number}:51010${path}`, { signal: AbortSignal.timeout(2_000) }) // prettier-ignore
      return await response.text()
    } catch {
      return ''
    }
  }

  /** What a replica was asked, and what became of the writes. */
  async reviews(number: 1 | 2): Promise<string> {
    const text = await this.ask(number, '/metrics')
    const found = text.matchAll(/reviews_total\{path="([^"]+)",result="([^"]+)"\} ([1-9]\d*)/g)
    return [...found].map(([, path, result, count]) => `${path} ${result} ${count}`).join(', ')
  }

  /** What its reviews took by its own count, and what it takes itself. */
  async cost(number: 1 | 2): Promise<string> {
    const text = await this.ask(number, '/metrics')
    const within = [...text.matchAll(/review_duration_seconds_bucket\{le="([^"]+)"\} (\d+)/g)]
    const counts = within.map(([, bound, count]) => `≤ ${bound} s ${count}`).join(', ')
    const pid = this.#replicas.get(`10.99.0.${number}`)?.pid
    if (pid === undefined) return counts
    const { rssMiB, peakMiB } = memoryOf(pid)
    return `${counts}; RSS ${rssMiB.toFixed(0)} MiB, at most ${peakMiB.toFixed(0)}`
  }

  /** Killed without a word; a second later its endpoint is gone, as a kubelet and the endpointslice controller have it. */
  async kill(number: 1 | 2): Promise<void> {
    const address = `10.99.0.${number}`
    await this.#replicas.get(address)?.kill()
    this.#replicas.delete(address)
    await sleep(systemClock, 1_000, this.#parts.signal)
    await this.#publishEndpoint(address, false)
  }

  async stop(): Promise<void> {
    for (const number of [1, 2] as const)
      if (this.#replicas.has(`10.99.0.${number}`)) await this.kill(number)
    this.#service = OURS
  }

  /** The Service of deploy/ finds the replicas as it would find those of its Pods; before 1.34 apiservers ask for Endpoints. */
  async #publishEndpoint(address: string, ready: boolean): Promise<void> {
    if (ready) this.#ready.add(address)
    else this.#ready.delete(address)
    const service = { name: this.#service, namespace: 'edge-system' }
    const ports = [{ name: 'reviews', port: 8443, protocol: 'TCP' }]
    const labels = {
      'kubernetes.io/service-name': service.name,
      'endpointslice.kubernetes.io/managed-by': 'lab',
    }
    const slice = {
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
      metadata: { ...service, name: `${service.name}-${address.replaceAll('.', '-')}`, labels },
      endpoints: [{ addresses: [address], conditions: { ready } }],
      ports,
    }
    const addresses = [...this.#ready].map(ip => ({ ip }))
    const endpoints = {
      ...{ apiVersion: 'v1', kind: 'Endpoints', metadata: service },
      subsets: addresses.length === 0 ? [] : [{ addresses, ports }],
    }
    const list = { apiVersion: 'v1', kind: 'List', items: [slice, endpoints] }
    await this.#parts.plane.kubectl(['apply', '-f', '-'], JSON.stringify(list))
  }
}
