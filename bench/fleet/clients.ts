// SPDX-License-Identifier: Apache-2.0
// Many clients of the production code in one process: what an agent asks the apiserver to know its zone and its cloud link,
// and what a wrapper follows.
import { makeCronScheduler } from '../../agent/adapters/cron-scheduler.js'
import { makeKubeApi } from '../../agent/adapters/kube-api.js'
import { ApiBackoff } from '../../agent/api-backoff.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import { makeCloudCheck } from '../../agent/stages/check/cloud-check.js'
import { watchCloudLink } from '../../agent/stages/check/cloud-link.js'
import { makeIdentityStage } from '../../agent/stages/identity/stage.js'
import { makeNodeListStage } from '../../agent/stages/node-list/stage.js'
import type { StateName } from '../../agent/state-folder.js'
import { makeResultStore } from '../../agent/store.js'
import { systemClock as clock } from '../../core/clock.js'
import { type Fields, type Logger, silentLog } from '../../core/log.js'
import { systemRandom as random } from '../../core/random.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { memoryFolder } from '../../testkit/zone/memory-folder.js'
import { makeWrapperServer } from '../../wrapper/server.js'
import type { Counts } from './counts.js'
import type { ClientPlan } from './plan.js'

/** What such a process is told to do. */
export interface ClientsOrder {
  readonly server: string
  readonly ca: string
  readonly clients: readonly ClientPlan[]
  /** They begin one after the other within this time. */
  readonly spreadMs: number
}

/** What it says of its clients. */
export interface ClientsState {
  /** How many know all that they follow. */
  readonly ready: number
  /** How often a watch of theirs could not be resumed, so that a list had to be, by the reason. */
  readonly relists: Counts
}

interface Client {
  readonly isReady: boolean
  stop(): Promise<unknown>
}

const relists: Record<string, number> = {}

/** Hears one thing: why a list is needed again. */
const log: Logger = {
  ...silentLog,
  debug: (message: string, fields?: Fields): void => {
    if (message !== 'a full list is needed') return
    const why = String(fields?.['why'])
    relists[why] = (relists[why] ?? 0) + 1
  },
}

const startAgent = async (order: ClientsOrder, plan: ClientPlan): Promise<Client> => {
  const credentials = fixedCredentials({ ...order, token: plan.token })
  const { options } = resolveAgentOptions({
    flags: [{ name: 'node-name', text: plan.node }],
    env: {},
  })
  const kube = makeKubeApi(credentials, { clock, random, log })
  const store = makeResultStore(clock.now())
  const apiBackoff = new ApiBackoff({ clock, random })
  const folder = memoryFolder(new Map(Object.entries(plan.disk) as [StateName, string][]))
  const seams = { kube, store, clock, random, apiBackoff, log, folder }
  const nodeList = makeNodeListStage(options, seams)
  const identity = makeIdentityStage(options, seams)
  const stopping = new AbortController()
  await nodeList.start()
  await identity.start()
  const ping = makeCloudCheck(options, kube, clock)
  const onChange = (): void => apiBackoff.linkChanged()
  const link = watchCloudLink(options, { clock, random, log, ping, onChange })
  const scheduler = makeCronScheduler(clock, random)
  const { nodeListPeriodMs } = options
  scheduler.every('get-node-list', nodeListPeriodMs, stopping.signal, () => nodeList.round())
  return {
    get isReady() {
      const { source } = store.nodeList.current
      return source === 'api' && link.current.state === 'up'
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([nodeList.stop(), identity.stop(), link.stop()])
      await kube.close()
    },
  }
}

const startWrapper = (order: ClientsOrder, plan: ClientPlan): Client => {
  const wrapper = makeWrapperServer(
    { store: { self: plan.node, keysMode: 'any', inCluster: true } },
    {
      ...{ clock, random, log },
      credentials: fixedCredentials({ ...order, token: plan.token }),
      health: { isFresh: false, of: () => 'unknown' },
      passThrough: (_, response) => void response.end(),
    },
  )
  wrapper.start()
  return {
    get isReady() {
      const all = Object.values(wrapper.upstream)
      return all.every(({ state, lists }) => state === 'watching' && lists > 0)
    },
    stop: () => wrapper.stop(),
  }
}

/** First argument of a bench that shall be such a process instead. */
export const AS_CLIENTS = '--as-clients'

/** Be such a process: the first message says whom to play, each later one is answered with their state. */
export const runClients = (): void => {
  const clients: Client[] = []
  const start = async (order: ClientsOrder): Promise<void> => {
    const apartMs = order.spreadMs / Math.max(1, order.clients.length)
    for (const plan of order.clients) {
      clients.push(
        plan.kind === 'agent' ? await startAgent(order, plan) : startWrapper(order, plan),
      )
      await new Promise(resolve => setTimeout(resolve, apartMs))
    }
  }
  process.once('message', (order: ClientsOrder) => {
    process.on('message', () => {
      const state: ClientsState = {
        ready: clients.filter(({ isReady }) => isReady).length,
        relists,
      }
      process.send?.(state)
    })
    void start(order)
  })
  process.on('disconnect', () => process.exit())
}
