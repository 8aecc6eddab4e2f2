// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import type { Logger } from '../core/log.js'
import type { Random } from '../core/random.js'
import type { Credentials } from '../kube/client/credentials.js'
import type { Listener, ListenSeams, ServerTls } from '../net/listen.js'
import { byUser, trustedUsers } from '../net/socket-users.js'
import type { Sources } from '../net/sources.js'
import { keepRenewed } from '../net/tls-files.js'
import type { Folder } from './disk/folder.js'
import type { AskAgent } from './health/agent-client.js'
import { noHealth, type HealthFeed } from './health/feed.js'
import { makeHealthFeed } from './health/health-feed.js'
import { NodeDirectory } from './health/node-directory.js'
import { openForClients, openForStatus } from './listeners.js'
import { Persistence } from './persistence.js'
import type { WrapperOptions } from './options/wrapper-options.js'
import { OwnNode } from './own-node.js'
import { refuseOwnAddress } from './own-address.js'
import { Proxy } from './proxy/proxy.js'
import { makeWrapperServer, type WrapperServer } from './server.js'
import { keyOf } from './serve/target.js'
import { statusRoutes } from './status/routes.js'
import type { WrapperStatusView } from './status/status-view.js'
import { makeViews } from './status/views.js'
import { trusting } from './trusting.js'
import { RESOURCES, type Resource } from './store/resources.js'
import { makeVersions } from './store/versions.js'

/** What the wrapper needs of the world. */
export interface WrapperSeams {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly version: string
  readonly credentials: Credentials
  /** Why the kubeconfig as it is now is not used; undefined: it is. */
  readonly apiserverTrouble: () => string | undefined
  readonly folder: Folder
  readonly ask: AskAgent
  /** Reads the certificates of the clients' listener; undefined: plain HTTP. @throws InvalidInputError */
  readonly readTls: () => ServerTls | undefined
}

/** The wrapper of one node. */
export interface Wrapper {
  /** Resolves when both listeners are open. @throws ListenError, InvalidInputError, CredentialsError. */
  start(): Promise<void>
  /** May be called while starting, and twice. */
  stop(): Promise<void>
}

const HISTORY_BYTES = 8 << 20
/** Most nodes that the agent probes on our behalf. */
const MAX_INTEREST = 32

class NodeWrapper implements Wrapper {
  readonly #options: WrapperOptions
  readonly #seams: WrapperSeams
  readonly #stopping = new AbortController()
  readonly #directory = new NodeDirectory(() => this.#learnAddresses())
  readonly #health: HealthFeed
  readonly #persistence: Persistence
  readonly #ownNode: OwnNode
  readonly #proxy: Proxy
  readonly #sources: Sources
  readonly #listeners: Listener[] = []
  /** Connections that were closed to make room. */
  readonly #connectionsEvicted = { clients: 0, status: 0 }
  #server: WrapperServer | undefined
  /** When a table changed last that the apiserver had been heard before, `Clock.now`. */
  #heardAt = -Infinity
  #starting: Promise<void> | undefined
  #stopped: Promise<void> | undefined

  constructor(options: WrapperOptions, seams: WrapperSeams) {
    this.#options = options
    this.#seams = seams
    const { clock, random, log, ask, folder, credentials } = seams
    const { address, intervalMs, isOn } = options.autonomy
    this.#health = isOn
      ? makeHealthFeed(
          { address, intervalMs, limitMs: options.healthLimitMs },
          {
            ...{ clock, random, log, ask, addresses: this.#directory },
            interest: () => this.#interest(),
            onChange: names => this.#server?.store.setHealth(names),
          },
        )
      : noHealth
    this.#ownNode = new OwnNode(options.nodeName, log)
    this.#persistence = new Persistence(options, { folder, clock, log, directory: this.#directory })
    this.#sources = byUser(trustedUsers(), { clock, log })
    this.#proxy = new Proxy(
      { maxEvents: options.eventBuffer, maxBytes: options.eventBufferBytes },
      {
        ...{ clock, random, log },
        upstream: () => credentials.anonymous(),
        recordOf: target => this.#server?.store.table(target.row.resource).get(keyOf(target)),
        isCut: () => this.#isCut(),
        sources: this.#sources,
      },
    )
  }

  start(): Promise<void> {
    return (this.#starting ??= this.#start())
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  async #start(): Promise<void> {
    const { clock, random, log, credentials } = this.#seams
    const tls = this.#seams.readTls()
    // A wrong path fails at once; an unreachable API is waited for.
    refuseOwnAddress(await credentials.check(), this.#options)
    const wall = clock.wall()
    const lastVersion = await this.#persistence.lists.claimVersions(
      last => makeVersions(wall, last).newest,
    )
    if (this.#stopping.signal.aborted) return
    const server = makeWrapperServer(
      {
        store: {
          self: this.#options.nodeName,
          keysMode: this.#options.topologyKeysMode,
          inCluster: this.#options.wrapperInCluster,
          history: { changes: this.#options.notifyChannelSize, bytes: HISTORY_BYTES },
        },
        lastVersion,
      },
      {
        ...{ credentials, clock, random, log, health: this.#health },
        passThrough: this.#proxy.handle,
        mayFollow: trusting(this.#sources, { clock, signal: this.#stopping.signal }),
        onFollow: resource => void this.#persistence.recall(resource, this.#stopping.signal),
        onNeighbours: () => this.#persistence.neighboursChanged(),
        onAddresses: nodes => this.#addressesLearnt(nodes),
      },
    )
    await this.#open(server, tls)
  }

  async #open(server: WrapperServer, tls: ServerTls | undefined): Promise<void> {
    const { clock, version, apiserverTrouble } = this.#seams
    this.#server = server
    for (const resource of RESOURCES)
      server.store.table(resource).subscribe(() => this.#changed(resource))
    const views = makeViews({
      ...{ clock, version, node: this.#options.nodeName, server, proxy: this.#proxy },
      ...{ health: this.#health, persistence: this.#persistence, startedAt: clock.now() },
      connectionsEvicted: this.#connectionsEvicted,
      apiserverTrouble,
    })
    await this.#persistence.open(server)
    await this.#listen(server, tls, views)
    if (this.#stopping.signal.aborted) return
    server.start()
    void this.#persistence.stopWaiting(this.#stopping.signal)
    this.#health.start()
    const { log, readTls: read } = this.#seams
    const [clients] = this.#listeners
    if (tls !== undefined && clients !== undefined)
      void keepRenewed(clients, tls, { clock, log, signal: this.#stopping.signal, read })
  }

  async #listen(
    server: WrapperServer,
    tls: ServerTls | undefined,
    views: ReturnType<typeof makeViews>,
  ): Promise<void> {
    const { clock, random, log } = this.#seams
    const { bindAddress, statusAddress } = this.#options
    const { upgrade } = this.#proxy
    const seamsOf = (listener: keyof WrapperStatusView['connectionsEvicted']): ListenSeams => ({
      ...{ clock, random, log, signal: this.#stopping.signal },
      onEvicted: () => this.#connectionsEvicted[listener]++,
    })
    try {
      const sources = this.#sources
      const clients = { handle: server.handle, upgrade, tls, sources }
      this.#listeners.push(await openForClients(bindAddress, clients, seamsOf('clients')))
      const status = { handle: statusRoutes(views, log), sources }
      this.#listeners.push(await openForStatus(statusAddress, status, seamsOf('status')))
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error
    }
  }

  async #stop(): Promise<void> {
    this.#stopping.abort(new Error('stopped'))
    await this.#starting?.catch(() => undefined)
    // End watches cleanly before their connections are closed.
    const followed = this.#server?.stop()
    await Promise.all([
      ...this.#listeners.map(listener => listener.close()),
      this.#health.stop(),
      this.#proxy.stop(),
      followed,
    ])
    await this.#persistence.lists.stop()
  }

  #changed(resource: Resource): void {
    const { store } = this.#server!
    if (resource !== 'nodes' || this.#ownNode.haveLabelsChanged(store.table('nodes')))
      this.#persistence.changed(resource)
    if (this.#wasHeard() && this.#persistence.isFromApi(resource) && !this.#isCut())
      this.#proxy.online()
  }

  /** Whether the apiserver was heard since this was asked last: tables also change when the agent reports. */
  #wasHeard(): boolean {
    const before = this.#heardAt
    const followed = Object.values(this.#server?.upstream ?? {})
    this.#heardAt = Math.max(before, ...followed.map(({ lastHeardAt }) => lastHeardAt))
    return this.#heardAt > before
  }

  /** The agent reports nodes by their addresses. */
  #learnAddresses(): void {
    if (!this.#stopping.signal.aborted) this.#server?.learnAddresses()
  }

  #addressesLearnt(nodes: ReadonlyMap<string, readonly string[]>): void {
    const changed = this.#directory.update(nodes)
    if (changed.length === 0) return
    this.#persistence.addressesChanged()
    this.#server!.store.setHealth(changed)
  }

  /** Nodes with endpoints, among those that the agent knows: the nodes of its zone. */
  #interest(): readonly string[] {
    const names: string[] = []
    for (const name of this.#server?.store.carriers ?? []) {
      const isOther = name !== this.#options.nodeName && this.#health.of(name) !== 'unknown'
      if (isOther && names.push(name) === MAX_INTEREST) break
    }
    return names
  }

  /** Whether no watch runs and nobody answered one of them. */
  #isCut(): boolean {
    const followed = Object.values(this.#server?.upstream ?? {})
    return (
      followed.some(({ isAway }) => isAway) && followed.every(({ state }) => state !== 'watching')
    )
  }
}

/** Build the wrapper of one node from options and seams; nothing runs before `start`. */
export const makeWrapper = (options: WrapperOptions, seams: WrapperSeams): Wrapper =>
  new NodeWrapper(options, seams)
