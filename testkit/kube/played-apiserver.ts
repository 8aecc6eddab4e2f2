// SPDX-License-Identifier: Apache-2.0
// An apiserver without sockets, for many list/watches in virtual time: it lists nothing, its watches stay silent, and it
// can go away and come back.
import { Readable } from 'node:stream'
import type { Clock } from '../../core/clock.js'
import { KubeStatusError, KubeUnreachableError } from '../../core/errors.js'
import type { KubeClient } from '../../kube/client/client.js'
import type { KubeCall, OpenResponse } from '../../kube/client/open-response.js'

/** One request that it got while it was there. */
export interface PlayedRequest {
  /** `Clock.now`. */
  readonly at: number
  readonly what: 'list' | 'watch' | 'refused'
}

const TYPE = 'application/json'
/** What an apiserver refuses while it does not know its rules yet. */
const forbidden = (request: string): KubeStatusError =>
  new KubeStatusError(request, { status: 403, reason: 'Forbidden', message: '' })
const expired = (request: string): KubeStatusError =>
  new KubeStatusError(request, { status: 410, reason: 'Expired', message: 'too old' })

/** Its state is as `client` sees it: all list/watches may share that. */
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

  /** What a list/watch needs of a client. */
  get client(): KubeClient {
    const played: Pick<KubeClient, 'open' | 'body'> = {
      body: async call => {
        this.#ask(call, 'list')
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

  #ask({ path }: KubeCall, what: 'list' | 'watch'): void {
    if (this.#state === 'down') throw new KubeUnreachableError(path, 'ECONNREFUSED')
    const isRefused = this.#state === 'starting'
    this.requests.push({ at: this.#clock.now(), what: isRefused ? 'refused' : what })
    if (isRefused) throw forbidden(path)
  }

  #stream(signal: AbortSignal): OpenResponse {
    const body = new Readable({ read: () => undefined })
    this.#streams.add(body)
    signal.addEventListener('abort', () => body.destroy(new Error('aborted')), { once: true })
    const response = {
      headers: { 'content-type': TYPE },
      destroy: (error: Error) => body.destroy(error),
    } as unknown as OpenResponse['response']
    return {
      ...{ response, body },
      end: async () => {
        this.#streams.delete(body)
        body.destroy()
      },
    }
  }
}
