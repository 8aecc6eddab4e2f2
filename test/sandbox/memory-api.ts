// SPDX-License-Identifier: Apache-2.0
import type { Clock } from '../../core/clock.js'
import { KubeStatusError } from '../../core/errors.js'
import type { ApiClient, Json } from '../../sandbox/api-client.js'
import type { NodeObject } from '../../sandbox/node-object.js'
import { Objects } from '../../sandbox/api/objects.js'
import { parsePath } from '../../sandbox/api/paths.js'
import { Resources } from '../../sandbox/api/resources.js'
import { Routes, verbOf } from '../../sandbox/api/routes.js'
import { Store } from '../../sandbox/api/store.js'
import { Writer } from '../../sandbox/api/view.js'

/** A call as the API saw it. */
interface Seen {
  readonly at: number
  readonly method: string
  readonly path: string
}

/** The embedded API without sockets, for those who live on a FakeClock. */
export const memoryApi = (clock: Clock) => {
  const store = new Store(1_000)
  const resources = new Resources(store)
  const objects = new Objects(store, clock)
  const routes = new Routes(store, objects, new Writer(() => clock.wall()))
  const namespaces = { ...parsePath('/api/v1/namespaces', resources)!, dryRun: false }
  objects.create(namespaces, { metadata: { name: 'kube-node-lease' } })
  const seen: Seen[] = []
  const call = async (method: string, given: string, type: string, body?: Json): Promise<Json> => {
    await Promise.resolve()
    const [path = '', query = ''] = given.split('?')
    const place = { ...parsePath(path, resources)!, dryRun: false }
    const asked = {
      method,
      headers: { 'content-type': type, accept: 'application/json' },
      query: new URLSearchParams(query),
      body: Buffer.from(body === undefined ? '' : JSON.stringify(body)),
    }
    const verb = verbOf(method, place, asked.query)
    if (method !== 'GET') seen.push({ at: clock.now(), method, path })
    if (verb === 'watch') throw new Error('watch has a call of its own')
    const answer = routes.answer(verb, place, asked)
    if (answer.code < 300) return JSON.parse(answer.text) as Json
    const { reason = '', message = '' } = JSON.parse(answer.text) as Record<string, string>
    throw new KubeStatusError(`${method} ${path}`, { status: answer.code, reason, message })
  }
  const json = 'application/json'
  const client: ApiClient = {
    get: path => call('GET', path, json),
    post: (path, body) => call('POST', path, json, body),
    put: (path, body) => call('PUT', path, json, body),
    patch: (path, kind, body) => call('PATCH', path, `application/${kind}-patch+json`, body),
    delete: path => call('DELETE', path, json),
    follow: (path, sink) => {
      const { resource } = parsePath(path, resources)!.row
      let isStopped = false
      const deliver = ({ type, object }: { type: string; object: Json }): void => {
        if (isStopped) return
        if (type === 'DELETED') sink.remove((object as NodeObject).metadata.name)
        else sink.upsert(object)
      }
      const end = store.subscribe(resource, event => queueMicrotask(() => deliver(event)))
      void call('GET', path, json).then(list => {
        if (!isStopped) sink.replace(list['items'] as readonly Json[])
      })
      return {
        status: { state: 'watching', lastHeardAt: 0, lists: 1, trouble: undefined, isAway: false },
        stop: () => {
          isStopped = true
          end()
          return Promise.resolve()
        },
      }
    },
    close: () => Promise.resolve(),
  }
  return { client, store, seen }
}
