// SPDX-License-Identifier: Apache-2.0
import { writeExactJson } from '../../../core/exact-json.js'
import { InvalidInputError, KubeStatusError, type KubeStatus } from '../../../core/errors.js'
import { isMap, setKey, type JsonMap } from '../../../core/json.js'
import type { ResourceType } from '../../../kube/client/resource.js'
import type { ListRequest, TokenClient } from '../../../kube/client/resource-client.js'
import {
  agentPodOf,
  agentRight,
  AGENT,
  withoutAgent,
  type Asker,
} from '../../model/application/agent-right.js'
import { agentView, listBody } from '../../model/application/agent-view.js'
import {
  parseApplication,
  type Application,
  type Listing,
  type Target,
} from '../../model/application/application.js'
import type { PlacedPod } from '../../model/location/location-cache.js'
import { contentObject } from '../../model/message/content.js'
import { rejected } from '../../model/message/reply.js'
import { statusOf } from '../../model/message/status.js'
import { MAX_WATCHES } from '../agents/watch-desk.js'
import { refused, type Call, type Result } from './call.js'
import { parseWhole } from './objects.js'

/** What an edge stores of one answer, and what one frame may hold beside others. */
const MAX_ANSWER_LENGTH = 4 << 20
const BAD: KubeStatus = { status: 400, reason: 'BadRequest', message: 'it is no watch' }

const typeOf = ({ group, version, resource }: Target, subresource = ''): ResourceType<JsonMap> => ({
  ...{ group, version, resource, parse: parseWhole },
  ...(subresource === 'status' ? { subresource } : {}),
})

const placeOf = ({ namespace }: Target) => (namespace === '' ? {} : { namespace })

const requestOf = (target: Target, listing: Listing): ListRequest => {
  const { labelSelector, fieldSelector, resourceVersion, limit, next } = listing
  const known = resourceVersion === '0' ? undefined : resourceVersion
  return {
    ...placeOf(target),
    ...(target.name === '' ? {} : { name: target.name }),
    ...{ labelSelector, fieldSelector, limit, continueAt: next },
    // A page that goes on is of the state that the first one was.
    ...(resourceVersion === '' || next !== '' ? {} : { fromCache: { known } }),
  }
}

const answer = (body: JsonMap): Result => {
  const text = writeExactJson(body)
  return text.length <= MAX_ANSWER_LENGTH
    ? { kind: 'approved', body: text }
    : refused(
        413,
        'RequestEntityTooLarge',
        `the answer has ${text.length} characters, more than ${MAX_ANSWER_LENGTH}: ask with a limit`,
      )
}

/** One request with an agent's own rights. Everything that it may be has been judged. */
const carryOut = async (
  { node, guard, signal, watches }: Call,
  { id, target, ask }: Application,
  api: TokenClient,
): Promise<Result> => {
  const of = { ...placeOf(target), name: target.name }
  const view = (object: JsonMap): JsonMap => agentView(target, object, node)
  switch (ask.verb) {
    case 'get':
      return answer(view(await api.get(typeOf(target), of, signal)))
    case 'list': {
      const page = await api.list(typeOf(target), requestOf(target, ask.listing), signal)
      return answer(listBody(target, page.items.map(view), page))
    }
    case 'create': {
      const write = { body: ask.body, fieldManager: AGENT, guard }
      return answer(view(await api.create(typeOf(target), placeOf(target), write, signal)))
    }
    case 'patch': {
      const { type, text, isDryRun, subresource } = ask
      const write = { patch: { type, text }, isDryRun, fieldManager: AGENT, guard }
      return answer(view(await api.patch(typeOf(target, subresource), of, write, signal)))
    }
    case 'watch': {
      // What an agent may list it may watch: the bridge itself could.
      const first = { ...requestOf(target, ask.listing), limit: 1, fromCache: { known: undefined } }
      await api.list(typeOf(target), first, signal)
      const refusal = watches.add(node, id, target, ask.listing)
      return refusal === undefined
        ? { kind: 'approved', body: undefined }
        : { kind: 'refused', refusal }
    }
  }
}

/** With a token that the apiserver takes: one that it does not take any more is replaced once. */
const withToken = async (
  { agents, signal }: Call,
  pod: PlacedPod,
  work: (api: TokenClient) => Promise<Result>,
): Promise<Result> => {
  try {
    return await work(await agents.as(pod, signal))
  } catch (error) {
    if (!(error instanceof KubeStatusError) || error.status !== 401) throw error
    agents.refused(pod)
    return work(await agents.as(pod, signal))
  }
}

const askerOf = ({ node, agents: { namespace } }: Call): Asker => ({ node, namespace })

/** The Pod in whose name it is asked, or why it is not. */
const allowed = (
  call: Call,
  application: Application,
): { readonly pod: PlacedPod } | Extract<Result, { readonly kind: 'refused' }> => {
  const asker = askerOf(call)
  const right = agentRight(application, asker)
  if (!right.ok) return { kind: 'refused', refusal: right.refusal }
  const pod = agentPodOf(call.locations, asker)
  return pod === undefined
    ? { kind: 'refused', refusal: withoutAgent(application, asker) }
    : { pod }
}

/** A request of an agent, in the name and with the rights of that agent's Pod. */
const serve = (call: Call, application: Application): Promise<Result> => {
  const judged = allowed(call, application)
  if (!('pod' in judged)) return Promise.resolve(judged)
  return withToken(call, judged.pod, api => carryOut(call, application, api))
}

/** A request of an agent to the edge's own Kubernetes API. */
export const passOn = (call: Call): Promise<Result> =>
  serve(call, parseApplication(call.message.content))

/** One of the watches that an edge has, which is kept already or is to be. @returns why it is not */
const keepWatch = async (call: Call, one: unknown): Promise<KubeStatus | undefined> => {
  try {
    const application = parseApplication(one)
    if (application.ask.verb !== 'watch') return BAD
    if (call.watches.has(call.node, application.id)) return undefined
    const result = await serve(call, application)
    return result.kind === 'refused' ? result.refusal : undefined
  } catch (error) {
    return error instanceof InvalidInputError ? { ...BAD, message: error.message } : statusOf(error)
  }
}

/** All the watches that an edge's own Kubernetes API has: others end, and the edge hears which are not kept. */
export const syncWatches = async (call: Call): Promise<Result> => {
  const asked = Object.entries(contentObject('watches', call.message.content ?? {}))
  if (asked.length > MAX_WATCHES)
    return refused(429, 'TooManyRequests', `a node has at most ${MAX_WATCHES} watches`)
  call.watches.keepOnly(call.node, new Set(asked.map(([id]) => id)))
  const failed: JsonMap = {}
  for (const [id, one] of asked) {
    const refusal = await keepWatch(call, one)
    if (refusal !== undefined) setKey(failed, id, rejected(isMap(one) ? one : {}, refusal))
  }
  return { kind: 'watches', failed }
}
