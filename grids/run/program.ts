// SPDX-License-Identifier: Apache-2.0
import { hostname } from 'node:os'
import { Failure } from '../../core/failure.js'
import type { Program, ProgramSeams } from '../../core/program.js'
import { EventRecorder } from '../../controller/event-recorder.js'
import { LeaderElection } from '../../controller/leader-election.js'
import { runController } from '../../controller/program.js'
import { makeCredentials, type Credentials } from '../../kube/client/credentials.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { ResourceClient } from '../../kube/client/resource-client.js'
import type { Listener } from '../../net/listen.js'
import { listenForOperators } from '../../net/operator-listener.js'
import { MANAGER } from '../model/marks.js'
import type { GridsOptions } from '../options/grids-options.js'
import { GridsController } from './controller.js'
import { Counters } from './counters.js'
import { gridsViews } from './routes.js'
import type { GridsStatusView } from './status-view.js'

/** The controller of grids as a program. */
export interface GridsProgram extends Program {
  /**
   * Instead of `start`: wait for the Lease, reconcile every grid, and end.
   * @returns the keys of grids that failed; undefined when the signal aborted before all were reconciled
   */
  once(signal: AbortSignal): Promise<readonly string[] | undefined>
}

const STOP_MS = 4_000

class GridsControllerProgram implements GridsProgram {
  readonly #options: GridsOptions
  readonly #seams: ProgramSeams
  readonly #credentials: Credentials
  readonly #client: ResourceClient
  readonly #election: LeaderElection
  readonly #events: EventRecorder
  readonly #controller: GridsController
  readonly #counters = new Counters()
  readonly #stopper = new AbortController()
  readonly #failure: Failure
  readonly #startedAt: number
  #listener: Listener | undefined
  #starting: Promise<void> | undefined
  #running: Promise<void> | undefined

  constructor(options: GridsOptions, seams: ProgramSeams) {
    const { clock, random, log, environment } = seams
    const { kubeconfig, masterUrl } = options
    this.#options = options
    this.#seams = seams
    this.#startedAt = clock.now()
    this.#failure = new Failure(log)
    this.#credentials = makeCredentials({ kubeconfig, masterUrl, environment }, { clock, log })
    const world = { clock, random, log }
    this.#client = makeResourceClient(
      { ...world, credentials: this.#credentials },
      { fieldManager: MANAGER },
    )
    const client = this.#client
    const identity = options.identity ?? hostname()
    const { leaseNamespace: namespace, leaseName: name } = options
    this.#election = new LeaderElection({ ...world, client }, { namespace, name, identity })
    const { guard } = this.#election
    this.#events = new EventRecorder(
      { ...world, client },
      { reportingController: 'edge-health/grids', reportingInstance: identity, guard },
    )
    this.#controller = new GridsController(
      { graceMs: options.unitGraceMs, writesAtOnce: options.writesAtOnce },
      {
        ...{ ...world, client, events: this.#events, counters: this.#counters },
        guard: () => guard() ?? client.storeTrouble(),
      },
    )
  }

  /** @throws ListenError, CredentialsError */
  start(): Promise<void> {
    return (this.#starting ??= this.#start())
  }

  get failed(): Promise<never> {
    return this.#failure.promise
  }

  async stop(): Promise<void> {
    this.#stopper.abort(new Error('stopped'))
    await this.#starting?.catch(() => undefined)
    await Promise.all([this.#running, this.#listener?.close()])
    await this.#client.close()
  }

  async once(signal: AbortSignal): Promise<readonly string[] | undefined> {
    await this.#credentials.check()
    let failed: readonly string[] | undefined
    await this.#run(signal, async term => {
      failed = await this.#controller.once(term)
      // The Lease was lost before all were reconciled.
      if (term.aborted) failed = undefined
    })
    return failed
  }

  async #start(): Promise<void> {
    const { clock, random, log } = this.#seams
    const { signal } = this.#stopper
    // A wrong path fails at once; an unreachable API is waited for.
    await this.#credentials.check()
    const views = gridsViews(() => this.#view())
    const seams = { clock, random, log, signal }
    this.#listener = await listenForOperators(this.#options.statusAddress, views, seams)
    if (signal.aborted) return
    const work = this.#run(signal, term => this.#controller.lead(term))
    this.#running = this.#failure.watch('the controller', work)
  }

  #run(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void> {
    const { clock, log } = this.#seams
    return runController(
      {
        informers: this.#controller.tables.informers,
        ...{ election: this.#election, events: this.#events, lead },
        close: () => this.#client.close(),
      },
      { clock, log },
      signal,
      { stopMs: STOP_MS },
    )
  }

  #view(): GridsStatusView {
    const { version, clock } = this.#seams
    const { tables, queue, states } = this.#controller
    const { writes, drift, statuses, reconciles, durations } = this.#counters
    return {
      version,
      uptimeSeconds: Math.round((clock.now() - this.#startedAt) / 1_000),
      leader: this.#election.status,
      tables: Object.fromEntries(
        Object.entries(tables.informers).map(([name, { status }]) => [name, status]),
      ),
      queue,
      grids: {
        known: tables.grids().length,
        held: states.filter(({ isHeld }) => isHeld).length,
        invalid: states.filter(({ isInvalid }) => isInvalid).length,
        failedUnits: states.reduce((sum, { failed }) => sum + failed, 0),
      },
      counts: {
        ...{ writes: writes.all, drift: drift.all },
        ...{ statuses: statuses.all, reconciles: reconciles.all },
      },
      reconcileSeconds: durations.show(),
      events: this.#events.status,
    }
  }
}

/** The controller with the real API and network. Nothing runs before `start` or `once`. */
export const makeProgram = (options: GridsOptions, seams: ProgramSeams): GridsProgram =>
  new GridsControllerProgram(options, seams)
