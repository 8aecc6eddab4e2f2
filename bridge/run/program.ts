// SPDX-License-Identifier: Apache-2.0
import { hostname } from 'node:os'
import { Failure } from '../../core/failure.js'
import type { Program, ProgramSeams } from '../../core/program.js'
import type { NodeName } from '../../core/ids.js'
import { LeaderElection, type LeaderStatus } from '../../controller/leader-election.js'
import { runController } from '../../controller/program.js'
import { makeCredentials, type Credentials } from '../../kube/client/credentials.js'
import { makeResourceClient, makeTokenClients } from '../../kube/client/http-resource-client.js'
import type { ResourceClient, TokenClients } from '../../kube/client/resource-client.js'
import type { Listener } from '../../net/listen.js'
import { listenForOperators } from '../../net/operator-listener.js'
import { openEnrolment } from '../enroll/listener.js'
import { holdsAuthority } from '../enroll/secrets.js'
import type { NodeChecks } from '../hub/checked-sends.js'
import { openHub, type OpenHub } from '../hub/hub.js'
import { AGENT, agentPodOf } from '../model/application/agent-right.js'
import { LocationCache } from '../model/location/location-cache.js'
import type { BridgeOptions } from '../options/bridge-options.js'
import { AgentTokens } from './agents/agent-api.js'
import { WatchDesk } from './agents/watch-desk.js'
import {
  keepServerPair,
  keepToken,
  loadCertificates,
  type Certificates,
  type CertificateSeams,
} from './certificates.js'
import { makeDownstream } from './downstream/downstream.js'
import { isForeignNode } from './foreign-node.js'
import { NodeQuestions } from './node-questions.js'
import { bridgeViews } from './operator-views.js'
import type { Downstream } from './ports.js'
import { RecordDisk } from './recorder/record-disk.js'
import { Sink } from './sink.js'
import { bridgeStatus, explainNode, type ShownParts } from './status.js'
import { Terms } from './term.js'
import { UpstreamCounters } from './upstream/counters.js'
import { Executor } from './upstream/executor.js'
import { Upstream } from './upstream/upstream.js'

const MANAGER = 'edge-health-bridge'
const STOP_MS = 4_000
/** For edges' requests, Leases, watches and the bridge's own requests. */
const CONNECTIONS = 128

class BridgeProgram implements Program {
  readonly #options: BridgeOptions
  readonly #seams: ProgramSeams
  readonly #credentials: Credentials
  readonly #client: ResourceClient
  readonly #bearers: TokenClients
  readonly #watches: WatchDesk
  readonly #election: LeaderElection
  readonly #downstream: Downstream
  readonly #upstream: Upstream
  readonly #sink: Sink
  readonly #questions: NodeQuestions
  readonly #counters = new UpstreamCounters()
  readonly #stopper = new AbortController()
  readonly #failure: Failure
  readonly #startedAt: number
  readonly #listeners: Listener[] = []
  #hub: OpenHub | undefined
  #enrolment: Listener | undefined
  #terms: Terms | undefined
  #starting: Promise<void> | undefined
  #running: Promise<unknown> | undefined

  constructor(options: BridgeOptions, seams: ProgramSeams) {
    const { clock, random, log, environment } = seams
    const { kubeconfig, masterUrl, leaseNamespace: namespace, leaseName: name } = options
    this.#options = options
    this.#seams = seams
    this.#startedAt = clock.now()
    this.#failure = new Failure(log)
    this.#credentials = makeCredentials({ kubeconfig, masterUrl, environment }, { clock, log })
    const world = { clock, random, log }
    const client = makeResourceClient(
      { ...world, credentials: this.#credentials },
      { fieldManager: MANAGER, connections: CONNECTIONS },
    )
    this.#client = client
    const identity = options.identity ?? hostname()
    this.#election = new LeaderElection({ ...world, client }, { namespace, name, identity })
    const { guard } = this.#election
    const locations = new LocationCache()
    const { signal } = this.#stopper
    const downstream = makeDownstream(
      {
        ...{
          namespace,
          vouch: options.vouch,
          disk: new RecordDisk(options.stateDir, { clock, log }),
        },
        adoptsObjectSyncs: options.adoptObjectSyncs,
        writesObjectSyncs: options.writeObjectSyncs,
      },
      { ...world, client, guard, locations },
    )
    this.#downstream = downstream
    this.#bearers = makeTokenClients(
      { ...world, credentials: this.#credentials },
      { fieldManager: AGENT, connections: CONNECTIONS },
    )
    const agents = new AgentTokens(namespace, { client, clock, guard, bearers: this.#bearers })
    const mayWatch = (node: NodeName): boolean =>
      agentPodOf(locations, { node, namespace }) !== undefined
    const watches = new WatchDesk({ client, clock, log, mayWatch })
    this.#watches = watches
    this.#questions = new NodeQuestions({
      ...{ clock, signal },
      ask: node => isForeignNode(client, { name: node, uid: downstream.servedUid(node) }, signal),
    })
    const executor = new Executor(
      {
        ...{ client, clock, locations, downstream, agents, watches, guard, signal },
        ...this.#checks,
      },
      { patienceMs: options.answerWithinMs },
    )
    this.#upstream = new Upstream({ clock, log, executor, counters: this.#counters })
    this.#sink = new Sink(this.#upstream, downstream, watches)
  }

  /**
   * Resolves when the certificates have been read from the apiserver, or created in it.
   * @throws ListenError, CredentialsError, InvalidInputError when the authority's Secret cannot be used
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
    await this.#running
    await Promise.all([this.#hub?.close(), ...this.#listeners.map(listener => listener.close())])
    await this.#watches.stop()
    await Promise.all([this.#client.close(), this.#bearers.close()])
  }

  get #shown(): ShownParts {
    return {
      ...{ clock: this.#seams.clock, version: this.#seams.version, startedAt: this.#startedAt },
      ...{ election: this.#election, terms: this.#terms },
      ...{ hub: this.#hub, enrolment: this.#enrolment, downstream: this.#downstream },
      ...{ upstream: this.#upstream, counters: this.#counters, watches: this.#watches },
    }
  }

  get #checks(): NodeChecks {
    return {
      isEdge: node => this.#downstream.hasNode(node),
      isForeign: async node => !this.#downstream.hasNode(node) && (await this.#questions.ask(node)),
    }
  }

  get #certificateSeams(): CertificateSeams {
    const { clock, random, log } = this.#seams
    return { client: this.#client, clock, random, log }
  }

  async #start(): Promise<void> {
    const { clock, random, log } = this.#seams
    const { signal } = this.#stopper
    // A wrong path fails at once; an unreachable API is waited for.
    await this.#credentials.check()
    const views = bridgeViews(() => bridgeStatus(this.#shown), {
      metrics: () => this.#downstream.metrics,
      explain: node => explainNode(node, this.#shown),
    })
    const seams = { clock, random, log, signal }
    this.#listeners.push(await listenForOperators(this.#options.statusAddress, views, seams))
    const addresses = this.#options.advertiseAddresses
    const certificates = await loadCertificates(addresses, this.#certificateSeams, signal)
    if (certificates === undefined) return
    const { hub, enrolment } = await this.#listen(certificates)
    const renew = keepServerPair(
      certificates,
      {
        addresses,
        renew: pair => {
          const tls = { ca: certificates.signer.ca, ...pair }
          hub.renew(tls)
          enrolment.renew({ ...tls, areClientsUnknown: true })
        },
      },
      this.#certificateSeams,
      signal,
    )
    const work = Promise.all([renew, this.#run(hub, certificates)])
    this.#running = this.#failure.watch('the bridge', work)
  }

  async #listen(
    certificates: Certificates,
  ): Promise<{ readonly hub: OpenHub; readonly enrolment: Listener }> {
    const { clock, random, log } = this.#seams
    const { listenAddress: at, enrolAddress } = this.#options
    const { authority, signer, server } = certificates
    const { signal } = this.#stopper
    const hasNode = (node: NodeName): boolean => this.#downstream.hasNode(node)
    const seams = { clock, random, log, signal, ...this.#checks }
    const hub = await openHub(
      { address: at.host, port: at.port, tls: { ca: signer.ca, ...server } },
      { ...seams, sink: this.#sink },
    )
    this.#hub = hub
    const enrolment = await openEnrolment(
      { address: enrolAddress.host, port: enrolAddress.port, server },
      {
        ...{ ...seams, authority, signer, hasNode },
        isCurrent: () => holdsAuthority(this.#client, authority, signal),
      },
    )
    this.#enrolment = enrolment
    this.#listeners.push(enrolment)
    return { hub, enrolment }
  }

  #run(hub: OpenHub, certificates: Certificates): Promise<void> {
    const { clock, log } = this.#seams
    const { signal } = this.#stopper
    const leader = (): LeaderStatus => this.#election.status
    const terms = new Terms({ clock, log, hub, leader, sink: this.#sink, signal })
    this.#terms = terms
    return runController(
      {
        informers: this.#downstream.informers,
        election: this.#election,
        lead: term => this.#lead(terms, certificates, term),
        close: () => Promise.resolve(),
      },
      { clock, log },
      signal,
      { stopMs: STOP_MS },
    )
  }

  /** Lead for one term: accept edges. */
  async #lead(terms: Terms, certificates: Certificates, term: AbortSignal): Promise<void> {
    const stop = (): void => terms.end()
    term.addEventListener('abort', stop, { once: true })
    const downstream = this.#downstream.lead(term)
    // Downstream accepts connections now; some may have lasted from the term before.
    terms.begin()
    if (term.aborted) stop()
    try {
      await Promise.all([downstream, keepToken(certificates, this.#certificateSeams, term)])
    } finally {
      stop()
      term.removeEventListener('abort', stop)
    }
  }
}

/** The bridge with the real API and network. Nothing runs before `start`. */
export const makeProgram = (options: BridgeOptions, seams: ProgramSeams): Program =>
  new BridgeProgram(options, seams)
