// SPDX-License-Identifier: Apache-2.0
import { parseIdentity } from '../../agent/identity/annotation.js'
import type { Pin } from '../../agent/identity/pins.js'
import { OwnKeys } from '../../agent/stages/identity/own-keys.js'
import { rememberPins } from '../../agent/stages/identity/remembered-pins.js'
import type { StateName } from '../../agent/state-folder.js'
import type { NodeName } from '../../core/ids.js'
import { silentLog } from '../../core/log.js'
import { memoryFolder } from '../../testkit/zone/memory-folder.js'

/** What an agent has on its disk, by the name of the file. */
export type Disk = Readonly<Partial<Record<StateName, string>>>

/** The keys of zones in which nobody is new: each Node has those of its agent, and each agent remembers its zone's. */
export class SettledKeys {
  readonly #disks = new Map<NodeName, Map<StateName, string>>()
  readonly #pins = new Map<NodeName, Pin>()

  /** Make the keys of a node's agent. @returns what its Node says of them */
  async publish(node: NodeName, uid: string): Promise<string> {
    const disk = new Map<StateName, string>()
    const subject = { clusterId: '', node, uid }
    const own = await OwnKeys.open(memoryFolder(disk), node, silentLog)
    const text = own.review(subject, undefined)!
    // Its agent has seen that the Node has them.
    own.review(subject, text)
    const { generation, keys } = parseIdentity(text)
    this.#disks.set(node, disk)
    this.#pins.set(node, { node, uid, generation, keys })
    return text
  }

  /** The disk of a published node's agent. @param others of its zone, who are published, too */
  diskOf(node: NodeName, others: readonly NodeName[]): Disk {
    const pins = others.map(name => this.#pins.get(name)!)
    return { ...Object.fromEntries(this.#disks.get(node)!), 'identities.json': rememberPins(pins) }
  }
}
