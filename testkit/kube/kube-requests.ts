// SPDX-License-Identifier: Apache-2.0
// For tests that compare whole requests to the apiserver, and the waits between them.
import type { Random } from '../../core/random.js'
import { FakeClock } from '../fake-clock.js'
import type { Asked } from '../http/scripted-server.js'

/** Notes for how long its users want to wait. */
export class NotingClock extends FakeClock {
  readonly waits: number[] = []

  override after(ms: number, wake: () => void): () => void {
    this.waits.push(ms)
    return super.after(ms, wake)
  }
}

/** Always draws the same place of a range: 0 is its begin, 1 its end. */
export const drawing = (place: number): Random => ({
  below: n => Math.round(place * (n - 1)),
  bits64: () => 0n,
})

export const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json'

/** All that a request says, but for the address of its server. */
export const said = ({ method, path, query, headers: { host: _, ...headers } }: Asked) => ({
  ...{ method, path, headers },
  query: Object.fromEntries(query),
})

/** The requests of one program. @param name as in its token, `of-NAME`, and its user agent, `edge-health-NAME` */
export const requestsOf = (name: string) => {
  const read = (accept: string, path: string, query: Record<string, string> = {}) => ({
    ...{ method: 'GET', path, query },
    headers: {
      ...{ accept, authorization: `Bearer of-${name}` },
      'user-agent': `edge-health-${name}`,
    },
  })
  /** Only what may be large is worth its compression. */
  const listed = (accept: string, path: string, query: Record<string, string>) => {
    const request = read(accept, path, query)
    return { ...request, headers: { ...request.headers, 'accept-encoding': 'gzip' } }
  }
  return { read, listed }
}
