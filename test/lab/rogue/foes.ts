// SPDX-License-Identifier: Apache-2.0
// Those who wish the zone ill, as processes in its network.
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import type { Member } from '../../../core/roster.js'
import { parseNodeName } from '../../../core/ids.js'
import { type LabNode, STATE } from '../lab-node.js'
import type { Namespace } from '../network.js'
import type { Lies, Order, AnswerCounts } from './order.js'

const PEER_PORT = 51005
const RECORDER_PORT = 51999
const PROGRAM = '.cache/lab/rogue/main.mjs'

const REDIRECT = [
  ...['-p', 'tcp', '-i', 'peer0', '--dport', String(PEER_PORT)],
  ...['-j', 'REDIRECT', '--to-ports', String(RECORDER_PORT)],
]

interface Zone {
  readonly nodes: readonly LabNode[]
  /** On the peers' network, and no member. */
  readonly stranger: Namespace
  /** Where recordings are kept. */
  readonly dir: string
  readonly key: () => string
}

export class Foes {
  readonly #zone: Zone
  readonly #running = new Map<ChildProcess, Promise<unknown>>()
  /** How the last one's requests were answered. */
  answers: AnswerCounts = {}

  constructor(zone: Zone) {
    this.#zone = zone
  }

  /**
   * The agent of this node is replaced by one that holds the zone's key and lies.
   * @param hasOwnKeys it has the node's own keys, too
   */
  async lie(node: LabNode, lies: Partial<Lies>, hasOwnKeys: boolean): Promise<void> {
    this.answers = {}
    await node.killAgent()
    this.#start(node.space, {
      do: 'lie',
      self: node.name,
      members: this.#members(),
      key: this.#zone.key(),
      port: PEER_PORT,
      state: hasOwnKeys ? STATE : undefined,
      lies: { inAllNames: false, down: [], cut: [], silenced: [], perSecond: 0, ...lies },
    })
  }

  /** Keep a copy of what this node's agent is told. `ms` must see some exchanges. */
  async record(node: LabNode, ms: number): Promise<void> {
    const forward = { host: node.address, port: PEER_PORT }
    const recorder = this.#start(node.space, {
      ...{ do: 'record', listen: RECORDER_PORT, forward, file: this.#file },
    })
    await node.space.run('iptables', ['-t', 'nat', '-A', 'PREROUTING', ...REDIRECT])
    // Kept connections are not redirected: the agent makes its peers open new ones.
    await node.killAgent()
    node.startAgent()
    await new Promise(resolve => setTimeout(resolve, ms))
    await node.space.run('iptables', ['-t', 'nat', '-F', 'PREROUTING'])
    await this.#end(recorder)
  }

  /** Whoever hears it, hears it again: from a stranger's address, without the key or with it. */
  replay(withKey: boolean): void {
    this.answers = {}
    this.#start(this.#zone.stranger, {
      do: 'replay',
      members: this.#members(),
      port: PEER_PORT,
      file: this.#file,
      key: withKey ? this.#zone.key() : undefined,
    })
  }

  /** All of them end. */
  async stop(): Promise<void> {
    await Promise.all([...this.#running.keys()].map(child => this.#end(child)))
  }

  get #file(): string {
    return join(this.#zone.dir, 'recorded.json')
  }

  #members(): readonly Member[] {
    return this.#zone.nodes.map(({ name, address }) => ({ name: parseNodeName(name), address }))
  }

  #start(space: Namespace, order: Order): ChildProcess {
    const [program = '', ...args] = space.inside(process.execPath, [join(process.cwd(), PROGRAM)])
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: child.stdout }).on('line', line => {
      this.answers = JSON.parse(line) as AnswerCounts
    })
    child.stdin.write(`${JSON.stringify(order)}\n`)
    this.#running.set(child, new Promise(resolve => child.once('close', resolve)))
    return child
  }

  async #end(child: ChildProcess): Promise<void> {
    child.stdin?.end()
    await this.#running.get(child)
    this.#running.delete(child)
  }
}
