// SPDX-License-Identifier: Apache-2.0
// A list/watch of Nodes against a server that does what a script says, on a clock that the test moves.
import type { Test } from 'tap'
import type { NodeView } from '../../core/node.js'
import type { Watching, WatchSink } from '../../kube/client/watching.js'
import { parseNodeView } from '../../agent/adapters/node-view.js'
import { fixedCredentials } from '../../kube/client/fixed-credentials.js'
import { certificateFor } from '../certificates.js'
import { makeResourceClient } from '../../kube/client/http-resource-client.js'
import type { ResourceType } from '../../kube/client/resource.js'
import { FakeClock, settle } from '../fake-clock.js'
import { recordingLog } from '../recording-log.js'
import { answer, startScripted, type Step } from '../http/scripted-server.js'
import { seededRandom } from '../seeded-random.js'

export const node = (name: string, version = '1'): Record<string, unknown> => ({
  metadata: { name, uid: `uid-${name}`, resourceVersion: version },
})
export const list = (version: string, names: readonly string[], next?: string): Step =>
  answer({
    metadata: { resourceVersion: version, ...(next === undefined ? {} : { continue: next }) },
    items: names.map(name => node(name, version)),
  })
export const event = (type: string, name: string, version: string): unknown => ({
  type,
  object: node(name, version),
})
export const bookmark = (version: string): unknown => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion: version } },
})
export const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }
export const open = (...lines: unknown[]): Step => ({ kind: 'stream', lines })
export const ended = (...lines: unknown[]): Step => ({ kind: 'stream', lines, then: 'end' })

const authority = await certificateFor('127.0.0.1')

/** What a sink was told, in short: `=a,b` is a list, `+a` an upsert, `-a` a removal. */
export const recordingSink = (): WatchSink<NodeView> & {
  readonly changes: string[]
  until(length: number): Promise<void>
} => {
  const changes: string[] = []
  const waiters: { length: number; wake: () => void }[] = []
  const note = (what: string): void => {
    changes.push(what)
    for (const waiter of waiters) if (changes.length >= waiter.length) waiter.wake()
  }
  return {
    changes,
    replace: items => note(`=${items.map(item => item.name).join(',')}`),
    upsert: item => note(`+${item.name}`),
    remove: name => note(`-${name}`),
    until: length =>
      new Promise(wake => {
        if (changes.length >= length) wake()
        else waiters.push({ length, wake })
      }),
  }
}

/** Let sockets and promises work until `isTrue`; time does not move. */
export const eventually = async (isTrue: () => boolean): Promise<void> => {
  for (let i = 0; i < 100_000 && !isTrue(); i++) await settle()
  if (!isTrue()) throw new Error('it never became true')
}

/** Nodes in full. */
export const NODES: ResourceType<NodeView> = {
  ...{ group: '', version: 'v1', resource: 'nodes' },
  parse: parseNodeView,
}

export const setUp = async (
  t: Test,
  steps: readonly Step[],
  { sink = recordingSink(), watch = {}, pick = { selector: '' }, seed = 1, hasHttp2 = false } = {},
) => {
  const server = await startScripted(hasHttp2 ? { ...authority, hasHttp2 } : undefined)
  server.script(...steps)
  const clock = new FakeClock()
  const log = recordingLog()
  const credentials = fixedCredentials({
    server: server.url,
    token: 'of-the-test',
    ca: authority.cert,
  })
  const seams = { credentials, clock, log, random: seededRandom(seed) }
  const options = { fieldManager: 'test', watch: { pageSize: 200, ...watch } }
  const api = makeResourceClient(seams, options)
  const watching = api.watch(NODES, { labelSelector: pick.selector }, sink)
  t.teardown(async () => {
    await api.close()
    await server.close()
  })
  /** Move time on until the n-th request (from 0) has come; tells how long that took. */
  const waitedFor = async (n: number): Promise<number> => {
    const from = clock.now()
    await eventually(() => server.asked.length > n || watching.status.state === 'backing-off')
    while (server.asked.length <= n) {
      await clock.advance(50)
      if (watching.status.state === 'backing-off') continue
      await eventually(() => server.asked.length > n || watching.status.state === 'backing-off')
    }
    return clock.now() - from
  }
  const state = (wanted: Watching['status']['state']): Promise<void> =>
    eventually(() => watching.status.state === wanted)
  return { server, clock, log, api, watching, sink, waitedFor, state }
}
