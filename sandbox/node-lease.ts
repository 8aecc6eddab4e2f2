// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { KubeStatusError } from '../core/errors.js'
import type { ApiClient, Json } from './api-client.js'
import { apiMicroTime, LEASES, type LeaseObject } from './node-object.js'

interface NodeLeaseSeams {
  readonly api: ApiClient
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** The Lease by which a kubelet shows that it lives. */
export class NodeLease {
  readonly #options: { readonly nodeName: string; readonly leaseSeconds: number }
  readonly #seams: NodeLeaseSeams
  #lease: LeaseObject | undefined

  constructor(
    options: { readonly nodeName: string; readonly leaseSeconds: number },
    seams: NodeLeaseSeams,
  ) {
    this.#options = options
    this.#seams = seams
  }

  /** After a conflict (peers may have renewed it), read it again and renew that. */
  async renew(): Promise<void> {
    const path = `${LEASES}/${this.#options.nodeName}`
    const { signal } = this.#seams
    try {
      this.#lease ??= (await this.#seams.api.get(path, signal)) as LeaseObject
      this.#lease = (await this.#seams.api.put(
        path,
        this.#renewed(this.#lease),
        signal,
      )) as LeaseObject
    } catch (error) {
      this.#lease = undefined
      const status = error instanceof KubeStatusError ? error.status : 0
      if (status === 409) await this.#renewFresh(path)
      else if (status === 404) await this.#makeLease()
      else throw error
    }
  }

  async #renewFresh(path: string): Promise<void> {
    const { signal } = this.#seams
    const fresh = (await this.#seams.api.get(path, signal)) as LeaseObject
    this.#lease = (await this.#seams.api.put(path, this.#renewed(fresh), signal)) as LeaseObject
  }

  async #makeLease(): Promise<void> {
    const { nodeName } = this.#options
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nodeName, namespace: 'kube-node-lease' },
    }
    this.#lease = (await this.#seams.api.post(
      LEASES,
      this.#renewed(lease),
      this.#seams.signal,
    )) as LeaseObject
  }

  #renewed(lease: Json): Json {
    const { nodeName, leaseSeconds } = this.#options
    return {
      ...lease,
      spec: {
        holderIdentity: nodeName,
        leaseDurationSeconds: leaseSeconds,
        renewTime: apiMicroTime(this.#seams.clock.wall()),
      },
    }
  }
}
