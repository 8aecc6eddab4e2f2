// SPDX-License-Identifier: Apache-2.0
import { reasonOf } from '../../../core/errors.js'
import type { Logger } from '../../../core/log.js'
import type { ApiBackoff } from '../../api-backoff.js'
import type { KubeApi } from '../../ports/kube-api.js'
import { consequenceOf } from '../../config-problem.js'
import type { ConfigProblem } from '../../results.js'
import type { ResultStore } from '../../store.js'

interface ConfigEventSeams {
  readonly kube: Pick<KubeApi, 'createEvent'>
  readonly log: Logger
  readonly store: ResultStore
  readonly apiBackoff: ApiBackoff
}

/** Sends an Event, at the own Node, about a ConfigMap or Secret that is not used; none to an apiserver that fails. */
export class ConfigEvents {
  readonly #nodeName: string
  readonly #seams: ConfigEventSeams
  readonly #stopping = new AbortController()

  constructor(nodeName: string, seams: ConfigEventSeams) {
    this.#nodeName = nodeName
    this.#seams = seams
  }

  send(config: ConfigProblem): void {
    const { kube, log, store, apiBackoff } = this.#seams
    if (!apiBackoff.isReady) return
    apiBackoff.left()
    const node = this.#nodeName
    const own = store.nodeList.current.ownNode()
    const event = {
      ...{ node, nodeUid: own?.uid ?? '', reportingInstance: node },
      ...({ type: 'Warning', reason: 'ConfigRefused', action: 'Reload' } as const),
      note: `${config.thing} is ${consequenceOf(config)}: ${config.problem}`,
    }
    kube.createEvent(event, this.#stopping.signal).catch((error: unknown) => {
      apiBackoff.failed(error)
      log.debug('event not created', { error: reasonOf(error) })
    })
  }

  stop(): void {
    this.#stopping.abort()
  }
}
