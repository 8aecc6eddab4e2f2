// SPDX-License-Identifier: Apache-2.0
import { Failure } from '../../core/failure.js'
import type { Program, ProgramSeams } from '../../core/program.js'
import { makeCredentials, type Credentials } from '../../kube/client/credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import { listen, type Listener, type ListenLimits } from '../../net/listen.js'
import { listenForOperators } from '../../net/operator-listener.js'
import { byAddress } from '../../net/sources.js'
import { explainNode } from '../model/explain.js'
import { whyNotKept } from '../model/nodes.js'
import type { AdmissionOptions } from '../options/admission-options.js'
import { CertificateFiles } from './certificate-files.js'
import { CertificateKeeper } from './certificate-keeper.js'
import { CertificateSecret } from './certificate-secret.js'
import type { CertificateSource, Served } from './certificate-source.js'
import { serviceNames } from './certificates.js'
import { NodeTable } from './node-table.js'
import { admissionViews } from './operator-views.js'
import { ReviewCounters } from './review-counters.js'
import { reviewRoutes } from './review-routes.js'
import { Reviewer } from './reviewer.js'
import type { AdmissionStatusView } from './status-view.js'

/**
 * Apiservers close idle connections after 90 s. Ours are kept open for longer, so that we never close one just as a request
 * uses it. The same holds for connections that have had no request yet: under load apiservers open more than they use.
 */
const IDLE_MS = 120_000
const REVIEW_LIMITS: ListenLimits = {
  ...{ total: 512, strangers: 512, perStranger: 256, perMember: 256 },
  ...{ keepAliveForStrangers: true, headerBytes: 16 << 10, headerMs: IDLE_MS },
  // A client that connects and sends nothing is disconnected sooner.
  handshakeMs: 5_000,
  ...{ bodyMs: 5_000, bodyRule: 'whole', idleMs: IDLE_MS, closeMs: 2_000 },
}

const MANAGER = 'edge-health-admission'
/** Nodes per page of a list: a large page is many objects at once, and their memory is given back late. */
const PAGE_SIZE = 50

class AdmissionProgram implements Program {
  readonly #options: AdmissionOptions
  readonly #seams: ProgramSeams
  readonly #credentials: Credentials
  readonly #client: ResourceClient
  readonly #table: NodeTable
  readonly #certificates: CertificateSource
  readonly #reviewer: Reviewer
  readonly #counters = new ReviewCounters()
  readonly #stopper = new AbortController()
  readonly #failure: Failure
  readonly #startedAt: number
  readonly #listeners: Listener[] = []
  readonly #firstServed: Promise<void>
  #served: Served | undefined
  #serve: (served: Served) => void = () => undefined
  #starting: Promise<void> | undefined
  #keeping: Promise<void> | undefined

  constructor(options: AdmissionOptions, seams: ProgramSeams) {
    const { clock, random, log, environment } = seams
    const { kubeconfig, masterUrl, mode, freshForMs, alwaysReachable, namespace } = options
    this.#options = options
    this.#seams = seams
    this.#startedAt = clock.now()
    this.#failure = new Failure(log)
    this.#credentials = makeCredentials({ kubeconfig, masterUrl, environment }, { clock, log })
    const client = makeResourceClient(
      { clock, random, log, credentials: this.#credentials },
      { fieldManager: MANAGER, watch: { pageSize: PAGE_SIZE } },
    )
    this.#client = client
    this.#table = new NodeTable({ client, clock, log })
    this.#certificates = this.#makeCertificates()
    this.#reviewer = new Reviewer(
      {
        rules: { mode, freshForMs, keepsMarked: alwaysReachable },
        untouched: new Set(['kube-system', namespace]),
      },
      { table: this.#table, clock, serverTime: () => client.serverTime() },
    )
    this.#firstServed = new Promise(resolve => {
      this.#serve = served => {
        this.#served = served
        resolve()
      }
    })
  }

  /**
   * Waits until there is a certificate, which the apiserver has to provide or store. @throws ListenError, CredentialsError
   */
  start(): Promise<void> {
    return (this.#starting ??= this.#start())
  }

  get failed(): Promise<never> {
    return this.#failure.promise
  }

  async stop(): Promise<void> {
    this.#stopper.abort(new Error('stopped'))
    await this.#starting?.catch(() => undefined)
    await Promise.all(this.#listeners.map(listener => listener.close()))
    await Promise.all([this.#table.informer.stop(), this.#keeping])
    await this.#client.close()
  }

  #makeCertificates(): CertificateSource {
    const { clock, random, log } = this.#seams
    const { certFile, keyFile, namespace, secretName, serviceName, registration } = this.#options
    const onServe = (served: Served): void => this.#serve(served)
    if (certFile !== undefined && keyFile !== undefined)
      return new CertificateFiles({ certFile, keyFile, onServe }, { clock, log })
    const client = this.#client
    const secret = new CertificateSecret(client, { namespace, name: secretName })
    return new CertificateKeeper(
      { registration, names: serviceNames(serviceName, namespace), onServe },
      { client, secret, clock, random, log },
    )
  }

  async #start(): Promise<void> {
    const { clock, random, log } = this.#seams
    const { signal } = this.#stopper
    const isStopped = (): boolean => signal.aborted
    // A wrong path fails at once; an unreachable API is waited for.
    await this.#credentials.check()
    const views = admissionViews(
      () => this.#view(),
      name => explainNode(name, this.#reviewer.knowledge),
    )
    const seams = { clock, random, log, signal }
    this.#listeners.push(await listenForOperators(this.#options.statusAddress, views, seams))
    if (isStopped()) return
    this.#table.informer.start()
    this.#keeping = this.#failure.watch('the certificates', this.#certificates.run(signal))
    await Promise.race([this.#firstServed, this.#keeping, this.failed])
    if (!isStopped()) await this.#listenForReviews()
  }

  async #listenForReviews(): Promise<void> {
    const { clock, random, log } = this.#seams
    const { host, port } = this.#options.listenAddress
    const sources = byAddress(() => false)
    const reviewer = this.#reviewer
    const handle = reviewRoutes({ reviewer, counters: this.#counters, sources, log, clock })
    const listener = await listen(
      { address: host, port, handle, limits: REVIEW_LIMITS, sources, tls: this.#served },
      { clock, random, log, signal: this.#stopper.signal },
    )
    this.#listeners.push(listener)
    this.#serve = served => listener.renew(served)
    // A newer certificate may have come while the listener was being opened.
    if (this.#served !== undefined) listener.renew(this.#served)
  }

  #view(): AdmissionStatusView {
    const { version, clock } = this.#seams
    const table = this.#table
    const { knowledge } = this.#reviewer
    const { reviews, refusals, durations } = this.#counters
    const { validUntil, ...certificate } = this.#certificates.status
    return {
      version,
      uptimeSeconds: Math.round((clock.now() - this.#startedAt) / 1_000),
      mode: this.#options.mode,
      nodes: {
        ...table.informer.status,
        isReady: table.isReady,
        kept: table.informer.keys().filter(name => whyNotKept(name, knowledge) === undefined),
      },
      certificate: {
        ...certificate,
        validUntil: validUntil === null ? null : new Date(validUntil).toISOString(),
      },
      counts: { reviews: reviews.all, refusals: refusals.all },
      reviewSeconds: durations.show(),
    }
  }
}

/** The webhook with the real API and network. Nothing runs before `start`. */
export const makeProgram = (options: AdmissionOptions, seams: ProgramSeams): Program =>
  new AdmissionProgram(options, seams)
