// SPDX-License-Identifier: Apache-2.0
import { textAt } from '../../core/json-at.js'
import type { EdgePart } from './edge-part.js'
import type { Frame } from './frame.js'
import { PodWorker, type PodView } from './pod-worker.js'

/** The pods of an edge as they are now. */
export interface PodsView {
  /** By `namespace/pod/name`. */
  readonly pods: Readonly<Record<string, PodView>>
  /** After a restart no pod starts any more: the store holds a list where it should hold pods. */
  readonly isPoisoned: boolean
}

/** Runs the pods that the store holds and those that the cloud sends. */
export class Pods {
  readonly #part: EdgePart
  readonly #workers = new Map<string, PodWorker>()
  #isPoisoned = false

  constructor(part: EdgePart) {
    this.#part = part
  }

  get view(): PodsView {
    const pods = [...this.#workers].map(([resource, { view }]) => [resource, view] as const)
    return { pods: Object.fromEntries(pods), isPoisoned: this.#isPoisoned }
  }

  /** After a restart: start what the store holds. */
  restore(): void {
    const rows = this.#part.store.entries.filter(([resource]) => resource.split('/')[1] === 'pod')
    this.#isPoisoned = rows.some(([resource]) => resource.split('/').length < 3)
    if (this.#isPoisoned) return
    for (const [resource, pod] of rows) this.#start(resource, pod)
  }

  /** A pod came, changed or went. */
  changed(resource: string, { route, content }: Frame): void {
    const worker = this.#workers.get(resource)
    // A pod is another's unless the message says that it runs here.
    if (textAt(content, 'spec', 'nodeName') !== this.#part.node) return
    if (route.operation === 'delete') {
      worker?.removed()
      this.#workers.delete(resource)
      return
    }
    if (worker?.view.uid === textAt(content, 'metadata', 'uid')) worker.changed(content)
    else {
      worker?.removed()
      this.#start(resource, content)
    }
  }

  /** A list of a namespace's pods came: all others of it are ended. */
  keepOnly(namespace: string, list: unknown): void {
    const names = new Set(
      (Array.isArray(list) ? list : []).map(pod => textAt(pod, 'metadata', 'name')),
    )
    for (const [resource, worker] of this.#workers) {
      const [of, , name = ''] = resource.split('/')
      if (of !== namespace || names.has(name)) continue
      worker.removed()
      this.#workers.delete(resource)
    }
  }

  reconnected(): void {
    for (const worker of this.#workers.values()) worker.reconnected()
  }

  #start(resource: string, pod: unknown): void {
    const worker = new PodWorker(this.#part, resource, pod)
    this.#workers.set(resource, worker)
    void worker.run()
  }
}
