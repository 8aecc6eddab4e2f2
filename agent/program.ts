// SPDX-License-Identifier: Apache-2.0
import { readFile } from 'node:fs/promises'
import type { HttpGet } from '../core/dial.js'
import { isLoopback } from '../core/loopback.js'
import type { Program, ProgramSeams } from '../core/program.js'
import { makeKubeApi } from './adapters/kube-api.js'
import { makeCredentials, type Credentials } from '../kube/client/credentials.js'
import { listen, type Listener, type ListenSeams, type ServerTls } from '../net/listen.js'
import { keepRenewed, readCertificate } from '../net/tls-files.js'
import { byUser, trustedUsers } from '../net/socket-users.js'
import { byAddress } from '../net/sources.js'
import { makeCronScheduler } from './adapters/cron-scheduler.js'
import { makeHttpGet } from './adapters/http-get.js'
import { makeHttpTransport } from './adapters/http-transport.js'
import { makeLoopLag } from './adapters/loop-lag.js'
import { netDial } from './adapters/net-dial.js'
import { makeOwnAddresses } from './adapters/own-addresses.js'
import { makeAgent, type Agent } from './agent.js'
import type { Home } from './stages/node-list/stage.js'
import { LOCAL_LIMITS, METRICS_LIMITS, PEER_LIMITS } from './http/limits.js'
import { makeMetricsApp } from './http/metrics-app.js'
import { forbidHost } from './http/plain.js'
import { makeLocalApp } from './http/local-routes.js'
import { PeerListener } from './http/peer-listener.js'
import { makePeerApp } from './http/peer-routes.js'
import type { AgentOptions } from './options/agent-options.js'
import { openStateFolder } from './state-folder.js'

/** What the process gives the agent. */
interface AgentProgramSeams extends ProgramSeams {
  /** klog's verbosity, 0 to 10. */
  readonly setVerbosity: (verbosity: number) => void
}

/** The own node's address, once the zone is known; empty when aborted before. */
const addressOf = (home: Home, signal: AbortSignal): Promise<string> =>
  new Promise(resolve => {
    const look = (): void => {
      const { address = '' } = home
      if (address === '' && !signal.aborted) return
      end()
      resolve(address)
    }
    const end = home.subscribe(look)
    signal.addEventListener('abort', look, { once: true })
    look()
  })

/** @throws InvalidInputError that names option and file. */
const metricsTls = ({ metricsCertFile, metricsKeyFile }: AgentOptions): ServerTls | undefined =>
  metricsCertFile === undefined || metricsKeyFile === undefined
    ? undefined
    : readCertificate(
        { option: '--metrics-cert-file', path: metricsCertFile },
        { option: '--metrics-key-file', path: metricsKeyFile },
      )

/** The agent on the real network, against the real API. */
const makeRealAgent = (
  options: AgentOptions,
  { clock, random, log, version, setVerbosity }: AgentProgramSeams,
  { credentials, http }: { readonly credentials: Credentials; readonly http: HttpGet },
): Agent =>
  makeAgent(options, {
    ...{ clock, random, log, loopLag: makeLoopLag(clock), version, setVerbosity },
    scheduler: makeCronScheduler(clock, random),
    kube: makeKubeApi(credentials, { clock, random, log }),
    transport: makeHttpTransport(),
    folder: openStateFolder(options.stateDir, log),
    probes: {
      ...{ dial: netDial, http, readFile: path => readFile(path, 'utf8') },
      isOwnAddress: makeOwnAddresses(clock),
    },
  })

/** The agent's three listeners: for programs on this host, for peers, and, if configured, for metrics. */
class AgentListeners {
  readonly #options: AgentOptions
  readonly #seams: Omit<ListenSeams, 'onEvicted'>
  readonly #agent: Agent
  readonly #peers: PeerListener
  #local: Listener | undefined
  #metrics: Listener | undefined
  #unfollow: (() => void) | undefined

  constructor(options: AgentOptions, agent: Agent, seams: Omit<ListenSeams, 'onEvicted'>) {
    this.#options = options
    this.#agent = agent
    this.#seams = seams
    const { clock, log } = seams
    this.#peers = new PeerListener({
      ...{ clock, log },
      open: this.#makeOpenPeers(),
      onStatus: status => agent.setPeerListener(status),
    })
  }

  async openLocal(): Promise<void> {
    const { clock, log } = this.#seams
    const { localAddress, localPort, localinfoTime, metricsNodes, namespace } = this.#options
    const { views } = this.#agent
    const sources = byUser(trustedUsers(), { clock, log })
    const app = makeLocalApp({ views, localinfoTime, metricsNodes, sources, namespace, clock, log })
    this.#local = await listen(
      { address: localAddress, port: localPort, ...app, limits: LOCAL_LIMITS, sources },
      this.#seamsOf('local'),
    )
  }

  /** Listen at the own node's address, and follow it when it changes. */
  async openPeers(): Promise<void> {
    const { home } = this.#agent
    const { signal } = this.#seams
    const address = await addressOf(home, signal)
    if (signal.aborted) return
    this.#unfollow = home.subscribe(() => this.#peers.follow(home.address ?? ''))
    await this.#peers.start(address)
  }

  /** @param readTls reads `tls` again, since certificates are renewed */
  async openMetrics(
    tls: ServerTls | undefined,
    readTls: () => ServerTls | undefined,
  ): Promise<void> {
    const { clock, log, signal } = this.#seams
    const { metricsAddress: at, metricsNodes } = this.#options
    if (at === undefined) return
    const handle = makeMetricsApp({ views: this.#agent.views, metricsNodes, clock })
    this.#metrics = await listen(
      {
        ...{ address: at.host, port: at.port, handle, tls, limits: METRICS_LIMITS },
        ...(isLoopback(at.host) ? { forbidden: forbidHost } : {}),
        sources: byAddress(() => false),
      },
      this.#seamsOf('metrics'),
    )
    if (tls !== undefined)
      void keepRenewed(this.#metrics, tls, { clock, log, signal, read: readTls })
  }

  /** Stop following the own node's address. */
  unfollow(): void {
    this.#unfollow?.()
  }

  async close(): Promise<void> {
    await Promise.all([this.#local?.close(), this.#metrics?.close(), this.#peers.stop()])
  }

  #makeOpenPeers(): (address: string, signal: AbortSignal) => Promise<Listener> {
    const { clock, log } = this.#seams
    const { inbox } = this.#agent
    const handle = makePeerApp({ inbox, clock, log })
    return (address, signal) =>
      listen(
        {
          ...{ address, port: this.#options.port, handle, limits: PEER_LIMITS },
          sources: byAddress(given => inbox.isMember(given)),
        },
        { ...this.#seamsOf('peers'), signal },
      )
  }

  #seamsOf(name: Parameters<Agent['connectionEvicted']>[0]): ListenSeams {
    return { ...this.#seams, onEvicted: () => this.#agent.connectionEvicted(name) }
  }
}

/** The agent as a program: with its listeners, on the real network, against the real API. Nothing runs before `start`. */
export const makeProgram = (options: AgentOptions, seams: AgentProgramSeams): Program => {
  const { clock, random, log, environment } = seams
  const { kubeconfig, masterUrl } = options
  const stopping = new AbortController()
  const { signal } = stopping
  const http = makeHttpGet(clock)
  const credentials = makeCredentials({ kubeconfig, masterUrl, environment }, { clock, log })
  const agent = makeRealAgent(options, seams, { credentials, http })
  const listeners = new AgentListeners(options, agent, { clock, random, log, signal })
  const start = async (): Promise<void> => {
    // A wrong path is reported at once; a token that is late, or an API out of reach, is waited for.
    await credentials.check()
    const readTls = (): ServerTls | undefined => metricsTls(options)
    const tls = readTls()
    await listeners.openLocal()
    // A port that is taken is found before the agent asks for anything. An address that does not exist yet is waited for,
    // and holds up nobody else.
    await Promise.all([listeners.openPeers(), listeners.openMetrics(tls, readTls), agent.start()])
  }
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopping.abort()
    listeners.unfollow()
    await agent.stop()
    await listeners.close()
    http.close()
  }
  return {
    start: async () => {
      try {
        await start()
      } catch (error) {
        if (!signal.aborted) throw error
      }
    },
    stop: () => (stopped ??= stop()),
  }
}
