// SPDX-License-Identifier: Apache-2.0
// Kubelets of machines: they renew their Leases, and answer probes.
import { aborted, sleep } from '../../core/clock.js'
import type { HttpGet } from '../../core/dial.js'
import type { FakeClock } from '../fake-clock.js'
import { ProcessClock } from '../process-clock.js'
import type { FakeCluster } from './fake-cluster.js'
import { BRIDGE, isWell, type Machine } from './machine.js'
import type { MemoryNetwork } from './memory-network.js'

export const LEASE_RENEWAL_MS = 10_000

/** What machines stand on. */
export interface Ground {
  readonly clock: FakeClock
  readonly cluster: FakeCluster
  readonly network: MemoryNetwork
  readonly machines: readonly Machine[]
}

/** An IPv4 address written as IPv6, as it stands in a URL. */
const mapped = (address: string): string => new URL(`http://[::ffff:${address}]`).hostname

/** Renews the Lease, and says that the node is ready when the control plane has given it up. One that starts does so at once. */
export const runKubelet = (
  machine: Machine,
  ground: Pick<Ground, 'clock' | 'cluster'>,
  firstMs: number,
): void => {
  const clock = new ProcessClock(ground.clock, machine.wall)
  // Ends by SIGKILL alone. Its own, or what the killed leave waiting would outlive the world.
  const never = new AbortController().signal
  const api = ground.cluster.api(machine.name, { clock, actor: `kubelet/${machine.name}` })
  const beat = async (): Promise<void> => {
    if (!isWell(machine.kubelet)) return
    const renewTime = new Date(clock.wall()).toISOString().replace('Z', '000Z')
    await api.patchLease(machine.name, { type: 'merge', body: { spec: { renewTime } } }, never)
    const { conditions } = await api.getNode(machine.name, never)
    if (conditions.find(({ type }) => type === 'Ready')?.status === 'True') return
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady' }
    const body = { status: { conditions: [ready] } }
    await api.patchNodeStatus(machine.name, { type: 'strategic-merge', body }, never)
  }
  const loop = async (): Promise<void> => {
    await sleep(clock, firstMs, never)
    do await beat().catch(() => undefined)
    while (await sleep(clock, LEASE_RENEWAL_MS, never))
  }
  machine.kubeletProcess = clock
  void loop()
}

/** What a kubelet answers: its own node on loopback, others with 401 as one without TokenReview does. */
const answerOf = (asker: Machine, url: URL, machines: readonly Machine[]): number | undefined => {
  if (url.hostname === '127.0.0.1' || url.hostname === BRIDGE) {
    return asker.kubelet === 'well' ? 200 : asker.kubelet === 'sick' ? 500 : undefined
  }
  const target =
    machines.find(({ address }) => address === url.hostname) ??
    machines.find(({ address }) => mapped(address) === url.hostname)
  if (asker.isBlind || target === undefined) return undefined
  if (target.kubelet === 'silent') return target.impostor
  return 401
}

/** Probes of this machine's agent. A round with no descriptor left fails on our side; the own kubelet's port needs one too. */
export const probesOf = (
  machine: Machine,
  { network, machines }: Pick<Ground, 'network' | 'machines'>,
): HttpGet => {
  const http = network.httpGet(machine.address, url => answerOf(machine, url, machines))
  const noDescriptor = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  return {
    get: async request => {
      if (machine.isUnable) throw noDescriptor
      const { hostname } = new URL(request.url)
      if (machine.kubelet === 'hanging' && hostname === '127.0.0.1') await aborted(request.signal)
      request.signal.throwIfAborted()
      return http.get(request)
    },
    close: () => http.close(),
  }
}
