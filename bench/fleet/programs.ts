// SPDX-License-Identifier: Apache-2.0
// Those who ask: ours in a few processes, and client-go's in one.
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { buildGoProgram } from '../../testkit/go-program.js'
import { buildMeter } from '../../testkit/meter/meter.js'
import { cpuMs } from '../agent/proc.js'
import { combined, type Counts } from './counts.js'
import { AS_CLIENTS, type ClientsOrder, type ClientsState } from './clients.js'
import { type ClientPlan, followedBy } from './plan.js'

/** Where they ask, and as whom. */
export interface FleetOrder {
  readonly server: string
  readonly ca: string
  readonly clients: readonly ClientPlan[]
  readonly spreadMs: number
}

/** Many clients that run. */
export interface Fleet {
  /** Resolves when all know what they follow. */
  ready(): Promise<void>
  /** How often a watch could not be resumed until now, by the reason; undefined where nobody counts that. */
  relists(): Promise<Counts | undefined>
  /** CPU of all their processes until now. */
  readonly cpuMs: number
  stop(): Promise<void>
}

const PROCESSES = 4
const LOOK_MS = 500

const wait = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** Our own clients, in processes of some hundreds each. */
export const startOurs = (order: FleetOrder): Fleet => {
  let isWanted = true
  const children = Array.from({ length: PROCESSES }, (_, index) => {
    const child = fork(fileURLToPath(import.meta.url), [AS_CLIENTS])
    const clients = order.clients.filter((_, i) => i % PROCESSES === index)
    const message: ClientsOrder = { ...order, clients }
    child.send(message)
    child.once('exit', (code, signal) => {
      if (isWanted) throw new Error(`a process of clients ended by itself: ${signal ?? code}`)
    })
    return child
  })
  const state = async (): Promise<ClientsState> => {
    const all = await Promise.all(
      children.map(async child => {
        const answer = once(child, 'message')
        child.send('state')
        const [one] = (await answer) as [ClientsState]
        return one
      }),
    )
    return all.reduce((a, b) => ({
      ready: a.ready + b.ready,
      relists: combined(a.relists, b.relists, (one, other) => one + other),
    }))
  }
  return {
    ready: async () => {
      while ((await state()).ready < order.clients.length) await wait(LOOK_MS)
    },
    relists: async () => (await state()).relists,
    get cpuMs() {
      return children.reduce((sum, { pid }) => sum + cpuMs(pid!), 0)
    },
    stop: async () => {
      isWanted = false
      await Promise.all(children.map(end))
    },
  }
}

const buildClientGo = (): string => buildGoProgram('testkit/informer', process.env)

/** What is built before the network is left behind. @throws MissingError where it cannot be had */
export const prepareFleets = (): void => {
  buildMeter(process.env)
  buildClientGo()
}

/** As many programs with client-go, each with a connection and a token of its own. */
export const startClientGo = (order: FleetOrder): Fleet => {
  const { server, ca, clients, spreadMs } = order
  const child = spawn(buildClientGo(), ['-fleet'], { stdio: ['pipe', 'pipe', 'ignore'] })
  const members = clients.map(plan => ({ token: plan.token, follows: followedBy(plan) }))
  child.stdin.write(`${JSON.stringify({ server, ca, spreadS: spreadMs / 1_000, members })}\n`)
  const lines = createInterface({ input: child.stdout })
  const synced = once(lines, 'line')
  return {
    ready: async () => {
      await synced
    },
    relists: () => Promise.resolve(undefined),
    get cpuMs() {
      return cpuMs(child.pid!)
    },
    stop: () => end(child),
  }
}
