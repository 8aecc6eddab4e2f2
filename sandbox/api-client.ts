// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../core/clock.js'
import { type Logger, silentLog } from '../core/log.js'
import { systemRandom } from '../core/random.js'
import { KubeClient } from '../kube/client/client.js'
import type { KubeCall } from '../kube/client/open-response.js'
import { type FixedAccess, fixedCredentials } from '../kube/client/fixed-credentials.js'
import { jsonCodec } from '../kube/client/json-codec.js'
import { listWatch } from '../kube/client/list-watch.js'
import type { Watching, WatchSink } from '../kube/client/watching.js'

/** A JSON object as the API sent it. */
export type Json = Readonly<Record<string, unknown>>

export type PatchKind = 'merge' | 'strategic-merge'

/**
 * The Kubernetes API by path, for whoever plays the cluster's own parts: nothing cached, objects as they come. Every
 * call rejects with KubeStatusError, KubeUnreachableError or the signal's reason.
 */
export interface ApiClient {
  get(path: string, signal: AbortSignal): Promise<Json>
  post(path: string, body: Json, signal: AbortSignal): Promise<Json>
  put(path: string, body: Json, signal: AbortSignal): Promise<Json>
  patch(path: string, kind: PatchKind, body: Json, signal: AbortSignal): Promise<Json>
  delete(path: string, signal: AbortSignal): Promise<Json>
  /** Lists the objects of a path and watches them, again and again, until it is stopped. */
  follow(path: string, sink: WatchSink<Json>): Watching
  /** Gives up all calls and connections. */
  close(): Promise<void>
}

const LIMITS = { timeoutMs: 5_000, maxBytes: 64 * 1024 * 1024 }
/** Tests and demonstrations stop the API and look on while it comes back. */
const LONGEST_WAIT_MS = 1_000

const asMap = (value: unknown): Json =>
  typeof value === 'object' && value !== null ? (value as Json) : {}

/** Connects when it is first used. */
export const makeApiClient = (
  access: FixedAccess,
  clock: Clock,
  log: Logger = silentLog,
): ApiClient => {
  const client = new KubeClient(fixedCredentials(access), clock, 'edge-health-sandbox')
  const call = async (what: KubeCall, signal: AbortSignal): Promise<Json> =>
    asMap(await client.json(what, LIMITS, signal))
  const bodyOf = (object: Json, type = 'application/json'): KubeCall['body'] & object => ({
    ...{ type, text: JSON.stringify(object) },
  })
  return {
    get: (path, signal) => call({ method: 'GET', path }, signal),
    post: (path, body, signal) => call({ method: 'POST', path, body: bodyOf(body) }, signal),
    put: (path, body, signal) => call({ method: 'PUT', path, body: bodyOf(body) }, signal),
    patch: (path, kind, object, signal) => {
      const body = bodyOf(object, `application/${kind}-patch+json`)
      return call({ method: 'PATCH', path, body }, signal)
    },
    delete: (path, signal) => call({ method: 'DELETE', path }, signal),
    follow: (path, sink) => {
      const spec = { what: path, path, query: {}, codec: jsonCodec, parse: asMap, sink }
      const seams = { client, clock, log, random: systemRandom }
      return listWatch(spec, seams, { longestWaitMs: LONGEST_WAIT_MS })
    },
    close: () => client.close(),
  }
}
