// SPDX-License-Identifier: Apache-2.0
// Upstream without sockets: links that remember what was sent, and an apiserver in memory whose answers can be held back.
import { AgentTokens } from '../../../../bridge/run/agents/agent-api.js'
import { WatchDesk } from '../../../../bridge/run/agents/watch-desk.js'
import { Executor } from '../../../../bridge/run/upstream/executor.js'
import { Upstream } from '../../../../bridge/run/upstream/upstream.js'
import { UpstreamCounters } from '../../../../bridge/run/upstream/counters.js'
import type { NodeLink } from '../../../../bridge/hub/node-link.js'
import { LocationCache } from '../../../../bridge/model/location/location-cache.js'
import { parseMessage } from '../../../../bridge/model/message/parse.js'
import { frameOf } from '../../../../bridge/model/message/frame.js'
import type { Message } from '../../../../bridge/model/message/message.js'
import { routeUpstream } from '../../../../bridge/model/route/upstream.js'
import { KubeStatusError, WithheldError } from '../../../../core/errors.js'
import type { NodeName } from '../../../../core/ids.js'
import { isMap, type JsonMap } from '../../../../core/json.js'
import type { ResourceClient } from '../../../../kube/client/resource-client.js'
import { resourcePath, type ResourceType } from '../../../../kube/client/resource.js'
import { FakeClock, settle } from '../../../../testkit/fake-clock.js'
import { recordingLog } from '../../../../testkit/recording-log.js'

/** A request that reached the apiserver. */
export interface Asked {
  /** Whose token it had; undefined: the bridge's own. */
  readonly by?: string
  readonly verb: string
  readonly path: string
  readonly body: unknown
}

const missing = (path: string): KubeStatusError =>
  new KubeStatusError(`GET ${path}`, {
    ...{ status: 404, reason: 'NotFound', message: `${path} not found` },
  })

/** An apiserver of objects by path, whose clock shows 100 s more than the test's wall clock. */
export class FakeApi {
  readonly objects = new Map<string, JsonMap>()
  readonly asked: Asked[] = []
  /** What each request waits for; what it throws is the answer. */
  gate: (asked: Asked) => Promise<void> = () => Promise.resolve()
  knowsTime = true
  /** Tokens that were made. */
  tokens = 0
  readonly #clock: FakeClock

  constructor(clock: FakeClock) {
    this.#clock = clock
  }

  get client(): ResourceClient {
    return this.clientOf(undefined)
  }

  /** As the bearer of a token. */
  clientOf(by: string | undefined): ResourceClient {
    const path = (type: ResourceType<unknown>, of: Parameters<typeof resourcePath>[1]): string =>
      resourcePath(type, of)
    const ask = async (verb: string, where: string, body: unknown): Promise<void> => {
      const asked = { verb, path: where, body, ...(by === undefined ? {} : { by }) }
      this.asked.push(asked)
      await this.gate(asked)
    }
    const partial: Partial<ResourceClient> = {
      get: async (type, of) => {
        const at = path(type, of)
        await ask('get', at, undefined)
        const found = this.objects.get(at)
        if (found === undefined) throw missing(at)
        return type.parse(found)
      },
      watch: () => ({
        status: { state: 'watching', lastHeardAt: 0, lists: 1, trouble: undefined, isAway: false },
        stop: () => Promise.resolve(),
      }),
      list: async (type, which) => {
        const at = path(type, { namespace: which.namespace })
        await ask('list', at, which)
        const found = [...this.objects].filter(([key]) => key.startsWith(`${at}/`))
        const items = found.map(([, object]) => type.parse(object))
        return { items, resourceVersion: '42', next: '' }
      },
      create: async (type, where, { body, guard }) => {
        this.#withheld(guard)
        const name = isMap(body['metadata']) ? String(body['metadata']['name']) : ''
        const at = path(type, { ...where, name: where.name ?? name })
        await ask('create', at, body)
        const status = type.subresource === 'token' ? { token: `t${++this.tokens}` } : undefined
        return type.parse({ ...body, ...(status === undefined ? {} : { status }) })
      },
      update: async (type, of, { body, guard }) => {
        this.#withheld(guard)
        await ask('update', path(type, of), body)
        return type.parse(body)
      },
      patch: async (type, of, { patch, guard }) => {
        this.#withheld(guard)
        const body = 'text' in patch ? patch.text : patch.type === 'json' ? null : patch.body
        await ask('patch', path(type, of), body)
        return type.parse({ metadata: { name: of.name, managedFields: [] } })
      },
      delete: async (type, of, { guard, uid, gracePeriodSeconds }) => {
        this.#withheld(guard)
        const at = resourcePath(type, of)
        await ask('delete', at, { uid, gracePeriodSeconds })
        if (!this.objects.delete(at)) throw missing(at)
      },
      serverTime: () => (this.knowsTime ? this.#clock.wall() + 100_000 : undefined),
    }
    return partial as ResourceClient
  }

  #withheld(guard: (() => string | undefined) | undefined): void {
    const reason = guard?.()
    if (reason !== undefined) throw new WithheldError('write', reason)
  }
}

let ids = 0

/** A message of an edge. */
export const said = (
  operation: string,
  resource: string,
  content: unknown = null,
  source = 'edged',
): Message => ({
  ...{ id: `m${++ids}`, parentId: undefined, timestamp: 0, resourceVersion: undefined },
  ...{ source, group: 'meta', operation, resource, content },
})

/** A connection that remembers. */
export interface TestLink extends NodeLink {
  isBehind: boolean
  readonly sent: Message[]
  readonly held: string[]
}

const makeLink = (node: string): TestLink => {
  const held: string[] = []
  const sent: Message[] = []
  return {
    ...{ node: node as NodeName, since: 0, remote: '10.0.0.1', isBehind: false, held, sent },
    get isHeld() {
      return held.at(-1) === 'hold'
    },
    hold: () => void held.push('hold'),
    release: () => {
      if (held.at(-1) === 'hold') held.push('release')
    },
    // What leaves is what the edge reads: a frame, and parsed again.
    send: message => {
      sent.push(parseMessage(frameOf(message)))
      return true
    },
  }
}

export const POD = {
  metadata: { uid: 'u1', namespace: 'shop', name: 'web' },
  spec: {
    nodeName: 'e1',
    serviceAccountName: 'runner',
    volumes: [
      { name: 'a', configMap: { name: 'must' } },
      { name: 'b', configMap: { name: 'may', optional: true } },
      { name: 'c', secret: { secretName: 'own' } },
      { name: 'd', persistentVolumeClaim: { claimName: 'disk' } },
      {
        name: 'e',
        projected: { sources: [{ serviceAccountToken: { path: 't', audience: 'vault' } }] },
      },
    ],
  },
}

/** An agent's, on the same node. */
export const AGENT_POD = {
  metadata: { uid: 'a1', namespace: 'edge-system', name: 'edge-health-agent-x' },
  spec: { nodeName: 'e1', serviceAccountName: 'edge-health-agent' },
}

export const openUpstream = ({ patienceMs = 30_000 } = {}) => {
  const clock = new FakeClock()
  const api = new FakeApi(clock)
  const log = recordingLog()
  const counters = new UpstreamCounters()
  const locations = new LocationCache()
  locations.setPod(POD, 'e1' as NodeName)
  const seen: string[] = []
  const state = {
    guard: undefined as string | undefined,
    isEdge: true,
    isForeign: (): Promise<boolean> => Promise.resolve(false),
  }
  const agents = new AgentTokens('edge-system', {
    ...{ client: api.client, clock, guard: () => state.guard },
    bearers: { withToken: token => api.clientOf(token) },
  })
  const watches = new WatchDesk({ client: api.client, clock, log, mayWatch: () => true })
  const executor = new Executor(
    {
      ...{ client: api.client, clock, locations, agents, watches },
      downstream: {
        answering: ({ type, name }, object) =>
          seen.push(`answering ${type} ${name} ${String(object['kind'])}`),
        leaseSeen: node => seen.push(`lease ${node}`),
        podUnknown: ({ name }, uid) => seen.push(`unknown pod ${name} ${uid}`),
      },
      isEdge: () => state.isEdge,
      isForeign: () => state.isForeign(),
      guard: () => state.guard,
      signal: new AbortController().signal,
    },
    { patienceMs },
  )
  const upstream = new Upstream({ clock, log, executor, counters })
  const connect = (node = 'e1'): TestLink => {
    const link = makeLink(node)
    upstream.connected(link)
    watches.connected(link)
    return link
  }
  const say = (link: NodeLink, message: Message): void => {
    const what = routeUpstream(message, link.node)
    upstream.received(link, message, what, frameOf(message))
  }
  /** Say it, and wait for its answer. */
  const ask = async (link: TestLink, message: Message): Promise<Message | undefined> => {
    say(link, message)
    await settle()
    return link.sent.find(({ parentId }) => parentId === message.id)
  }
  return { api, ask, clock, connect, counters, locations, log, say, seen, state, upstream, watches }
}
