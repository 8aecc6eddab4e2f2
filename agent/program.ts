// SPDX-License-Identifier: Apache-2.0
import { readFile } from 'node:fs/promises'
import { isLoopback } from '../core/loopback.js'
import type { Program, ProgramSeams } from '../core/program.js'
import { makeKubeApi } from './adapters/kube-api.js'
import { makeCredentials } from '../kube/client/credentials.js'
import { listen, type Listener, type ServerTls } from '../net/listen.js'
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

/** The agent as a program: with its listeners, on the real network, against the real API. Nothing runs before `start`. */
export const makeProgram = (options: AgentOptions, seams: AgentProgramSeams): Program => {
  const { clock, random, log } = seams
  const stopping = new AbortController()
  const { signal } = stopping
  const http = makeHttpGet(clock)
  const loopLag = makeLoopLag(clock)
  const { kubeconfig, masterUrl } = options
  const { environment } = seams
  const credentials = makeCredentials({ kubeconfig, masterUrl, environment }, { clock, log })
  const agent: Agent = makeAgent(options, {
    ...{ clock, random, log, loopLag, version: seams.version, setVerbosity: seams.setVerbosity },
    scheduler: makeCronScheduler(clock, random),
    kube: makeKubeApi(credentials, { clock, random, log }),
    transport: makeHttpTransport(),
    folder: openStateFolder(options.stateDir, log),
    probes: {
      ...{ dial: netDial, http, readFile: path => readFile(path, 'utf8') },
      isOwnAddress: makeOwnAddresses(clock),
    },
  })
  const { views, inbox, home } = agent

  let local: Listener | undefined
  const openLocal = async (): Promise<void> => {
    const {
      localAddress: address,
      localPort: port,
      localinfoTime,
      metricsNodes,
      namespace,
    } = options
    const sources = byUser(trustedUsers(), { clock })
    const app = makeLocalApp({ views, localinfoTime, metricsNodes, sources, namespace, clock, log })
    local = await listen(
      { address, port, ...app, limits: LOCAL_LIMITS, sources },
      { clock, random, log, signal, onEvicted: () => agent.connectionEvicted('local') },
    )
  }
  const peerApp = makePeerApp({ inbox, clock, log })
  const peers = new PeerListener({
    clock,
    log,
    open: (address, signal) =>
      listen(
        {
          ...{ address, port: options.port, handle: peerApp, limits: PEER_LIMITS },
          sources: byAddress(given => inbox.isMember(given)),
        },
        { clock, random, log, signal, onEvicted: () => agent.connectionEvicted('peers') },
      ),
    onStatus: status => agent.setPeerListener(status),
  })
  const readTls = (): ServerTls | undefined => metricsTls(options)
  let metrics: Listener | undefined
  const openMetrics = async (tls: ServerTls | undefined): Promise<void> => {
    const { metricsAddress: at, metricsNodes } = options
    if (at === undefined) return
    const handle = makeMetricsApp({ views, metricsNodes, clock })
    metrics = await listen(
      {
        ...{ address: at.host, port: at.port, handle, tls, limits: METRICS_LIMITS },
        ...(isLoopback(at.host) ? { forbidden: forbidHost } : {}),
        sources: byAddress(() => false),
      },
      { clock, random, log, signal, onEvicted: () => agent.connectionEvicted('metrics') },
    )
    if (tls !== undefined) void keepRenewed(metrics, tls, { clock, log, signal, read: readTls })
  }
  let unfollow: (() => void) | undefined
  const openPeers = async (): Promise<void> => {
    const address = await addressOf(home, signal)
    if (signal.aborted) return
    unfollow = home.subscribe(() => peers.follow(home.address ?? ''))
    await peers.start(address)
  }
  let stopped: Promise<void> | undefined
  const stop = async (): Promise<void> => {
    stopping.abort()
    unfollow?.()
    await agent.stop()
    await Promise.all([local?.close(), metrics?.close(), peers.stop()])
    http.close()
  }
  return {
    start: async () => {
      try {
        // A wrong path is reported at once; a token that is late, or an API out of reach, is waited for.
        await credentials.check()
        const tls = readTls()
        await openLocal()
        await agent.start()
        // An address that does not exist yet is waited for, and holds up nobody else.
        await Promise.all([openPeers(), openMetrics(tls)])
      } catch (error) {
        if (!signal.aborted) throw error
      }
    },
    stop: () => (stopped ??= stop()),
  }
}
