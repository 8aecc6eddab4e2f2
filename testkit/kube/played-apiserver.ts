// SPDX-License-Identifier: Apache-2.0
// An apiserver without sockets, for many list/watches in virtual time: it lists nothing, its watches stay silent, and it
// can go away and come back.
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError } from '../../core/errors.js'
import type { KubeClient } from '../../kube/client/client.js'
import type { KubeCall, OpenResponse } from '../../kube/client/open-response.js'
import { StoreProgress } from '../../kube/client/store-progress.js'

/** One request that it got while it was there. */
export interface PlayedRequest {
  /** `Clock.now`. */
  readonly at: number
  readonly what: 'version' | 'list' | 'watch' | 'refused'
}

const TYPE = 'application/json'
/** What an apiserver refuses while it does not know its rules yet. */
const forbidden = (request: string): KubeStatusError =>
  new KubeStatusError(request, { status: 403, reason: 'Forbidden', message: '' })
const expired = (request: string): KubeStatusError =>
  new KubeStatusError(request, { status: 410, reason: 'Expired', message: 'too old' })

export class PlayedApiserver {
  readonly requests: PlayedRequest[] = []
  readonly #clock: Clock
  readonly #streams = new Set<Readable>()
  #state: 'up' | 'starting' | 'down' = 'up'
  /** It knows nothing older. */
  #oldest = 1

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** All watches break, and nobody listens. */
  crash(): void {
    this.#state = 'down'
    for (const stream of this.#streams) stream.destroy(new Error('ECONNRESET'))
    this.#streams.clear()
  }

  /** It listens, and forbids everything. */
  begin(): void {
    this.#state = 'starting'
  }

  /** It serves again. @param forgets whether it no longer knows what was before */
  return(forgets: boolean): void {
    this.#state = 'up'
    if (forgets) this.#oldest++
  }

  /** It serves again, from a backup of what it knew before it forgot last. */
  restore(): void {
    this.#state = 'up'
    this.#oldest--
  }

  /** What list/watches need of a client; another one each time. */
  get client(): KubeClient {
    const played: Pick<KubeClient, 'open' | 'body' | 'progress' | 'serverTime'> = {
      serverTime: () => undefined,
      progress: new StoreProgress(),
      body: async call => {
        this.#ask(call, call.path.includes('fieldSelector') ? 'version' : 'list')
        const list = {
          ...{ kind: 'NodeList', apiVersion: 'v1', items: [] },
          metadata: { resourceVersion: String(this.#oldest) },
        }
        return { type: TYPE, warning: undefined, bytes: Buffer.from(JSON.stringify(list)) }
      },
      open: async (call, _, signal) => {
        const version = Number(
          new URL(call.path, 'http://played').searchParams.get('resourceVersion'),
        )
        this.#ask(call, 'watch')
        if (version < this.#oldest) throw expired(call.path)
        return this.#stream(signal)
      },
    }
    return played as KubeClient
  }

  #ask({ path }: KubeCall, what: PlayedRequest['what']): void {
    if (this.#state === 'down') throw new KubeUnreachableError(path, 'ECONNREFUSED')
    const isRefused = this.#state === 'starting'
    this.requests.push({ at: this.#clock.now(), what: isRefused ? 'refused' : what })
    if (isRefused) throw forbidden(path)
  }

  #stream(signal: AbortSignal): OpenResponse {
    const body = new Readable({ read: () => undefined })
    this.#streams.add(body)
    signal.addEventListener('abort', () => body.destroy(new Error('aborted')), { once: true })
    return {
      ...{ status: 200, phrase: 'OK', headers: { 'content-type': TYPE }, body },
      ...{ socket: new Socket(), received: { bytesRead: 0 } },
      destroy: error => void body.destroy(error),
      end: async () => {
        this.#streams.delete(body)
        body.destroy()
      },
    }
  }
}
