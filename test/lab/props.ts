// SPDX-License-Identifier: Apache-2.0
// What stands in the cluster for some cells: the shared key and its rotation, a service with one Pod, a Node of which
// nothing is there but the object.
import type { ControlPlane } from '../../testkit/control-plane/control-plane.js'
import type { LabNode } from './lab-node.js'
import { applyKeys, type Keys, makeKey, renewPod } from './objects.js'
import { peerAddress, STRANGER } from './places.js'

/** The three steps of docs/operations.md. */
export type Rotation = 'announce' | 'switch' | 'drop'

export const GHOST = 'ghost'

export class Props {
  readonly #plane: ControlPlane
  readonly #toleratedS: number
  #keys: Keys
  #isUsed = false

  constructor(plane: ControlPlane, keys: Keys, toleratedS: number) {
    this.#plane = plane
    this.#keys = keys
    this.#toleratedS = toleratedS
  }

  /** With which all sign at present. */
  get key(): string {
    return this.#keys.primary
  }

  /** A running Pod of the service `shop` on this node. */
  renewShop({ name: node, address }: LabNode, signal: AbortSignal): Promise<void> {
    const pod = { app: 'shop', name: `shop-${node}`, node, address, toleratedS: this.#toleratedS }
    return renewPod(this.#plane, pod, signal)
  }

  /** A service whose only Pod is on this node. */
  async addSolo({ name, address }: LabNode): Promise<void> {
    this.#isUsed = true
    await this.#plane.kubectl(['create', 'service', 'clusterip', 'solo', '--tcp=80:80'])
    const pod = { app: 'solo', name: 'solo', node: name, address, toleratedS: this.#toleratedS }
    await renewPod(this.#plane, pod, new AbortController().signal)
  }

  async removeSolo(): Promise<void> {
    const gone = ['service/solo', 'pod/solo', '--ignore-not-found', '--force', '--grace-period=0']
    await this.#plane.kubectl(['delete', ...gone])
  }

  /** A Node of which nothing is there but the object. */
  async addGhost(): Promise<void> {
    this.#isUsed = true
    const ghost = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: GHOST, labels: { 'kubernetes.io/os': 'linux' } },
    }
    await this.#plane.kubectl(['create', '-f', '-'], JSON.stringify(ghost))
    const addresses = [{ type: 'InternalIP', address: peerAddress(STRANGER) }]
    const patch = JSON.stringify({ status: { addresses } })
    await this.#plane.kubectl(['patch', 'node', GHOST, '--subresource=status', '-p', patch])
  }

  async removeGhost(): Promise<void> {
    await this.#plane.kubectl(['delete', 'node', GHOST, '--ignore-not-found'])
  }

  async rotate(step: Rotation): Promise<void> {
    const { primary, secondary } = this.#keys
    if (step === 'announce') this.#keys = { primary, secondary: makeKey() }
    else if (step === 'drop') this.#keys = { primary }
    else this.#keys = { primary: secondary ?? primary, secondary: primary }
    await applyKeys(this.#plane, this.#keys)
  }

  /** No trace of them is left. */
  async clear(): Promise<void> {
    if (!this.#isUsed) return
    this.#isUsed = false
    await this.removeGhost()
    await this.removeSolo()
  }
}
