// SPDX-License-Identifier: Apache-2.0
import * as v from 'valibot'
import { type Clock, sleep } from '../core/clock.js'
import { KubeStatusError, reasonOf } from '../core/errors.js'
import type { Logger } from '../core/log.js'
import { parseWith } from '../core/parse.js'
import { type ApiClient, type Json, makeApiClient } from './api-client.js'
import { makeCertificate, openHealthz, openKubeletPort, type OpenServer } from './kubelet-server.js'
import { NodeLease } from './node-lease.js'
import { apiTime, type Condition, conditionsOf, type NodeObject, NODES } from './node-object.js'

const listenSchema = v.strictObject({ host: v.string(), port: v.number() })

const optionsSchema = v.strictObject({
  nodeName: v.string(),
  /** InternalIP of the Node. */
  address: v.string(),
  labels: v.record(v.string(), v.string()),
  server: v.string(),
  token: v.string(),
  /** PEM text of the authority that signed an https server's certificate. */
  ca: v.optional(v.string()),
  /** `/healthz` without TLS, for the own node. */
  healthz: listenSchema,
  /** The authenticated port, with TLS. */
  secure: listenSchema,
  /** `leaseDurationSeconds`. Real kubelets: 40. */
  leaseSeconds: v.number(),
  /** How often the Lease is renewed, and the status compared with the API's. Real kubelets: 10 s. */
  renewMs: v.number(),
  /** How often an unchanged status is posted. Real kubelets: 5 minutes. */
  statusMs: v.number(),
})

/** Options of a small kubelet. */
export type KubeletOptions = Readonly<v.InferOutput<typeof optionsSchema>>

/** @throws InvalidInputError that names the field. */
export const parseKubeletOptions = (value: unknown): KubeletOptions =>
  parseWith(optionsSchema, 'kubelet options', value)

/** A running kubelet. */
export interface Kubelet {
  readonly healthzPort: number
  readonly securePort: number
  stop(): Promise<void>
}

interface KubeletSeams {
  readonly clock: Clock
  readonly log: Logger
}

const CALM: readonly [type: string, reason: string, message: string][] = [
  ['MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
  ['DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
  ['PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
]

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: 'kubelet is posting ready status',
} as const

const wantedConditions = (): Condition[] => [
  ...CALM.map(([type, reason, message]) => ({ type, status: 'False' as const, reason, message })),
  ready,
]

const MIN_BACKOFF_MS = 200
const MAX_BACKOFF_MS = 7_000

/**
 * The part of a kubelet that the cluster sees: a Node that says Ready, a Lease that is renewed, a health port and
 * an authenticated port. It runs no pods.
 */
class SmallKubelet implements Kubelet {
  readonly #options: KubeletOptions
  readonly #seams: KubeletSeams
  readonly #api: ApiClient
  readonly #servers: readonly [healthz: OpenServer, secure: OpenServer]
  readonly #stopping = new AbortController()
  readonly #loops: Promise<unknown>
  readonly #lease: NodeLease
  #postedAt = -Infinity

  constructor(
    options: KubeletOptions,
    seams: KubeletSeams,
    api: ApiClient,
    servers: readonly [OpenServer, OpenServer],
  ) {
    this.#options = options
    this.#seams = seams
    this.#api = api
    this.#servers = servers
    this.#lease = new NodeLease(options, { ...seams, api, signal: this.#stopping.signal })
    this.#loops = this.#run()
  }

  get healthzPort(): number {
    return this.#servers[0].port
  }

  get securePort(): number {
    return this.#servers[1].port
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loops
    await Promise.all(this.#servers.map(server => server.close()))
    await this.#api.close()
  }

  async #run(): Promise<void> {
    await this.#register()
    await Promise.all([
      this.#every('lease', () => this.#lease.renew()),
      this.#every('status', () => this.#postIfNeeded()),
    ])
  }

  /** Try until it succeeds; the API may start after the nodes. */
  async #register(): Promise<void> {
    const { clock, log } = this.#seams
    for (let waitMs = MIN_BACKOFF_MS; ; waitMs = Math.min(MAX_BACKOFF_MS, waitMs * 2)) {
      try {
        await this.#makeNode()
        log.info('kubelet: registered', { node: this.#options.nodeName })
        return
      } catch (error) {
        if (this.#stopping.signal.aborted) return
        log.warn('kubelet: cannot register', { error: reasonOf(error), againInMs: waitMs })
      }
      if (!(await sleep(clock, waitMs, this.#stopping.signal))) return
    }
  }

  async #makeNode(): Promise<void> {
    const { nodeName, labels } = this.#options
    const metadata = { name: nodeName, labels: { 'kubernetes.io/hostname': nodeName, ...labels } }
    const body = { apiVersion: 'v1', kind: 'Node', metadata, spec: {} }
    try {
      await this.#api.post(NODES, body, this.#stopping.signal)
    } catch (error) {
      if (!(error instanceof KubeStatusError) || error.status !== 409) throw error
      const patch = { metadata: { labels: metadata.labels } }
      await this.#api.patch(`${NODES}/${nodeName}`, 'strategic-merge', patch, this.#stopping.signal)
    }
  }

  /** The first round runs at once, the others in fixed steps; failures are tried again in the next round. */
  async #every(what: string, round: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#seams
    const { signal } = this.#stopping
    let trouble = ''
    do {
      try {
        await round()
        if (trouble !== '') log.info(`kubelet: ${what} works again`)
        trouble = ''
      } catch (error) {
        const reason = reasonOf(error)
        if (trouble !== reason && !signal.aborted)
          log.warn(`kubelet: ${what} failed`, { error: reason })
        trouble = reason
      }
    } while (await sleep(clock, this.#options.renewMs, signal))
  }

  /** Compare with the API: the status may have been set to Unknown while the link was cut. */
  async #postIfNeeded(): Promise<void> {
    const { nodeName, address, statusMs } = this.#options
    const { clock } = this.#seams
    const { signal } = this.#stopping
    const node = (await this.#api.get(`${NODES}/${nodeName}`, signal)) as NodeObject
    const known = new Map(conditionsOf(node).map(condition => [condition.type, condition]))
    const isChanged = wantedConditions().some(
      ({ type, status }) => known.get(type)?.status !== status,
    )
    if (!isChanged && clock.now() - this.#postedAt < statusMs) return
    const now = apiTime(clock.wall())
    const status = {
      addresses: [
        { type: 'InternalIP', address },
        { type: 'Hostname', address: nodeName },
      ],
      capacity: { cpu: '2', memory: '1Gi', pods: '110' },
      allocatable: { cpu: '2', memory: '1Gi', pods: '110' },
      conditions: wantedConditions().map(condition => ({
        ...condition,
        lastHeartbeatTime: now,
        lastTransitionTime:
          known.get(condition.type)?.status === condition.status
            ? known.get(condition.type)?.lastTransitionTime
            : now,
      })),
    }
    await this.#api.patch(`${NODES}/${nodeName}/status`, 'strategic-merge', { status }, signal)
    this.#postedAt = clock.now()
  }
}

const reviewWith =
  (api: ApiClient, signal: AbortSignal) =>
  async (token: string): Promise<boolean> => {
    const answer = await api.post(
      '/apis/authentication.k8s.io/v1/tokenreviews',
      { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
      signal,
    )
    return (answer['status'] as Json | undefined)?.['authenticated'] === true
  }

/**
 * Start a kubelet; resolves when both ports are open. The Node is registered in the background.
 * @throws ListenError when a port cannot be had.
 */
export const startKubelet = async (
  options: KubeletOptions,
  seams: KubeletSeams,
): Promise<Kubelet> => {
  const api = makeApiClient(options, seams.clock, seams.log)
  const review = reviewWith(api, new AbortController().signal)
  const pair = await makeCertificate(options.nodeName, options.address)
  const healthz = await openHealthz(options.healthz, { isSick: false })
  try {
    const secure = await openKubeletPort(options.secure, pair, review, seams.clock)
    return new SmallKubelet(options, seams, api, [healthz, secure])
  } catch (error) {
    await healthz.close()
    throw error
  }
}
