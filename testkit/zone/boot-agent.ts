// SPDX-License-Identifier: Apache-2.0
import { makeAgent, type Agent } from '../../agent/agent.js'
import { PeerListener } from '../../agent/http/peer-listener.js'
import type { AgentOptions } from '../../agent/options/agent-options.js'
import { resolveAgentOptions } from '../../agent/options/resolve.js'
import type { Scheduler } from '../../agent/ports/scheduler.js'
import type { Answer, Route } from '../../agent/ports/transport.js'
import type { PeerListenerStatus } from '../../agent/results.js'
import { aborted, sleep, type Clock } from '../../core/clock.js'
import { isLoopback } from '../../core/loopback.js'
import type { Random } from '../../core/random.js'
import type { Listener } from '../../net/listen.js'
import { ProcessClock } from '../process-clock.js'
import { probesOf, type Ground } from './kubelet.js'
import { BRIDGE, type Machine } from './machine.js'
import { memoryFolder } from './memory-folder.js'

/** Rounds on the monotonic clock, as the cron scheduler makes them while nobody sets the wall clock. */
const clockScheduler = (clock: Clock): Scheduler => ({
  every: (_, periodMs, signal, round) => {
    const loop = async (): Promise<void> => {
      while (await sleep(clock, periodMs, signal)) await round()
    }
    void loop()
  },
})

/** Whether the brake of an agent holds: asked anew only after something that it shows has changed. */
const brakeOf = (agent: Agent): (() => boolean) => {
  let known: boolean | undefined
  agent.views.subscribe(() => (known = undefined))
  return () => (known ??= agent.views.zone().brake.isOn)
}

/** Options of an agent; of flags that are given several times the last one counts. */
export const optionsOf = (flags: readonly string[]): AgentOptions => {
  const pairs = flags.map((flag): [string, string] => {
    const at = flag.indexOf('=')
    return [flag.slice(2, at), flag.slice(at + 1)]
  })
  const byName: Record<string, string> = {}
  for (const [name, value] of pairs) byName[name] = value
  return resolveAgentOptions({
    flags: Object.entries(byName).map(([name, text]) => ({ name, text })),
    env: {},
  }).options
}

/** Start the machine's agent; it takes what its disk remembers. */
export const bootAgent = (
  machine: Machine,
  options: AgentOptions,
  ground: Ground & { readonly random: Random },
): void => {
  const { address, log, disk, diskTroubles } = machine
  const { network, cluster, random } = ground
  const clock = new ProcessClock(ground.clock, machine.wall)
  const agent = makeAgent(options, {
    ...{ clock, random, log, version: 'test', setVerbosity: () => undefined },
    scheduler: clockScheduler(clock),
    kube: cluster.api(machine.name, { clock }),
    transport: network.transport(address),
    folder: memoryFolder(disk, diskTroubles),
    probes: {
      dial: network.dial(address, () => !machine.isBlind),
      http: probesOf(machine, ground),
      isOwnAddress: given => given === BRIDGE || isLoopback(given),
      readFile: async path => {
        const text = machine.files.get(path)
        if (text === undefined) throw new Error('no such file')
        return text
      },
    },
  })
  machine.agent = agent
  machine.isBraked = brakeOf(agent)
  machine.process = clock
  const receive = (route: Route, body: Uint8Array, from: string): Answer => {
    const answer = agent.inbox.receive(route, body, from)
    return { status: answer.status, body: Buffer.from(answer.body) }
  }
  const open = async (at: string, signal: AbortSignal): Promise<Listener> => {
    // What is no address of this machine is waited for, as bind() would.
    if (at !== machine.address) await aborted(signal)
    else machine.unlisten = network.listen(at, receive)
    const status = { evicted: 0, delayed: 0, waiting: 0 }
    return { address: at, port: 0, status, renew: () => undefined, close: async () => undefined }
  }
  const onStatus = (status: PeerListenerStatus): void => agent.setPeerListener(status)
  const peers = new PeerListener({ clock, log, open, onStatus })
  agent.home.subscribe(() => peers.follow(agent.home.address ?? ''))
  void peers.start(address)
  void agent.start()
}
