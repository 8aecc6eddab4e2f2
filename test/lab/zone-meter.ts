// SPDX-License-Identifier: Apache-2.0
// What each node of a zone sends and receives, as its interfaces see it: IP packets whole, both ways.
import { type Entry, Ledger, type Sides } from '../../testkit/meter/ledger.js'
import { Listener } from '../../testkit/meter/meter.js'
import type { Packet } from '../../testkit/meter/packet.js'
import { between } from '../../testkit/meter/traffic.js'
import { CLOUD_HUB, cloudAddress, KUBELETS_HUB, peerAddress } from './places.js'
import { command } from './shell.js'

const PEER_PORT = 51005
const KUBELET_PORT = 10250

/** What passed one node's interfaces in a time. */
export interface NodeTraffic {
  readonly node: string
  readonly seconds: number
  readonly entries: readonly Entry[]
}

/** A zone's readings so far, by node. */
export type ZoneReading = ReadonlyMap<string, readonly Entry[]>

/** A node is at two addresses. Whoever probes its kubelet is a peer that costs its link, too. */
const sidesOf = (index: number): Sides => {
  const own = new Set([peerAddress(index), cloudAddress(index)])
  return {
    isOurs: ({ address }) => own.has(address),
    endOf: (theirs, ours) => {
      if (theirs.address === CLOUD_HUB) return 'apiserver'
      if (theirs.address === KUBELETS_HUB) return 'apiserver (own kubelet)'
      const ports = [theirs.port, ours.port]
      if (ports.includes(PEER_PORT)) return 'peers'
      return ports.includes(KUBELET_PORT) ? 'kubelets' : 'others'
    },
  }
}

/** Counts every packet at the node that sends it and at the one that it is for. Nodes are numbered as in places.ts. */
export class ZoneLedger {
  readonly #byName: ReadonlyMap<string, Ledger>
  readonly #byAddress = new Map<string, Ledger>()

  constructor(names: readonly string[]) {
    const ledgers = names.map((name, index) => [name, new Ledger(sidesOf(index))] as const)
    this.#byName = new Map(ledgers)
    for (const [index, [, ledger]] of ledgers.entries())
      for (const address of [peerAddress(index), cloudAddress(index)])
        this.#byAddress.set(address, ledger)
  }

  take(packet: Packet): void {
    const { from, to } = packet
    for (const { address } of [from, to]) this.#byAddress.get(address)?.take(packet)
  }

  get reading(): ZoneReading {
    return new Map([...this.#byName].map(([name, ledger]) => [name, ledger.entries]))
  }

  get faults(): readonly string[] {
    return [...this.#byName].flatMap(([name, { faults }]) => faults.map(what => `${name}: ${what}`))
  }
}

/** What came between two readings. */
export const trafficBetween = (
  from: ZoneReading,
  to: ZoneReading,
  seconds: number,
): readonly NodeTraffic[] =>
  [...to].map(([node, entries]) => ({
    ...{ node, seconds },
    entries: between(from.get(node) ?? [], entries).filter(({ packets }) => packets > 0),
  }))

/** Listens on the bridges that join the nodes. */
export class ZoneMeter {
  readonly #ledger: ZoneLedger
  readonly #listeners: Listener[] = []

  private constructor(names: readonly string[]) {
    this.#ledger = new ZoneLedger(names)
  }

  /** @param program as `buildMeter` returns it */
  static async open(program: string, names: readonly string[]): Promise<ZoneMeter> {
    const meter = new ZoneMeter(names)
    // Else a bridge does not see what it passes from one node to another.
    await command('ip', ['link', 'set', 'dev', 'peers', 'promisc', 'on'])
    const take = (packet: Packet): void => meter.#ledger.take(packet)
    for (const hub of ['peers', 'cloud'])
      meter.#listeners.push(await Listener.open(program, hub, take))
    return meter
  }

  /** What was counted until a tenth of a second ago. */
  get reading(): ZoneReading {
    return this.#ledger.reading
  }

  /** @returns why the sums are not the whole truth; empty when they are. */
  async close(): Promise<readonly string[]> {
    const faults = await Promise.all(this.#listeners.map(listener => listener.close()))
    return [...faults.flat(), ...this.#ledger.faults]
  }
}
