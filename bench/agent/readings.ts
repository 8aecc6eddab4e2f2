// SPDX-License-Identifier: Apache-2.0
// What is counted of a run, and what of it is told.
import type { Entry } from '../../testkit/meter/ledger.js'
import type { Meter } from '../../testkit/meter/meter.js'
import { between } from '../../testkit/meter/traffic.js'
import type { AgentProcess } from './agent-process.js'
import { coreMs, cpuMs, waitedMs, wakeups } from './proc.js'
import type { WorldProcess } from './world-process.js'
import type { WorldCount } from './world/world.js'

/** With HTTP and TLS, without TCP and IP. */
export interface Traffic {
  readonly messagesPerSecond: number
  readonly sentBytesPerSecond: number
  readonly receivedBytesPerSecond: number
  readonly connectionsPerMinute: number
}

/** Everything that is counted at one instant. */
export interface Reading {
  readonly at: number
  readonly cpu: number
  readonly waited: number
  readonly wakeups: number
  readonly worldCpu: number
  readonly core: { readonly busy: number; readonly nice: number }
  readonly world: WorldCount
  readonly link: readonly Entry[] | undefined
}

/** What takes part in a run. */
export interface Bed {
  readonly agent: AgentProcess
  readonly world: WorldProcess
  readonly meter: Meter | undefined
}

export const readAll = async ({ agent, world, meter }: Bed, core: number): Promise<Reading> => {
  const counts = await world.call('count')
  return {
    at: performance.now(),
    cpu: cpuMs(agent.pid),
    waited: waitedMs(agent.pid),
    wakeups: wakeups(agent.pid),
    worldCpu: cpuMs(world.pid),
    core: coreMs(core),
    world: counts,
    link: meter?.entries,
  }
}

const traffic = (
  messages: number,
  from: WorldCount['exchangeWire'],
  to: WorldCount['exchangeWire'],
  seconds: number,
): Traffic => ({
  messagesPerSecond: messages / seconds,
  sentBytesPerSecond: (to.sentByAgent - from.sentByAgent) / seconds,
  receivedBytesPerSecond: (to.sentToAgent - from.sentToAgent) / seconds,
  connectionsPerMinute: ((to.connections - from.connections) * 60) / seconds,
})

/** Per second of the time in between. */
export const rates = (from: Reading, to: Reading) => {
  const ms = to.at - from.at
  const seconds = ms / 1_000
  const { exchange: before } = from.world
  const { exchange: after } = to.world
  const messages = after.fromAgent + after.toAgent - before.fromAgent - before.toAgent
  const cpu = to.cpu - from.cpu
  const probes = to.world.probes.probes - from.world.probes.probes
  return {
    seconds,
    cpuMsPerSecond: cpu / seconds,
    waitedMsPerSecond: (to.waited - from.waited) / seconds,
    wakeupsPerSecond: (to.wakeups - from.wakeups) / seconds,
    bodyBytesPerSecond: (after.bodyBytes - before.bodyBytes) / seconds,
    exchange: traffic(messages, from.world.exchangeWire, to.world.exchangeWire, seconds),
    link:
      to.link === undefined ? undefined : { seconds, entries: between(from.link ?? [], to.link) },
    probe: traffic(probes, from.world.probeWire, to.world.probeWire, seconds),
    probesPerSecond: probes / seconds,
    longestGapMs: to.world.probes.longestGapMs,
    missedRounds: to.world.probes.missed,
    worldCpu: (to.worldCpu - from.worldCpu) / ms,
    othersCpu: Math.max(0, (to.core.busy - from.core.busy - cpu) / ms),
    niceCpu: (to.core.nice - from.core.nice) / ms,
  }
}
